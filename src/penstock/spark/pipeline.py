"""Pipeline: the queries that share their streams and partitioning, as one Spark streaming query.

    sources ─► exchange ─┐
    pulse ───────────────┴─ union ─► one kernel graph per group ─► deliver

Spark owns offsets, scheduling, state and recovery; what is ours is in the functions it calls.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.kernel.state import from_ipc
from penstock.optimizer.physical import Program
from penstock.spark.control.control_stream import END_OF_RUN, ControlStream
from penstock.spark.delivery.delivery import (
    PROGRESS,
    BatchReport,
    Delivery,
    releases_of,
    tallies_of,
)
from penstock.spark.delivery.operator_figures import operators_of
from penstock.spark.faults import reach
from penstock.spark.placement.groups import group_keys
from penstock.spark.placement.partitioning import PartitionKeys
from penstock.spark.processor import OUTPUT_DDL, GroupProcessor
from penstock.spark.session import changed
from penstock.spark.sources.sources import exchange
from penstock.spark.state.checkpoint import Checkpoint

#: With this Spark gives streams that have one task each the same task, one after the other.
_TASKS_TOGETHER = "spark.sql.unionOutputPartitioning"


class Pipeline:
    """One Spark streaming query, not started yet."""

    def __init__(
        self,
        spark: SparkSession,
        program: Program,
        keys: Mapping[str, PartitionKeys],
        frames: Mapping[str, DataFrame],
        checkpoint: Checkpoint,
        deliver: Callable[[Delivery], None],
        report: Callable[[BatchReport], None],
    ) -> None:
        self.program = program
        self._spark = spark
        self._deliver = deliver
        self._report = report
        self._checkpoint = checkpoint
        partitions = int(str(spark.conf.get("spark.sql.shuffle.partitions")))
        self.groups = checkpoint.groups(group_keys(partitions, partitions))
        self.pulse = ControlStream(checkpoint.pulse)
        self._lines = self._exchanged(keys, frames)
        self.query: StreamingQuery | None = None

    def _exchanged(
        self, keys: Mapping[str, PartitionKeys], frames: Mapping[str, DataFrame]
    ) -> DataFrame:
        streams = self.program.streams
        # All streams are read side by side: a task per core is enough for all of them together.
        tasks = -(-self._spark.sparkContext.defaultParallelism // len(streams))
        legs = [
            exchange(frames[stream.name], stream, number, keys[stream.name], self.groups, tasks)
            for number, stream in enumerate(streams)
        ]
        return reduce(DataFrame.union, legs, self.pulse.lines(self._spark, self.groups))

    def start(self, *, interval: str = "0 seconds") -> StreamingQuery:
        answers = self._lines.groupBy("g").transformWithStateInPandas(
            GroupProcessor(self.program), OUTPUT_DDL, "append", "none"
        )
        with changed(self._spark, {_TASKS_TOGETHER: "false"}):
            self.query = (
                answers.writeStream.foreachBatch(self._hand_out)
                .option("checkpointLocation", str(self._checkpoint.spark))
                .trigger(processingTime=interval)
                .start()
            )
        return self.query

    def end_run(self) -> None:
        """Have the next batch answer whatever waits."""
        self.pulse.send({END_OF_RUN: 1})

    def refresh(self) -> None:
        """Nothing to do: a batch brings its report along."""

    def _hand_out(self, frame: DataFrame, batch: int) -> None:
        reach("deliver.begin")
        lines, progress = [], []
        computed = frame.toArrow()
        reach("deliver.computed")
        for line in computed.to_pylist():
            if line["kind"] == PROGRESS:
                progress.append(json.loads(line["payload"]))
            else:
                rows = from_ipc(line["payload"])
                lines.append((line["g"], line["name"], line["kind"], rows))
        self._deliver(Delivery(batch, lines))
        reach("deliver.over")
        read = progress[0]["rows"] if progress else {}
        self._report(
            BatchReport(
                batch,
                read,
                progress[0]["bounds"] if progress else {},
                progress[0]["newest"] if progress else {},
                {name for group in progress for name in group["awaited"]},
                releases_of(group["releases"] for group in progress),
                tallies_of([group["tallies"] for group in progress], read),
                operators=operators_of(group["operators"] for group in progress),
                changed=[group["changed"] for group in progress if group["changed"]],
                own=progress[0]["own"] if progress else {},
            )
        )
        reach("batch.over")
