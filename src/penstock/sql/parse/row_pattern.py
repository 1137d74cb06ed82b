"""The inside of PATTERN: text -> RowPattern.

choice    sequence | sequence …
sequence  item item …
item      variable or (choice), with ? * + {n} {n,} {n,m} {,m} behind it, and ? behind these
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

from penstock.model.row_patterns import (
    PatternChoice,
    PatternRepeat,
    PatternSequence,
    PatternVariable,
    RowPattern,
)
from penstock.sql.parse.syntax import Span

#: Called with a message, the place and the way out; does not return.
Refuse = Callable[[str, Span, str], NoReturn]

_TOKEN = re.compile(
    r"\s*(?:(?P<name>[^\W\d]\w*|`[^`]+`)|(?P<count>\{\s*(?P<low>\d*)\s*(?P<comma>,?)\s*(?P<high>\d*)\s*\})"
    r"|(?P<sign>\{-|-\}|[()|?*+^$]))"
)
_COUNTS: dict[str, tuple[int, int | None]] = {"?": (0, 1), "*": (0, None), "+": (1, None)}
_REFUSED = {
    "{-": ("exclusions", "leave out {- and -}: with ONE ROW PER MATCH they change nothing"),
    "-}": ("exclusions", "leave out {- and -}: with ONE ROW PER MATCH they change nothing"),
    "^": ("anchors", "a stream's partitions have no first row to wait for; leave it out"),
    "$": ("anchors", "a stream has no last row; leave it out"),
}


def parse_row_pattern(text: str, offset: int, refuse: Refuse) -> RowPattern:
    """The pattern of a text that stands at an offset of a larger one."""
    reader = _Reader(text, offset, refuse)
    found = reader.choice()
    if not reader.at_end:
        reader.stop(f"unexpected `{reader.sign or reader.name}` in PATTERN", "close what is open")
    return found


@dataclass
class _Reader:
    text: str
    offset: int
    refuse: Refuse
    at: int = 0

    def __post_init__(self) -> None:
        self._look()

    def _look(self) -> None:
        """Read the next token."""
        rest = self.text[self.at :]
        self.at_end = not rest.strip()
        found = _TOKEN.match(rest)
        if found is None and not self.at_end:
            self._token = Span(self.at, len(self.text.rstrip()))
            self.stop(f"`{rest.strip()}` is not part of a pattern", _WAYS)
        self._found = found
        start = self.at + (len(rest) - len(rest.lstrip()))
        self._token = Span(start, self.at + found.end() if found else start + 1)
        self.name = found["name"].strip("`") if found and found["name"] else ""
        self.sign = (found["sign"] or found["count"] or "") if found else ""

    def _advance(self) -> None:
        assert self._found is not None
        self.at += self._found.end()
        self._look()

    def stop(self, message: str, hint: str) -> NoReturn:
        place = Span(self._token.start + self.offset, self._token.end + self.offset)
        self.refuse(message, place, hint)

    def choice(self) -> RowPattern:
        choices = [self._sequence()]
        while self.sign == "|":
            self._advance()
            choices.append(self._sequence())
        return choices[0] if len(choices) == 1 else PatternChoice(tuple(choices))

    def _sequence(self) -> RowPattern:
        steps = []
        while not self.at_end and self.sign not in ("|", ")"):
            steps.append(self._item())
        if not steps:
            self.stop("a variable is missing in PATTERN", _WAYS)
        return steps[0] if len(steps) == 1 else PatternSequence(tuple(steps))

    def _item(self) -> RowPattern:
        if self.sign in _REFUSED:
            what, hint = _REFUSED[self.sign]
            self.stop(f"{what} are not supported in PATTERN", hint)
        if self.sign == "(":
            self._advance()
            item = self.choice()
            if self.sign != ")":
                self.stop("`)` is missing in PATTERN", "close what is open")
            self._advance()
        elif self.name:
            item = PatternVariable(self.name)
            name, place = self.name, self._token
            self._advance()
            if name.upper() == "PERMUTE" and self.sign == "(":
                self._token = place
                self.stop("PERMUTE is not supported", "write the orders out: (A B | B A)")
        else:
            self.stop(f"`{self.sign}` has nothing to repeat", _WAYS)
        return self._repeated(item)

    def _repeated(self, item: RowPattern) -> RowPattern:
        counts = self._counts()
        if counts is None:
            return item
        self._advance()
        reluctant = self.sign == "?"
        if reluctant:
            self._advance()
        if self._counts() is not None:
            self.stop("a second quantifier", "put the first one in parentheses: (A+){2}")
        return PatternRepeat(item, *counts, reluctant)

    def _counts(self) -> tuple[int, int | None] | None:
        """The least and the most times that the current token says, if it says so."""
        if self.sign in _COUNTS:
            return _COUNTS[self.sign]
        if self._found is None or not self._found["count"]:
            return None
        low, comma, high = (self._found[part] for part in ("low", "comma", "high"))
        if not low and not high:
            self.stop(f"`{self.sign}` has no number", _WAYS)
        least = int(low or 0)
        most = (int(high) if high else None) if comma else least
        if most is not None and (most < least or most == 0):
            self.stop(f"`{self.sign}` matches nothing", "write the least number first: {2,3}")
        return least, most


_WAYS = "a pattern is written like (A B+ (C | D)*? E{2,3})"
