"""NativePipeline: one query as a Spark streaming query of Spark's own operators.

    sources ─┬─ watermark ─► select, project, aggregate ─► deliver
    pulse ───┘

Files that we can read ourselves come folded: what is below the aggregate is done then (`folding`).

It has the face of `Pipeline`. What Spark says of a batch comes after the batch, so reports are
taken from Spark's own as they appear, each once; what tasks say comes through `books`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Lock
from typing import Any

import polars as pl
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from penstock.errors import PenstockBug
from penstock.kernel.rejected import Reason
from penstock.kernel.types import polars_type
from penstock.model.releases import Releases
from penstock.model.streams import Stream
from penstock.model.timestamps import BEGINNING, MILLISECOND
from penstock.optimizer.closing import closing_bounds
from penstock.optimizer.options import Options
from penstock.optimizer.physical import Program
from penstock.plan.releasing import next_window
from penstock.runtime.counts import Tally
from penstock.runtime.status import OperatorStatus
from penstock.spark.control.control_stream import END_OF_RUN, ControlStream
from penstock.spark.control.spark_progress import reports_behind
from penstock.spark.delivery.delivery import RESULT, BatchReport, Delivery
from penstock.spark.faults import reach
from penstock.spark.native import sliding
from penstock.spark.native.books import Books, Standing, lateness_after, standing_after
from penstock.spark.native.folding import folded, source_of
from penstock.spark.native.lowering import aggregate_of, aggregated_rows, lowered
from penstock.spark.native.physical import figures
from penstock.spark.native.promises import promising
from penstock.spark.native.times import SHIFT, bound_of, watched
from penstock.spark.session import changed
from penstock.spark.state.checkpoint import Checkpoint
from penstock.spark.state.spark_files import damaged, last_finished, watermark

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
        report: Callable[[BatchReport], None],
    ) -> None:
        ((self._name, self._plan),) = program.queries.items()
        self._physical = program.plans[self._name]
        self._spark = spark
        self._streams = program.streams
        self._checkpoint = checkpoint
        self._deliver = deliver
        self._report = report
        self._reported = checkpoint.finished
        self._reporting = Lock()  # whoever looks reports, whichever thread that is
        self._promised: dict[str, int] = {}  # by each stream
        self._books: Books | None = None  # of the stream that is folded
        self._noted: dict[int, tuple[Tally, Standing]] = {}  # by batch, until it is told
        _prepare(_books(checkpoint), checkpoint)
        self._newest: dict[str, int] = {}
        self.pulse = ControlStream(checkpoint.pulse)
        self._closed = self.pulse.closed()
        self._answers = lowered(self._plan, self._aggregated(frames))
        self.query: StreamingQuery | None = None

    def _aggregated(self, frames: Mapping[str, DataFrame]) -> DataFrame:
        """The aggregate over files folded as they are read; else over rows that Spark reads."""
        node = aggregate_of(self._plan)
        source = source_of(node)
        if source is not None:
            self._books = Books(str(_books(self._checkpoint)))
            promises = self.pulse.bounds(self._spark, source.name)
            lines = folded(self._spark, node, source, promises, self._books)
            return sliding.of_lines(node, lines)
        streams = {
            stream.name: self._promising(_observed(frames[stream.name], stream), stream)
            for stream in self._streams
        }
        return aggregated_rows(node, streams)

    def _promising(self, frame: DataFrame, stream: Stream) -> DataFrame:
        assert stream.slack is not None and stream.timestamp is not None
        promises = self.pulse.bounds(self._spark, stream.name)
        return promising(frame, promises, stream.timestamp, stream.slack)

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

    def end_run(self) -> None:
        """Promise so much that all windows with rows close: Spark's watermark never goes back."""
        self.refresh()
        newest, promised = self._reached()
        on = {stream.name: str(stream.timestamp) for stream in self._streams}
        times, before = ({(n, on[n]): v for n, v in each.items()} for each in (newest, promised))
        bounds = closing_bounds([self._plan], times, before, Options())
        # Its times are milliseconds.
        whole = {name: -(-b // MILLISECOND) * MILLISECOND for (name, _), b in bounds.items()}
        self.pulse.send({**whole, END_OF_RUN: 1})

    def _reached(self) -> tuple[dict[str, int], dict[str, int]]:
        """The newest time of each stream, and what it has promised, earlier runs included."""
        if self._books is not None:
            [name] = (stream.name for stream in self._streams)
            standing = self._books.before(last_finished(self._checkpoint.spark) + 1)
            return {name: standing.newest}, {name: standing.bound}
        # What an earlier run has read is known by what Spark has made of it.
        known = watermark(self._checkpoint.spark)
        bound = BEGINNING if known is None else known * MILLISECOND - SHIFT
        newest = {
            s.name: max(
                self._newest.get(s.name, BEGINNING),
                BEGINNING if known is None else bound + (s.slack or 0) + MILLISECOND,
            )
            for s in self._streams
        }
        return newest, dict.fromkeys(newest, bound)

    def refresh(self) -> None:
        """Pass on every report of Spark's that is new, each once and in order."""
        query = self.query
        with self._reporting:
            latest = query.lastProgress if query else None
            if query is None or latest is None:
                return
            for progress in reports_behind(self._reported, latest, lambda: query.recentProgress):
                self._reported = int(progress["batchId"])
                self._pass_on(progress)

    def _hand_out(self, frame: DataFrame, batch: int) -> None:
        reach("deliver.begin")
        before = self._books.open(batch) if self._books is not None else Standing()
        rows = pl.from_arrow(frame.toArrow())
        assert isinstance(rows, pl.DataFrame)
        reach("deliver.computed")
        lines = []
        if rows.height:
            typed = rows.select(pl.col(c.name).cast(polars_type(c.type)) for c in self._plan.schema)
            lines.append((0, self._name, RESULT, typed))
        if self._books is None:
            self._deliver(Delivery(batch, lines))
            reach("deliver.over")
        else:
            (stream,), note = self._streams, self._books.noted(batch)
            tally = Tally(note.rows, lateness=lateness_after(before, note, stream))
            for kind, parts in note.aside.items():
                lines += self._aside(stream, kind, pl.concat(parts), before)
            for _, _, why, rejected in lines:
                if why != RESULT:
                    tally.reject(Reason(why), rejected)
            self._deliver(Delivery(batch, lines))
            reach("deliver.over")
            after = standing_after(before, note, stream)
            self._books.close(batch, after)
            self._noted[batch] = (tally, after)
        self.refresh()
        reach("batch.over")

    def _aside(
        self, stream: Stream, kind: str, rows: pl.DataFrame, before: Standing
    ) -> list[tuple[int, str, str, pl.DataFrame]]:
        """Rows that did not go in; late ones apart that are so only since a run has ended."""
        closed = self._closed.get(stream.name, BEGINNING)
        if kind != Reason.LATE or closed <= BEGINNING or stream.slack is None:
            return [(0, stream.name, kind, rows)]
        own = before.newest - stream.slack
        is_closed = rows.get_column(str(stream.timestamp)).is_between(own, closed, closed="left")
        parts = {Reason.LATE: rows.filter(~is_closed), Reason.CLOSED: rows.filter(is_closed)}
        return [(0, stream.name, why.value, part) for why, part in parts.items() if part.height]

    def _pass_on(self, progress: Mapping[str, Any]) -> None:
        batch = int(progress["batchId"])
        state = progress["stateOperators"]  # panes and windows, where windows slide
        kept = sum(int(part["numRowsTotal"]) for part in state)
        size = sum(int(part["memoryUsedBytes"]) for part in state)
        dropped = sum(int(part["numRowsDroppedByWatermark"]) for part in state)
        operators = tuple(
            OperatorStatus(name, (self._name,), 0, 0, *state)
            for name, state in figures(self._physical, kept, size).items()
        )
        names = [stream.name for stream in self._streams]
        awaited = names if kept else ()
        if self._books is not None:
            if dropped:
                raise PenstockBug(f"Spark has dropped {dropped} lines of `{names[0]}` as late")
            noted = self._noted.pop(batch, None)
            if noted is None:
                return  # it was not handed out by this run
            tally, after = noted
            rows, newest = {names[0]: tally.read}, {names[0]: after.newest}
            bounds = {names[0]: after.bound}
            releases = {self._name: next_window(self._plan, bounds) if kept else Releases()}
            facts = (rows, bounds, newest, awaited, releases, {names[0]: tally})
            self._report(BatchReport(batch, *facts, operators=operators))
            return
        observed = progress.get("observedMetrics", {})
        bound = bound_of(progress.get("eventTime", {}).get("watermark"))
        tallies = {
            name: Tally(int(counts["rows"]), malformed=int(counts["timeless"]))
            for name, counts in observed.items()
        }
        if dropped:
            # Spark tells how many, not which: those below where a run has ended, until rows of
            # this one have come as far.
            is_closed = bound <= self._closed.get(names[0], BEGINNING)
            tally = tallies.setdefault(names[0], Tally())
            tally.late, tally.closed = (0, dropped) if is_closed else (dropped, 0)
        said = {name: c["newest"] for name, c in observed.items() if c["newest"] is not None}
        for name, time in said.items():
            self._newest[name] = max(self._newest.get(name, BEGINNING), time)
        bounds = self._bounds(said, bound)
        self._report(
            BatchReport(
                batch,
                {name: tally.read for name, tally in tallies.items()},
                bounds,
                said,
                awaited,
                {self._name: next_window(self._plan, bounds) if kept else Releases()},
                tallies,
                operators=operators,
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


def _books(checkpoint: Checkpoint) -> Path:
    return checkpoint.folder.resolve() / "books"  # workers may be elsewhere


def _prepare(books: Path, checkpoint: Checkpoint) -> None:
    """The folder of the books, which a checkpoint that is continued must have."""
    if not checkpoint.is_new and not books.exists():
        raise damaged(books, "is gone")
    books.mkdir(parents=True, exist_ok=True)


def _observed(frame: DataFrame, stream: Stream) -> DataFrame:
    """The stream, with its rows counted on their way."""
    on = F.col(f"`{stream.timestamp}`")
    return frame.observe(
        stream.name,
        F.count(F.lit(1)).alias("rows"),
        F.count_if(watched(on).isNull()).alias("timeless"),
        F.unix_micros(F.max(on)).alias("newest"),
    )
