"""`text_table`: rows of a table as text, for people; the same on every terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from penstock.printable import printable_cell

#: Between two columns.
_GAP = "  "
#: Characters that a text has at least to wrap in, however wide the columns before it are.
_NARROWEST = 30


def text_table(
    rows: Sequence[Sequence[str | int]], *, width: int | None = None, indent: str = ""
) -> str:
    """Rows in columns, the first one being the header, if there is one; numbers to the right.

    With `width`, texts of the last column are wrapped so that lines are no longer than that.

    >>> print(text_table([("query", "rows"), ("talkers", 1200), ("big", 7)]))
    query     rows
    talkers  1,200
    big          7
    >>> print(text_table([("a", "what it says, in words that are wrapped")], width=34))
    a  what it says, in words that are
       wrapped
    """
    columns = list(zip(*rows, strict=True))
    texts = [[_text(cell) for cell in column] for column in columns]
    widths = [max(map(len, column)) for column in texts]
    right = [any(isinstance(cell, int) for cell in column) for column in columns]
    if width is not None:
        before = len(indent) + sum(widths[:-1]) + len(_GAP) * (len(widths) - 1)
        widths[-1] = max(width - before, _NARROWEST)
        texts[-1] = [_wrapped(text, widths[-1]) for text in texts[-1]]
    lines = []
    for row in zip(*texts, strict=True):
        *others, last = row
        for number, part in enumerate(last.split("\n")):
            cells = [*(others if not number else [""] * len(others)), part]
            padded = (
                cell.rjust(to) if is_number else cell.ljust(to)
                for cell, to, is_number in zip(cells, widths, right, strict=True)
            )
            lines.append(f"{indent}{_GAP.join(padded)}".rstrip())
    return "\n".join(lines)


def _text(cell: str | int) -> str:
    return f"{cell:,}" if isinstance(cell, int) else printable_cell(cell)


def _wrapped(text: str, width: int) -> str:
    return textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)
