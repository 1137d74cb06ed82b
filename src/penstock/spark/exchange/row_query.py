"""Queries that look at single rows: their results are made by the tasks that read the rows.

They need no group. Results go to a hidden file in the directory of results (`io/results.py`); what
is told of it travels on in their place, and the driver makes it part of the batch's file. In a
pipeline without groups (`spark/rows/`) few results go to the driver as they are, which writes those
of all tasks at once, and so do those that no task may write.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import polars as pl

from penstock.kernel.block import Block
from penstock.kernel.operator import Operator
from penstock.model.punctuation import Punctuation
from penstock.model.schema import ROW_NUM, Schema
from penstock.model.timestamps import END
from penstock.optimizer.build import operator_of
from penstock.optimizer.specs import Spec
from penstock.spark.control.told import Told
from penstock.spark.delivery.staging import stage


class RowStep(NamedTuple):
    """An operator in front of a query's results, and its name in a graph."""

    id: str
    spec: Spec


@dataclass(frozen=True)
class RowQuery:
    """A query that looks at single rows: the operators in front of its results."""

    name: str
    schema: Schema
    steps: tuple[RowStep, ...]

    @cached_property
    def operators(self) -> list[tuple[str, Operator]]:
        return [(step.id, operator_of(step.spec, ())) for step in self.steps]


class Served(NamedTuple):
    """Results of a query for some rows: `rows` of them, or what is told of a file of as many."""

    query: str
    rows: int
    content: pl.DataFrame | bytes


class RowResults:
    """What queries make of the rows of one task.

    With `sends`, the driver gets results as they are, up to `staged_from` of a query, and all that
    no task may write.
    """

    def __init__(
        self, stream: str, queries: Sequence[RowQuery], told: Told, *, sends: bool
    ) -> None:
        self._queries = queries
        self._told = told
        self._sends = sends
        self._sent: Counter[str] = Counter()
        #: Whether late rows are served like others.
        self.passes_late = sends and stream in told.pass_late
        self._late, self._oldest = 0, END
        self._operators: dict[str, list[int]] = {}

    def of(self, rows: pl.DataFrame) -> Iterator[Served]:
        """The results of a block of rows, query by query."""
        # Joins take all columns of a stream; that nobody reads this one was made sure of.
        numbered = rows.with_columns(pl.lit(None, pl.Int64).alias(ROW_NUM))
        made: dict[str, pl.DataFrame] = {}  # by operator: queries share them
        for query in self._queries:
            results = numbered
            for name, operator in query.operators:
                if name not in made:
                    made[name] = through([operator], results)
                    self._count(name, results.height, made[name].height)
                results = made[name]
            if results.height:
                yield self._served(query, results.select(query.schema.names))

    def note_late(self, times: pl.Series) -> None:
        """Count rows that were served although they are late."""
        if times.len():
            self._late += times.len()
            self._oldest = min(self._oldest, int(times.min()))  # type: ignore[arg-type]

    def figures(self) -> tuple[int, int, dict[str, list[int]]]:
        """Late rows that were served, the oldest, and by operator the rows read and put out."""
        return self._late, self._oldest, self._operators

    def _served(self, query: RowQuery, results: pl.DataFrame) -> Served:
        name, sink = query.name, self._told.sinks.get(query.name)
        self._sent[name] += results.height
        is_few = self._sends and self._sent[name] < self._told.staged_from
        staged = None
        if sink is not None and not is_few:
            staged = stage(name, results, query.schema, sink)
        if staged is None:
            return Served(name, results.height, results)
        return Served(name, results.height, staged)

    def _count(self, operator: str, rows_in: int, rows_out: int) -> None:
        known = self._operators.setdefault(operator, [0, 0])
        known[0] += rows_in
        known[1] += rows_out


def through(operators: Iterable[Operator], rows: pl.DataFrame) -> pl.DataFrame:
    """What operators make of a block of rows, one behind the other."""
    for operator in operators:
        if not rows.height:
            break  # what puts nothing out does not say which columns it would have
        out = _Collected(rows.clear())
        operator.on_batch(0, Block(rows), out)
        rows = out.rows
    return rows


class _Collected:
    """What an operator puts out for one block: another one, or nothing."""

    def __init__(self, nothing: pl.DataFrame) -> None:
        self.rows = nothing

    def batch(self, block: Block) -> None:
        self.rows = block.rows

    def punctuation(self, punctuation: Punctuation) -> None:
        """It is given none."""
