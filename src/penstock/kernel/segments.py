"""Segments: tables of rows that are written once, appended, merged, cut from the front, dropped.

A segment is immutable and has its id for ever. A batch adds one; when the younger ones together
have grown as large as an older one, they are merged with it, so that there are few of them and a
row is copied a logarithmic number of times. Where a table's segments are sorted by `on`, rows leave
from their fronts, which copies nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias
from uuid import uuid4

import numpy as np
import numpy.typing as npt
import polars as pl

Mask = npt.NDArray[np.bool_]
Merge = Callable[[Sequence[pl.DataFrame]], pl.DataFrame]
"""Makes one segment of several, oldest first."""

#: Segments that are merged at a time: few where probes look at each, more where each is cheap.
FEW, MANY = 4, 8


def new_id() -> int:
    """A number that nothing else has: a signed 64-bit integer."""
    return uuid4().int >> 65


@dataclass(frozen=True, eq=False)
class Segment:
    """Rows that were written once; those at its front may since have been purged.

    `id` names the rows as they were written, for ever and everywhere, so that a host that keeps
    segments in a store can tell which ones it has.
    """

    whole: pl.DataFrame
    id: int = field(default_factory=new_id)
    purged: int = 0

    @cached_property
    def rows(self) -> pl.DataFrame:
        """The rows that are left; shares their memory."""
        return self.whole.slice(self.purged) if self.purged else self.whole

    @cached_property
    def bytes(self) -> int:
        """How large these rows are: one that holds a set may be as large as a million others."""
        return int(self.rows.estimated_size())

    def without_front(self, count: int) -> Segment:
        """The same without its first rows."""
        return Segment(self.whole, self.id, self.purged + count)


Split: TypeAlias = tuple[list[pl.DataFrame], list[Segment]]
"""Rows that go, and segments with those that stay."""


@dataclass
class SegmentTable:
    """Immutable segments, oldest first; `on` is the column that tells the rows' time, if any."""

    segments: list[Segment] = field(default_factory=list)
    on: str | None = None

    def __iter__(self) -> Iterator[pl.DataFrame]:
        """The rows of each segment."""
        return (segment.rows for segment in self.segments)

    @property
    def rows(self) -> int:
        return sum(rows.height for rows in self)

    @property
    def bytes(self) -> int:
        return sum(segment.bytes for segment in self.segments)

    # -- growing ------------------------------------------------------------------------------

    def append(self, rows: pl.DataFrame, merge: Merge | None = None) -> None:
        """Add a segment of new rows; with `merge`, make one of the youngest where it is time."""
        if rows.height:
            self.segments.append(Segment(rows))
        if merge is not None:
            self.compact(merge, MANY)

    def append_sorted(self, rows: pl.DataFrame) -> None:
        """Add rows; rows of equal time keep the order they came in."""
        if rows.height:
            self.segments.append(Segment(rows.sort(self._time, maintain_order=True)))
            self.compact(lambda parts: _sorted(parts, self._time), FEW)

    def compact(
        self,
        merge: Merge,
        fan_in: int,
        alike: Callable[[Sequence[Segment]], Sequence[Segment]] | None = None,
    ) -> None:
        """Merge the youngest segments while none of them is larger than those after it together.

        `alike` picks those that may be merged; without it, all may.
        """
        while len(self.segments) >= fan_in:
            tail = (alike(self.segments) if alike else self.segments)[-fan_in:]
            sizes = [segment.bytes for segment in tail]
            if len(tail) < fan_in or sizes[0] > sum(sizes[1:]):
                return
            merged = merge([segment.rows for segment in tail])
            self.segments = [segment for segment in self.segments if segment not in tail]
            self.append(merged)

    # -- shrinking ----------------------------------------------------------------------------

    def cut(self, front: Callable[[pl.DataFrame], int]) -> list[pl.DataFrame]:
        """Take rows off the front of each segment, as many as `front` says; no row is copied."""
        taken, self.segments = self._split(front)
        return taken

    def take_below(self, bound: int) -> list[pl.DataFrame]:
        """Take out the rows below the bound; segments are sorted."""
        taken, self.segments = self.split_below(bound)
        return taken

    def split_below(self, bound: int) -> Split:
        """What `take_below` would take out, and the segments that it would leave."""
        on = self._time
        return self._split(lambda rows: int(_times(rows, on).to_numpy().searchsorted(bound)))

    def _split(self, front: Callable[[pl.DataFrame], int]) -> Split:
        taken, kept = [], []
        for segment in self.segments:
            rows = segment.rows
            split = front(rows)
            if split:
                taken.append(rows.slice(0, split))
            if split < rows.height:
                kept.append(segment.without_front(split) if split else segment)
        return taken, kept

    def take_in_order(self, bound: int) -> pl.DataFrame | None:
        """Take out the rows below the bound, all in order; None: there are none."""
        taken = self.take_below(bound)
        return _sorted(taken, self._time) if taken else None

    def drop_first(self, count: int) -> None:
        """Drop so many rows of the oldest segments."""

        def front(rows: pl.DataFrame) -> int:
            nonlocal count
            cut = min(count, rows.height)
            count -= cut
            return cut

        self.cut(front)

    def take_where(self, going: Callable[[pl.DataFrame], Mask]) -> list[pl.DataFrame]:
        """Take out the rows that are going, wherever they stand; other segments stay as they are.

        What is left of the segments is written anew: this is for rows that leave before their time.
        """
        taken, kept = [], []
        for segment in self.segments:
            leaves = going(segment.rows)
            if not leaves.any():
                kept.append(segment)
                continue
            taken.append(segment.rows.filter(leaves))
            if not leaves.all():
                kept.append(Segment(segment.rows.filter(~leaves)))
        self.segments = kept
        return taken

    def clear(self) -> None:
        self.segments = []

    def replace(self, rows: pl.DataFrame) -> None:
        """Other rows instead: for what is small, or leaves no other way."""
        self.clear()
        self.append(rows)

    # -- looking ------------------------------------------------------------------------------

    def lowest(self) -> int | None:
        """The least time in sorted segments; None: there are no rows."""
        on = self._time
        firsts = (int(_times(rows, on)[0]) for rows in self if rows.height)
        return min(firsts, default=None)

    def extent(self) -> tuple[int, int] | None:
        """The least and the greatest time, of segments in any order; None: it has none."""
        if self.on is None or not self.segments:
            return None
        columns = [_times(rows, self.on) for rows in self]
        lows: list[Any] = [low for column in columns if (low := column.min()) is not None]
        highs: list[Any] = [high for column in columns if (high := column.max()) is not None]
        return (int(min(lows)), int(max(highs))) if lows else None

    @property
    def _time(self) -> str:
        assert self.on is not None, "a table without a time has no order"
        return self.on


def table(on: str | None = None) -> Any:
    """A field of a state: a table, empty at first."""
    return field(default_factory=lambda: SegmentTable(on=on))


def where(condition: pl.Expr) -> Callable[[pl.DataFrame], Mask]:
    """A condition as what `take_where` asks."""
    return lambda rows: rows.select(condition.alias("x")).to_series().fill_null(False).to_numpy()


def _times(rows: pl.DataFrame, on: str) -> pl.Series:
    """A column of times as numbers, which most are already: to ask Polars for them takes longer."""
    column = rows.get_column(on)
    return column if column.dtype.is_integer() else column.to_physical()


def _sorted(parts: Sequence[pl.DataFrame], on: str) -> pl.DataFrame:
    return pl.concat(parts, rechunk=True).sort(on, maintain_order=True)
