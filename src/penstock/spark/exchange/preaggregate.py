"""Preaggregate: one aggregate that reads a stream, where rows of the stream are read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import polars as pl

from penstock.kernel.aggregation.preaggregating import Preaggregating
from penstock.kernel.operator import Operator
from penstock.optimizer.build import operator_of
from penstock.optimizer.specs import Spec
from penstock.spark.exchange.row_query import through


@dataclass(frozen=True)
class Preaggregate:
    """An aggregate that reads a stream, and the operators in front of it.

    `number` is its place among the operators of the program; `keys` are the columns, among its
    groups, that the stream is partitioned by.
    """

    number: int
    spec: Spec
    steps: tuple[Spec, ...]
    keys: tuple[str, ...]

    @cached_property
    def _operators(self) -> list[Operator]:
        return [operator_of(step, ()) for step in self.steps]

    @cached_property
    def _aggregate(self) -> Preaggregating:
        return aggregate_of(self.spec)

    def fold(self, rows: pl.DataFrame) -> pl.DataFrame | None:
        """What the aggregate keeps of rows; None: nothing."""
        rows = through(self._operators, rows)
        return self._aggregate.preaggregated(rows) if rows.height else None


def aggregate_of(spec: Spec) -> Preaggregating:
    """An aggregate that never gets state: it only makes and merges what others keep."""
    operator = operator_of(spec, ())
    assert isinstance(operator, Preaggregating)
    return operator
