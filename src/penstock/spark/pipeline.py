"""Pipeline: the queries that share their streams and partitioning, as one Spark streaming query.

    sources ─► exchange ─┐
    control ─────────────┴─ union ─► one kernel graph per group ─► deliver

Spark owns offsets, scheduling, state and recovery; what is ours is in the functions it calls.
"""

from __future__ import annotations

from functools import reduce

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from penstock.model.timestamps import BEGINNING
from penstock.spark.base_pipeline import BasePipeline
from penstock.spark.catching_up.catch_up import CatchUp
from penstock.spark.control import told
from penstock.spark.delivery.delivery import PROGRESS, OutputRows, output_rows
from penstock.spark.delivery.group_reports import GroupReport, report_of
from penstock.spark.delivery.staging import writing_staged
from penstock.spark.epochs import Epochs
from penstock.spark.exchange.hand_over import emptied_folder
from penstock.spark.exchange.preaggregation import (
    Preaggregation,
    folds_for,
    for_streams,
    on_time_in,
)
from penstock.spark.masters import is_one_process
from penstock.spark.placement.groups import group_keys
from penstock.spark.processor import OUTPUT_DDL, QUERY_ID, GroupProcessor
from penstock.spark.session import PARTITIONS
from penstock.spark.sources.sources import exchange

#: So many queries make tasks do more than read.
_MANY_QUERIES = 8


class Pipeline(BasePipeline):
    """The pipeline of queries that have groups."""

    def _computed(self) -> DataFrame:
        spark, streams = self.spark, self.program.streams
        partitions = self.groups or int(str(spark.conf.get(PARTITIONS)))
        groups = self.checkpoint.groups(group_keys(partitions, partitions))
        self.epochs = Epochs(
            spark.sparkContext,
            self.checkpoint,
            self.program,
            lambda program: for_streams(program.live, self.keys),
        )
        self._groups = groups
        self._running = self.program  # what the batch runs that has begun
        names = [stream.name for stream in streams]
        control = self.control
        self.catch_up = CatchUp(
            self.checkpoint.folder,
            self.checkpoint.spark,
            names,
            lambda: control.send({}),
            lambda changes: self.join(changes),
        )
        early = self.epochs.first.early
        # Until a batch has told, only the first of all knows what was before it: nothing.
        self._on_time_from = dict.fromkeys(early, BEGINNING) if self.checkpoint.is_new else {}
        self._reports: list[GroupReport] = []  # of each group, in the last batch
        legs = [
            exchange(
                self.frames[s.name],
                s,
                number,
                self.keys[s.name],
                groups,
                tasks_of(spark, len(streams), early[s.name]),
                early[s.name],
            )
            for number, s in enumerate(streams)
        ]
        messages = reduce(DataFrame.union, legs, self.control.messages(spark, groups))
        output = messages.groupBy("g").transformWithState(
            GroupProcessor(self.program), OUTPUT_DDL, "append", "none"
        )
        return writing_staged(spark, output) if self.has_stores else output

    def _begin(self, batch: int) -> None:
        """Tell tasks what to run, which rows are surely on time, and where rows and results go."""
        assert self.epochs is not None and self.catch_up is not None
        self.adapt()
        epoch = self.epochs.begin(batch)
        self._running = epoch.program
        again = self.catch_up.begin(batch, epoch.program)
        known = told.Told(
            self._on_time_from,
            self.sinks(batch),
            told.STAGED_FROM,
            folds=folds_for(self._reports, epoch.program.live),
            memory=self._shared_memory(),
            shared_from=told.SHARED_FROM,
            program=epoch.shipped,
            again={str(change): files for change, files in again.items()},
            keys={n: None if k is None else list(k) for n, k in self.keys.items()} if again else {},
            groups=self._groups if again else (),
        )
        self._tell(batch, known)

    def _shared_memory(self) -> str | None:
        """Where tasks hand rows over; what an earlier batch has left there is gone."""
        context = self.spark.sparkContext
        query = context.getLocalProperty(QUERY_ID)
        return emptied_folder(query) if query and is_one_process(context.master) else None

    def _output_rows(self, batch: int, computed: pa.Table) -> list[OutputRows]:
        found: list[OutputRows] = []
        self._reports = []
        for row in computed.to_pylist():
            if row["kind"] == PROGRESS:
                self._reports.append(GroupReport.of(row["payload"]))
            else:
                found += output_rows(row["g"], row["name"], row["kind"], row["payload"])
        return found

    def _finish(self, batch: int) -> None:
        self._shared_memory()
        self._on_time_from = on_time_in(self._reports)
        self.report(report_of(batch, self._reports))
        assert self.catch_up is not None
        self.catch_up.end(batch, self._running)


def tasks_of(spark: SparkSession, streams: int, early: Preaggregation) -> int:
    """Tasks for one of so many streams, which are read side by side: one per core in all.

    What tasks do for many queries takes longer than reading. So where there are such, every core
    takes a part of the stream, whatever the others bring: one stream may have all the rows.
    """
    cores = spark.sparkContext.defaultParallelism
    served = len(early.aggregates) + len(early.queries)
    return cores if served >= _MANY_QUERIES else -(-cores // streams)
