"""An aggregate function, computed for many groups at once.

What is kept of a group while rows still come are its *partials*: a few columns with one row per
group, whatever the number of rows behind it. They are made from rows by `start`, joined by
`merge`, and `result` reads the answer off them. Partials that several functions need, such as the
count and the sum that `avg` divides, are kept once: functions name the *parts* they read, and
parts that are equal are the same.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from penstock.kernel.aggregates.grouping import Columns, Grouping
from penstock.model.types import Type


@dataclass(frozen=True)
class Function(ABC):
    """A function of the column `argument` of type `of`; both are None for one of whole rows.

    `by` is the column that tells the order of rows, where the function looks at it.
    """

    argument: str | None
    of: Type | None
    by: str | None = None
    parameters: tuple[float, ...] = ()

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns of rows that it looks at."""
        return tuple(name for name in (self.argument, self.by) if name is not None)

    @property
    @abstractmethod
    def parts(self) -> tuple[PartialAggregate, ...]:
        """What has to be kept to know the result."""

    @abstractmethod
    def result(self, partials: Columns) -> pl.Series:
        """The answer for each row of partials."""


class PartialAggregate(Function):
    """A function that keeps partials of its own, and whose result is the first of them."""

    kinds: ClassVar[tuple[str, ...]]  # one word per column

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its partials: no column of a user begins like this.

        >>> from penstock.kernel.aggregates.count import Count
        >>> Count("len", Type.INT).columns
        ('__count(len)',)
        """
        details = [self.argument or "*", self.by, *self.parameters]
        written = ", ".join(str(detail) for detail in details if detail is not None)
        return tuple(f"__{kind}({written})" for kind in self.kinds)

    @property
    def parts(self) -> tuple[PartialAggregate, ...]:
        return (self,)

    @abstractmethod
    def start(self, rows: Columns, groups: Grouping) -> tuple[pl.Series, ...]:
        """Partials of rows, one per group, in the order of `columns`."""

    @abstractmethod
    def merge(self, partials: Columns, groups: Grouping) -> tuple[pl.Series, ...]:
        """Partials of partials, one per group, in the order of `columns`."""

    def result(self, partials: Columns) -> pl.Series:
        return partials[self.columns[0]]

    def values(self, rows: Columns) -> pl.Series:
        """The column the function is of."""
        assert self.argument is not None
        return rows[self.argument]


class OfParts(Function):
    """A function whose result is `read` off those of its parts, which `keeps` has."""

    keeps: ClassVar[tuple[type[PartialAggregate], ...]]
    read: Callable[..., pl.Series]

    @property
    def parts(self) -> tuple[PartialAggregate, ...]:
        return tuple(part(self.argument, self.of, self.by) for part in self.keeps)

    def result(self, partials: Columns) -> pl.Series:
        return self.read(*(part.result(partials) for part in self.parts))


class Additive(PartialAggregate):
    """One number a group; those of several groups are added up."""

    def merge(self, partials: Columns, groups: Grouping) -> tuple[pl.Series, ...]:
        return (groups.sum(self.result(partials)),)
