"""NativePipeline: one query as a Spark streaming query of Spark's own operators.

    sources ─┬─ watermark ─► select, project, aggregate ─► deliver
    pulse ───┘

Files that we can read ourselves come folded: what is below the aggregate is done then (`folding`).

It has the face of `Pipeline`. What Spark says of a batch comes after the batch, so reports are
taken from Spark's own as they appear, each once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import polars as pl
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from penstock.kernel.types import polars_type
from penstock.model.releases import Releases
from penstock.model.streams import Stream
from penstock.model.timestamps import BEGINNING, to_ticks
from penstock.plan.releasing import next_window
from penstock.spark.checkpoint import Checkpoint
from penstock.spark.delivery import Delivery, Report
from penstock.spark.faults import reach
from penstock.spark.group_host import Program
from penstock.spark.native import sliding
from penstock.spark.native.folding import folded, source_of
from penstock.spark.native.lowering import aggregate_of, aggregated_rows, lowered
from penstock.spark.native.promises import promising
from penstock.spark.processor import LATE, MALFORMED, RESULT
from penstock.spark.pulse import Pulse
from penstock.spark.session import changed

#: Without batches for the watermark's sake the last windows would wait for the next row.
_EXTRA_BATCHES = "spark.sql.streaming.noDataMicroBatches.enabled"


class NativePipeline:
    """One Spark streaming query for one query of ours, not started yet."""

    def __init__(
        self,
        spark: SparkSession,
        program: Program,
        frames: Mapping[str, DataFrame],
        checkpoint: Checkpoint,
        deliver: Callable[[Delivery], None],
        report: Callable[[Report], None],
    ) -> None:
        ((self._name, self._plan),) = program.queries.items()
        self._spark = spark
        self._streams = program.streams
        self._checkpoint = checkpoint
        self._deliver = deliver
        self._report = report
        self._reported = -1
        self._promised: dict[str, int] = {}  # by each stream
        self.pulse = Pulse(checkpoint.pulse)
        self._answers = lowered(self._plan, self._aggregated(frames))
        self.query: StreamingQuery | None = None

    def _aggregated(self, frames: Mapping[str, DataFrame]) -> DataFrame:
        """The aggregate over files folded as they are read; else over rows that Spark reads."""
        node = aggregate_of(self._plan)
        source = source_of(node)
        if source is not None:
            lines = folded(self._spark, node, source)
            return sliding.of_lines(node, self._promising(lines, source, sliding.TIME))
        streams = {
            stream.name: self._promising(
                _observed(frames[stream.name], stream), stream, str(stream.timestamp)
            )
            for stream in self._streams
        }
        return aggregated_rows(node, streams)

    def _promising(self, frame: DataFrame, stream: Stream, on: str) -> DataFrame:
        assert stream.slack is not None
        return promising(frame, self.pulse.bounds(self._spark, stream.name), on, stream.slack)

    def start(self, *, interval: str = "0 seconds") -> StreamingQuery:
        with changed(self._spark, {_EXTRA_BATCHES: "true"}):
            self.query = (
                self._answers.writeStream.foreachBatch(self._hand_out)
                .outputMode("append")
                .option("checkpointLocation", str(self._checkpoint.spark))
                .trigger(processingTime=interval)
                .start()
            )
        return self.query

    def refresh(self) -> None:
        """Pass on every report of Spark's that is new."""
        latest = self.query.lastProgress if self.query else None
        if self.query is None or latest is None or latest["batchId"] <= self._reported:
            return
        for progress in self.query.recentProgress:
            self._pass_on(progress)

    def _hand_out(self, frame: DataFrame, batch: int) -> None:
        reach("deliver.begin")
        rows = pl.from_arrow(frame.toArrow())
        assert isinstance(rows, pl.DataFrame)
        reach("deliver.computed")
        if rows.height:
            typed = rows.select(pl.col(c.name).cast(polars_type(c.type)) for c in self._plan.schema)
            self._deliver(Delivery(batch, [(0, self._name, RESULT, typed)]))
        reach("deliver.over")
        latest = self.query.lastProgress if self.query else None
        if latest is not None:
            self._pass_on(latest)
        reach("batch.over")

    def _pass_on(self, progress: Mapping[str, Any]) -> None:
        batch = int(progress["batchId"])
        if batch <= self._reported:
            return
        self._reported = batch
        observed = progress.get("observedMetrics", {})
        state = progress["stateOperators"]  # panes and windows, where windows slide
        aside = {
            (name, MALFORMED): int(counts["timeless"])
            for name, counts in observed.items()
            if counts["timeless"]
        }
        late = sum(int(part["numRowsDroppedByWatermark"]) for part in state)
        if late:
            aside[self._streams[0].name, LATE] = late
        kept = sum(int(part["numRowsTotal"]) for part in state)
        newest = {name: c["newest"] for name, c in observed.items() if c["newest"] is not None}
        bounds = self._bounds(newest, _bound(progress.get("eventTime", {}).get("watermark")))
        self._report(
            Report(
                batch,
                {name: int(counts["rows"]) for name, counts in observed.items()},
                bounds,
                kept,
                sum(int(part["memoryUsedBytes"]) for part in state),
                newest,
                observed.keys() if kept else (),
                {self._name: next_window(self._plan, bounds) if kept else Releases()},
                aside,
            )
        )

    def _bounds(self, newest: Mapping[str, int], watermark: int) -> dict[str, int]:
        """What each stream has promised: by its rows, and no less than Spark's watermark of all."""
        for stream in self._streams:
            said = self._promised.get(stream.name, BEGINNING)
            assert stream.slack is not None
            by_rows = newest.get(stream.name, BEGINNING) - stream.slack
            self._promised[stream.name] = max(said, watermark, by_rows, BEGINNING)
        return dict(self._promised)


def _observed(frame: DataFrame, stream: Stream) -> DataFrame:
    """The stream, with its rows counted on their way."""
    on = F.col(f"`{stream.timestamp}`")
    return frame.observe(
        stream.name,
        F.count(F.lit(1)).alias("rows"),
        F.count_if(on.isNull()).alias("timeless"),
        F.unix_micros(F.max(on)).alias("newest"),
    )


def _bound(watermark: str | None) -> int:
    if watermark is None or watermark.startswith("1970-01-01T00:00:00.000"):
        return BEGINNING
    return to_ticks(datetime.fromisoformat(watermark.replace("Z", "")))
