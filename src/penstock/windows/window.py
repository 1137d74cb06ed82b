"""A window: a rule that cuts a stream into extents.

Membership is a function of the specification and of the rows' values, never of the order
in which they arrive. Three functions say it all, over the logical set of rows T:

    windows(T)    the ids of the extents
    extent(w, T)  the rows of one extent          the reference: easy to believe
    wids(t, T)    the ids of one row's extents    what an operator evaluates

They belong together by duality: t is in extent(w) exactly when w is in wids(t). T is never
materialised at run time; here it is a list, in order of arrival, so that the meaning of
every kind can be tested and a slow evaluator can judge the fast ones.

A row whose windowing attribute is NULL belongs to no extent.  Spec: window-queries 2.3.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from penstock.errors import CannotWindow
from penstock.model.timestamps import format_duration

#: How many windows of a query may be open at a time.
MOST_OPEN = 10_000_000

Row: TypeAlias = Mapping[str, Any]

Wid: TypeAlias = Any
"""An integer; for partitioned windows a pair (integer, values of the partition)."""

Unit: TypeAlias = Literal["time", "rows", "number"]
"""What lengths are counted in: ticks of time, rows, or steps of an integer column."""


@dataclass(frozen=True)
class Window(ABC):
    """What all kinds share. `on` is the attribute that must progress for extents to end."""

    on: str

    @abstractmethod
    def windows(self, rows: Sequence[Row]) -> Sequence[Wid]:
        """The ids whose extents are not empty, each once."""

    @abstractmethod
    def extent(self, wid: Wid, rows: Sequence[Row]) -> list[Row]:
        """The rows of extent `wid`, one of `windows(rows)`, in order of arrival."""

    @abstractmethod
    def wids(self, row: Row, rows: Sequence[Row]) -> Sequence[Wid]:
        """The ids of the extents that `row`, itself one of `rows`, belongs to, ascending."""

    @abstractmethod
    def bounds(self, wid: Wid) -> tuple[int | None, int]:
        """What the extent covers, half-open, for presentation; None: without beginning."""

    @property
    def progresses(self) -> tuple[bool, bool]:
        """Whether the starts and the ends of windows progress as `on` does."""
        return True, True

    def columns(self) -> frozenset[str]:
        """The attributes the window reads."""
        return frozenset({self.on})


def format_length(length: int, unit: Unit) -> str:
    """A length as the window clause spells it.

    >>> format_length(1, "rows"), format_length(1000, "rows"), format_length(10, "number")
    ('1 row', '1000 rows', '10')
    """
    if unit == "time":
        return format_duration(length)
    if unit == "number":
        return str(length)
    return "1 row" if length == 1 else f"{length} rows"


def format_origin(origin: int, unit: Unit) -> str:
    """The end of a clause: empty where the origin is the usual one.

    >>> format_origin(1, "rows"), format_origin(3, "rows")
    ('', ', ORIGIN 3 rows')
    """
    return "" if origin == usual_origin(unit) else f", ORIGIN {format_length(origin, unit)}"


def usual_origin(unit: Unit) -> int:
    """The epoch for time, and zero; 1 for rows, because row numbers count from 1."""
    return 1 if unit == "rows" else 0


def resolve_origin(origin: int | None, unit: Unit) -> int:
    """The given origin, or the usual one."""
    return usual_origin(unit) if origin is None else origin


def require_positive(name: str, length: int, unit: Unit) -> None:
    """Refuse a RANGE or SLIDE that would never hold a row or never move."""
    if length <= 0:
        raise CannotWindow(
            f"cannot window with {name} {format_length(length, unit)}: it must be positive",
            hint=f"give {name} a length of at least {format_length(1, unit)}",
        )


def present(rows: Sequence[Row], attribute: str) -> list[Row]:
    """The rows that have a value in `attribute`."""
    return [row for row in rows if row[attribute] is not None]
