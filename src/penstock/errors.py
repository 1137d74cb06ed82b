"""Every error Penstock raises, in one tree.

    PenstockError
    ├── QueryError          the query cannot run as written              (has .position)
    │   ├── SyntaxFault         the text is not a valid statement
    │   ├── UnknownName         a stream, column, function or setting that does not exist
    │   ├── DuplicateName       a name that is taken
    │   ├── TypeMismatch        an expression whose types do not match
    │   ├── CannotWindow        an invalid window, or one on a column that does not progress
    │   ├── CannotJoin          a join whose state could not be bounded
    │   ├── CannotOrder         an order by a column that does not progress
    │   ├── CyclicView          a view that reads itself
    │   ├── BadSetting          a setting with a value it cannot have
    │   └── NotExecutable       valid, but this release cannot run it
    ├── StreamError         the data violates its stream's declaration   (has .stream)
    │   ├── LateRow             a row below the bound, where SET late = fail
    │   ├── MalformedRow        rows that do not conform to the stream's columns
    │   └── BadPunctuation      a bound that falls
    ├── UserCodeError       a function of the user failed; its error is attached
    ├── TooManyWindows      rows lie in more windows than a query can have open
    ├── IncompleteResults   results were dropped, so what is left is not all of them
    ├── HostError           the machine failed: a file, a process; the cause is attached
    └── PenstockBug         an invariant is broken: please report

A message has up to three parts: what is wrong and why; the place, underlined; the fix. Each is
cut where it would fill a screen; `message`, `hint` and `position` hold all of it. Secrets among
options are masked (`redaction.py`), and control characters spelt out (`printable.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from penstock.printable import printable
from penstock.redaction import redacted, redacted_sql

#: So many characters of a part are shown, and of a line of SQL.
SHOWN = 800
SHOWN_OF_LINE = 160


def shortened(text: str, length: int = SHOWN) -> str:
    """The text, or its beginning and its end with how much is left out between them.

    >>> shortened("a" * 30 + "b" * 30, 40)
    'aaaaaaaaaaaaaaaaaaaaaaaa … (28 characters more) … bbbbbbbb'
    """
    if len(text) <= length:
        return text
    head, tail = length * 3 // 5, length // 5
    return f"{text[:head]} … ({len(text) - head - tail:,} characters more) … {text[-tail:]}"


class PenstockError(Exception):
    """Root of the tree. `hint` says how to fix it, if known."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(redacted(message))
        self.message = redacted(message)
        self.hint = hint

    def __str__(self) -> str:
        parts = (shortened(self.message), self.place(), self.way_out())
        return printable("\n".join(part for part in parts if part))

    def place(self) -> str | None:
        """The offending text, underlined; None where there is no text."""
        return None

    def way_out(self) -> str | None:
        return f"  {shortened(self.hint)}" if self.hint else None


@dataclass(frozen=True)
class Position:
    """A stretch of SQL text: `text[start:end]`."""

    text: str
    start: int
    end: int

    @property
    def line(self) -> int:
        """Line number, from 1."""
        return self.text.count("\n", 0, self.start) + 1

    @property
    def column(self) -> int:
        """Column number in its line, from 1."""
        return self.start - (self.text.rfind("\n", 0, self.start) + 1) + 1

    def underlined(self) -> str:
        """The line that holds the place, with the place underlined.

        >>> print(Position("SELECT pric FROM bids", 7, 11).underlined())
          SELECT pric FROM bids
                 ^^^^
        """
        begin = self.text.rfind("\n", 0, self.start) + 1
        stop = self.text.find("\n", self.start)
        line = redacted_sql(self.text)[begin : stop if stop >= 0 else len(self.text)]
        first = self.start - begin
        width = max(1, min(self.end - begin, len(line)) - first)
        left, right = _around(first, width, len(line))
        before, after = "… " * (left > 0), " …" * (right < len(line))
        # A tab would be drawn wider than one column and shift the underline.
        blank = "".join("\t" if c == "\t" else " " for c in before + line[left:first])
        marks = "^" * min(width, max(1, right - first))
        return f"  {before}{line[left:right]}{after}\n  {blank}{marks}"


def _around(first: int, width: int, length: int) -> tuple[int, int]:
    """The part of a line of that length that is shown with the place in it.

    >>> _around(first=100, width=10, length=5000)
    (25, 185)
    """
    if length <= SHOWN_OF_LINE:
        return 0, length
    spare = max(0, SHOWN_OF_LINE - width)
    left = max(0, min(first - spare // 2, length - SHOWN_OF_LINE))
    return left, left + SHOWN_OF_LINE


class QueryError(PenstockError):
    """The query cannot run as written; the caller can fix it.

    `instead` are queries that could be written; the hint gets the first that is accepted.
    """

    def __init__(
        self,
        message: str,
        *,
        position: Position | None = None,
        hint: str | None = None,
        instead: tuple[str, ...] = (),
    ) -> None:
        super().__init__(message, hint=hint)
        self.position = position
        self.instead = instead

    def place(self) -> str | None:
        return self.position.underlined() if self.position else None


@contextmanager
def positioned(position: Position) -> Iterator[None]:
    """Errors raised inside that know no place get this one."""
    try:
        yield
    except QueryError as error:
        error.position = error.position or position
        raise


class SyntaxFault(QueryError):
    """The text is not a valid statement."""


class UnknownName(QueryError):
    """A stream, column, function or setting that does not exist."""


class DuplicateName(QueryError):
    """A name that is taken."""


class TypeMismatch(QueryError):
    """An expression whose types do not match."""


class CannotWindow(QueryError):
    """A window on a column that does not progress, or an invalid window."""


class CannotJoin(QueryError):
    """A join whose state could not be bounded."""


class CannotOrder(QueryError):
    """An order by a column that does not progress."""


class CyclicView(QueryError):
    """A view that reads itself, directly or through others."""


class BadSetting(QueryError):
    """A setting with a value it cannot have."""


class NotExecutable(QueryError):
    """Valid, but this release cannot run it."""


class StreamError(PenstockError):
    """The data violates its stream's declaration."""

    def __init__(self, stream: str, message: str, *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.stream = stream


class LateRow(StreamError):
    """A row below its stream's bound, where SET late = fail."""


class MalformedRow(StreamError):
    """Rows that do not conform to the stream's columns."""


class BadPunctuation(StreamError):
    """A bound that falls."""


class UserCodeError(PenstockError):
    """A function that the user has defined failed, or gave what it may not."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        # Polars makes such an error anew, of its text and the expression that it came out of.
        text, context, _ = message.partition("\n\nThis error occurred in the following ")
        if context:
            text, _, hint = text.partition("\n  ")
        super().__init__(text, hint=hint or None)


class TooManyWindows(PenstockError):
    """Rows lie in more windows than a query can have open."""


class IncompleteResults(PenstockError):
    """Results that nobody fetched were dropped, so what is left is not all of them."""


class HostError(PenstockError):
    """The machine failed: a file, a process. The cause is attached."""


class PenstockBug(PenstockError):
    """An invariant is broken."""

    def __init__(self, message: str) -> None:
        super().__init__(message, hint="this is a bug in Penstock: please report it")
