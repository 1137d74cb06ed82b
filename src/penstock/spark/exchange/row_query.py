"""Results that tasks write themselves, instead of sending them to the driver.

A query that looks at single rows needs no group: its results are made where rows are read. They go
to a hidden file in the directory of results (`io/results.py`); what is told of it travels on in
their place, and the driver makes it part of the batch's file.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import polars as pl

from penstock.io.results import presented, stage_part
from penstock.kernel.block import Block
from penstock.kernel.operator import Operator
from penstock.model.punctuation import Punctuation
from penstock.model.schema import ROW_NUM, Schema
from penstock.optimizer.build import operator_of
from penstock.optimizer.specs import Spec


@dataclass(frozen=True)
class RowQuery:
    """A query that looks at single rows: the operators in front of its results."""

    name: str
    schema: Schema
    steps: tuple[Spec, ...]

    @cached_property
    def _operators(self) -> list[Operator]:
        return [operator_of(step, ()) for step in self.steps]

    def stage(self, rows: pl.DataFrame, sink: Sequence[str]) -> pl.DataFrame | None:
        """Write its results to a hidden file of the sink's; tells which, None if there are none."""
        # Joins take all columns of a stream; that nobody reads this one was made sure of.
        unnumbered = pl.lit(None, pl.Int64).alias(ROW_NUM)
        results = through(self._operators, rows.with_columns(unnumbered))
        if not results.height:
            return None
        return stage(self.name, results.select(self.schema.names), self.schema, sink)


def stage(query: str, results: pl.DataFrame, schema: Schema, sink: Sequence[str]) -> pl.DataFrame:
    """Write results to a hidden file of the sink's; gives what is told of it."""
    format, folder = sink
    file = stage_part(Path(folder), format, presented(results, schema))
    return pl.DataFrame({"query": [query], "file": [str(file)], "rows": [results.height]})


def through(operators: Iterable[Operator], rows: pl.DataFrame) -> pl.DataFrame:
    """What operators make of a block of rows, one behind the other."""
    for operator in operators:
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
