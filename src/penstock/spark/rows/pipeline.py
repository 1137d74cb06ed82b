"""RowPipeline: queries that look at single rows, as one Spark streaming query without state.

    sources ─► exchange ─┐
    control ─────────────┴─ union ─► deliver, with one kernel graph

It has the face of `Pipeline`. What tasks of the exchange do not serve comes to the driver, where
the graph of a `RowHost` looks at it before results are delivered.
"""

from __future__ import annotations

from functools import reduce

import pyarrow as pa
from pyspark.sql import DataFrame

from penstock.spark.base_pipeline import BasePipeline
from penstock.spark.delivery.delivery import OutputRows
from penstock.spark.delivery.group_reports import report_of
from penstock.spark.delivery.staging import writing_staged
from penstock.spark.epochs import Epochs
from penstock.spark.exchange.messages import Record, in_order
from penstock.spark.pipeline import tasks_of
from penstock.spark.rows.choice import row_queries
from penstock.spark.rows.host import GROUP, RowHost
from penstock.spark.sources.sources import exchange


class RowPipeline(BasePipeline):
    """The pipeline of queries that tasks compute as they read."""

    def _computed(self) -> DataFrame:
        streams = self.program.streams
        self.epochs = Epochs(
            self.spark.sparkContext,
            self.checkpoint,
            self.program,
            lambda program: row_queries(program, self.keys),
        )
        first = self.epochs.first
        early = first.early
        self._host = RowHost(self.checkpoint.layout.rows)
        if not self.checkpoint.is_new:
            self._host.open(self.checkpoint.finished + 1, first, {})  # complains here, if it must
        legs = [
            exchange(
                self.frames[s.name],
                s,
                number,
                None,
                [GROUP],
                tasks_of(self.spark, len(streams), early[s.name]),
                early[s.name],
            )
            for number, s in enumerate(streams)
        ]
        messages = reduce(DataFrame.union, legs, self.control.messages(self.spark, [GROUP]))
        return writing_staged(self.spark, messages) if self.has_stores else messages

    def _begin(self, batch: int) -> None:
        """Tell tasks what to run, which rows are surely on time, and where results go."""
        assert self.epochs is not None
        told = self._host.open(batch, self.epochs.begin(batch), self.sinks(batch))
        self._tell(batch, told)

    def _output_rows(self, batch: int, computed: pa.Table) -> list[OutputRows]:
        messages = in_order(Record(**each) for each in computed.to_pylist())
        return self._host.process(batch, messages)

    def _finish(self, batch: int) -> None:
        self._host.keep(batch)
        self.report(report_of(batch, [self._host.report]))
