"""Pipeline: the queries that share their streams and partitioning, as one Spark streaming query.

    sources ─► exchange ─┐
    pulse ───────────────┴─ union ─► one kernel graph per group ─► deliver

Spark owns offsets, scheduling, state and recovery; what is ours is in the functions it calls.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import polars as pl
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.kernel.state import from_ipc
from penstock.spark.checkpoint import Checkpoint
from penstock.spark.group_host import Program
from penstock.spark.groups import group_keys
from penstock.spark.partitioning import Keys
from penstock.spark.processor import OUTPUT_DDL, PROGRESS, GroupProcessor
from penstock.spark.pulse import Pulse
from penstock.spark.sources import exchange


@dataclass(frozen=True)
class Delivery:
    """What one micro-batch put out: (name, rows) by kind, and each group's progress."""

    batch: int
    lines: Sequence[tuple[int, str, str, pl.DataFrame]]  # (group, name, kind, rows)
    progress: Sequence[dict[str, Any]]


class Pipeline:
    """One Spark streaming query, not started yet."""

    def __init__(
        self,
        spark: SparkSession,
        program: Program,
        keys: Mapping[str, Keys],
        frames: Mapping[str, DataFrame],
        checkpoint: Checkpoint,
        deliver: Callable[[Delivery], None],
    ) -> None:
        self.program = program
        self._spark = spark
        self._deliver = deliver
        self._checkpoint = checkpoint
        partitions = int(str(spark.conf.get("spark.sql.shuffle.partitions")))
        self.groups = checkpoint.groups(group_keys(partitions, partitions))
        self.pulse = Pulse(checkpoint.pulse)
        self._lines = self._exchanged(keys, frames)
        self.query: StreamingQuery | None = None

    def _exchanged(self, keys: Mapping[str, Keys], frames: Mapping[str, DataFrame]) -> DataFrame:
        legs = [
            exchange(frames[stream.name], stream, number, keys[stream.name], self.groups)
            for number, stream in enumerate(self.program.streams)
        ]
        return reduce(DataFrame.union, legs, self.pulse.lines(self._spark, self.groups))

    def start(self, *, interval: str = "0 seconds") -> StreamingQuery:
        answers = self._lines.groupBy("g").transformWithStateInPandas(
            GroupProcessor(self.program), OUTPUT_DDL, "append", "none"
        )
        self.query = (
            answers.writeStream.foreachBatch(self._hand_out)
            .option("checkpointLocation", str(self._checkpoint.spark))
            .trigger(processingTime=interval)
            .start()
        )
        return self.query

    def _hand_out(self, frame: DataFrame, batch: int) -> None:
        lines, progress = [], []
        for line in frame.toArrow().to_pylist():
            if line["kind"] == PROGRESS:
                progress.append(json.loads(line["payload"]))
            else:
                rows = from_ipc(line["payload"])
                lines.append((line["g"], line["name"], line["kind"], rows))
        self._deliver(Delivery(batch, lines, progress))
