"""Rows of partitions one after the other, each in its order: what patterns are looked for in."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from penstock.kernel.aggregates.keys import code_column, combine
from penstock.kernel.matching.lazy_dfa import Ints
from penstock.model.match import MatchDefinition
from penstock.model.timestamps import END

#: Of a row: that it stands here only for those behind it to look back to; that it was looked at
#: before, and belongs to an attempt that was not decided then, or to one behind it.
BACK, SEEN = "__back", "__seen"
#: Of a partition's rows: the time of the first row of its attempt, and of the first row with which
#: a match could end; END: there is none.
START, SOON = "__start", "__soon"
#: The same object equals itself as a part of a tuple.
_NAN = float("nan")


@dataclass(frozen=True)
class SortedRows:
    """Rows sorted by partition and order; all below the bound have come.

    `first` and `stop` are the ends of each row's partition, half-open; `back` tells the rows in
    which no match may begin, `seen` those that were looked at before.
    """

    rows: pl.DataFrame
    times: Ints
    first: Ints
    stop: Ints
    back: npt.NDArray[np.bool_]
    seen: npt.NDArray[np.bool_]
    bound: int
    within: int | None
    most_rows: int | None

    @classmethod
    def of(cls, rows: pl.DataFrame, match: MatchDefinition, bound: int) -> SortedRows:
        """The rows, sorted; a column `__back` tells of some that nothing may begin there."""
        code = combine(map(code_column, map(rows.get_column, match.partition)), rows.height)
        keys = ["__code", *(each.column for each in match.order)]
        descending = [False, *(each.descending for each in match.order)]
        if rows.get_column(BACK).any():
            # Of rows that are equal otherwise, those to look back to stand in front.
            keys.append(BACK)
            descending.append(True)
        rows = rows.with_columns(pl.Series("__code", code.codes))
        rows = rows.sort(keys, descending=descending, nulls_last=descending)
        codes = rows.get_column("__code").to_numpy()
        edges = np.flatnonzero(np.diff(codes)) + 1
        firsts, stops = np.append([0], edges), np.append(edges, [rows.height])
        sizes = stops - firsts
        return cls(
            rows.drop("__code"),
            rows.get_column(match.on).to_physical().cast(pl.Int64).to_numpy(),
            np.repeat(firsts, sizes),
            np.repeat(stops, sizes),
            rows.get_column(BACK).to_numpy(),
            rows.get_column(SEEN).to_numpy(),
            bound,
            match.within,
            match.most_rows,
        )

    @cached_property
    def ticks(self) -> list[int]:
        ticks: list[int] = self.times.tolist()
        return ticks

    @cached_property
    def stops(self) -> list[int]:
        stops: list[int] = self.stop.tolist()
        return stops

    @cached_property
    def partitions(self) -> Ints:
        """The first row of each partition."""
        return np.unique(self.first)

    @cached_property
    def goes_on(self) -> npt.NDArray[np.bool_]:
        """The rows at which attempts began that were not decided before."""
        is_first = (self.ranks == 0) | np.append(True, self.back[:-1])
        found: npt.NDArray[np.bool_] = self.seen & ~self.back & is_first
        return found

    @cached_property
    def known(self) -> Ints:
        """How many rows were seen before each row, of all."""
        return np.append(0, np.cumsum(self.seen))

    @cached_property
    def ranks(self) -> Ints:
        """The number of rows of its partition before each."""
        return np.arange(len(self.times)) - self.first

    def key(self, row: int, partition: Sequence[str]) -> tuple[Any, ...]:
        """The partition of a row."""
        return key_of(self.rows.select(partition).row(row) if partition else ())

    def limit(self, start: int) -> int:
        """Behind the last row that a match can reach that begins there, of those that are here."""
        stop = self.stops[start]
        if self.most_rows is not None:
            stop = min(stop, start + self.most_rows)
        if self.within is None:
            return stop
        return bisect_right(self.ticks, self.ticks[start] + self.within, start, stop)

    def is_over(self, start: int) -> bool:
        """Whether no later row can belong to a match that begins there."""
        if self.bound >= END or self.is_full(start):
            return True
        return self.within is not None and self.ticks[start] + self.within < self.bound

    def is_full(self, start: int) -> bool:
        """Whether a match that begins there has as many rows here as it can have."""
        return self.most_rows is not None and self.limit(start) - start == self.most_rows


def key_of(values: Iterable[Any]) -> tuple[Any, ...]:
    """What a partition is told apart by: all NaN are one."""
    return tuple(_NAN if value != value else value for value in values)
