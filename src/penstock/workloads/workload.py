"""A workload: a stream that is a function.

Its rows are numbered from 0 in the order in which they arrive, and row n depends on the seed, the
options and n, on nothing else. So a stretch of rows can be made anywhere, again, and cut in any
way; a source that remembers how many rows it gave remembers everything.

Rows bring their own time, which may be out of order (`disorder`). `arrival_times` and `arrived` are
for those who want to play the stream at its own pace; nothing here looks at a clock.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

import polars as pl
from numpy.typing import NDArray

from penstock.kernel.types import polars_type
from penstock.model.schema import Column
from penstock.model.types import Type
from penstock.workloads.arrivals import ArrivalPattern
from penstock.workloads.disorder import Disorder
from penstock.workloads.draws import Draws, Integers
from penstock.workloads.options import WorkloadOptions

Values: TypeAlias = "NDArray[Any] | pl.Series"


@dataclass(frozen=True, kw_only=True)
class Workload(ABC):
    """A replayable stream. `total` is the number of its rows; None: it never ends."""

    seed: int = 0
    arrivals: ArrivalPattern = field(default_factory=ArrivalPattern)
    disorder: Disorder = field(default_factory=Disorder)
    total: int | None = None

    name: ClassVar[str]
    declaration: ClassVar[str]  # names and types of its columns, as in CREATE STREAM
    timestamp: ClassVar[str] = "ts"

    @classmethod
    def from_options(cls, options: WorkloadOptions, seed: int) -> Workload:
        """The workload that the options describe."""
        return cls.with_own(options, seed)

    @classmethod
    def with_own(
        cls, options: WorkloadOptions, seed: int, *, rate: float = 1000.0, **own: Any
    ) -> Workload:
        """One with the options that all have, its usual rate, and fields of its own."""
        return cls(
            seed=seed,
            arrivals=ArrivalPattern.from_options(options, rate=rate),
            disorder=Disorder.from_options(options),
            total=options.count("rows"),
            **own,
        )

    @property
    def columns(self) -> tuple[Column, ...]:
        """Its columns, in order."""
        return declared_columns(self.declaration)

    @abstractmethod
    def values(self, first: int, times: Integers) -> Mapping[str, Values]:
        """The columns of the rows from `first` on, but for the timestamp: that is `times`."""

    @property
    def slack(self) -> int:
        """How far below the newest timestamp a row may still come, in ticks."""
        return self.disorder.slack

    @property
    def draws(self) -> Draws:
        """Its own random numbers."""
        return Draws(self.seed, self.name)

    def rows(self, first: int, count: int) -> pl.DataFrame:
        """Rows first … first + count - 1 in the order of arrival; fewer at the stream's end."""
        count = self._available(first, count)
        arrivals = self._arrival_times(first, count)
        times = self.disorder.event_times(self.draws, first, arrivals)
        values = {**self.values(first, times), self.timestamp: times}
        return pl.DataFrame(
            [
                pl.Series(column.name, values[column.name]).cast(polars_type(column.type))
                for column in self.columns
            ]
        )

    def arrival_times(self, first: int, count: int) -> Integers:
        """The ticks at which these rows arrive; they never fall."""
        return self._arrival_times(first, self._available(first, count))

    def arrived(self, tick: int) -> int:
        """How many rows arrive before the tick."""
        rows = self._arrived(tick)
        return rows if self.total is None else min(rows, self.total)

    def _arrival_times(self, first: int, count: int) -> Integers:
        return self.arrivals.times(self.draws, first, count)

    def _arrived(self, tick: int) -> int:
        return self.arrivals.before(self.draws, tick)

    def _available(self, first: int, count: int) -> int:
        """How many of these rows there are."""
        if first < 0 or count < 0:
            raise ValueError(f"there are no rows {first} … {first + count - 1}")
        return count if self.total is None else max(0, min(count, self.total - first))


def declared_columns(declaration: str) -> tuple[Column, ...]:
    """The columns that a declaration names.

    >>> [str(column) for column in declared_columns("key BIGINT, ts TIMESTAMP")]
    ['key BIGINT', 'ts TIMESTAMP']
    """
    named = (column.split() for column in declaration.split(","))
    return tuple(Column(name, Type[type_]) for name, type_ in named)
