"""Text from outside as it is safe to show: control characters are spelt out.

Names, values and lines of files can hold anything: sequences that set the title or the clipboard of
a terminal, a carriage return that overwrites what stands before it, characters that turn the
direction of writing around. Whatever is shown to people goes through `printable`; files, JSON and
tables of results hold the data unchanged.
"""

from __future__ import annotations

import logging
import re

#: Control characters but line feed and tab; marks that change the direction of writing, lines and
#: paragraphs of Unicode; half characters, which no stream of text can write.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
_ALSO_IN_CELLS = re.compile("[\t\n]")


def printable(text: str) -> str:
    """The text with control characters spelt out; it may have several lines.

    >>> print(printable("a\\x1b]0;title\\x07b\\rc\\u202ed"))
    a\\x1b]0;title\\x07b\\rc\\u202ed
    """
    return _UNSAFE.sub(_spelt, text)


def printable_cell(text: str) -> str:
    """The same for a text that must stay on its line.

    >>> print(printable_cell("two\\nlines"))
    two\\nlines
    """
    return _ALSO_IN_CELLS.sub(_spelt, printable(text))


def _spelt(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()


class PrintableMessages(logging.Filter):
    """Spells out control characters in what the package logs."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = printable(record.getMessage()), None
        return True


logging.getLogger("penstock").addFilter(PrintableMessages())
