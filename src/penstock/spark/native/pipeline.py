"""NativePipeline: one query as a Spark streaming query of Spark's own operators.

    sources ─┬─ watermark ─► select, project, aggregate ─► deliver
    control ─┘

Files that we can read ourselves come folded: what is below the aggregate is done then (`folding`).

It has the face of `Pipeline`. What Spark says of a batch comes after the batch, so reports are
taken from Spark's own as they appear, each once; what tasks say comes through `books`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import Any

import polars as pl
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from penstock.errors import PenstockBug
from penstock.io.storage.storage_path import StoragePath
from penstock.kernel.rejected import Reason
from penstock.kernel.types import polars_type
from penstock.model.releases import Releases
from penstock.model.streams import Stream
from penstock.model.timestamps import BEGINNING, MILLISECOND
from penstock.optimizer.closing import closing_bounds
from penstock.optimizer.options import Options
from penstock.plan.releasing import next_window
from penstock.runtime.counts import Tally
from penstock.spark.base_pipeline import BasePipeline
from penstock.spark.control.control_stream import END_OF_RUN
from penstock.spark.control.spark_progress import reports_behind
from penstock.spark.delivery.delivery import RESULT, BatchReport, OutputRows
from penstock.spark.native import sliding
from penstock.spark.native.books import Books, Note, Standing, lateness_after, standing_after
from penstock.spark.native.folding import folded, source_of
from penstock.spark.native.lowering import aggregate_of, aggregated_rows, lowered
from penstock.spark.native.physical import figures
from penstock.spark.native.times import SHIFT, bound_of, watched
from penstock.spark.native.watermark import punctuated
from penstock.spark.sources.direct_files import is_direct
from penstock.spark.sources.sources import read_stream
from penstock.spark.state.spark_files import damaged, last_finished, watermark

#: Without batches for the watermark's sake the last windows would wait for the next row.
_EXTRA_BATCHES = "spark.sql.streaming.noDataMicroBatches.enabled"


class NativePipeline(BasePipeline):
    """The pipeline of one query that Spark SQL computes."""

    def _settings(self) -> dict[str, str]:
        return {_EXTRA_BATCHES: "true"}

    def __post_init__(self) -> None:
        ((self._name, self._plan),) = self.program.queries.items()
        self._reported = self.checkpoint.finished
        self._reporting = Lock()  # whoever looks reports, whichever thread that is
        self._books: Books | None = None  # of the stream that is folded
        self._noted: dict[int, tuple[Tally, Standing]] = {}  # by batch, until it is told
        #: How far each stream is that Spark reads itself.
        self._standings = {stream.name: Standing() for stream in self.program.streams}
        super().__post_init__()
        self._closed = self.control.closed()

    def _computed(self) -> DataFrame:
        """The aggregate over files folded as they are read; else over rows that Spark reads."""
        node = aggregate_of(self._plan)
        # Tasks keep the books, which they cannot do in a store.
        place = self._place_of_books()
        source = source_of(node) if isinstance(place, Path) else None
        bounds = {s.name: self.control.bounds(self.spark, s.name) for s in self.program.streams}
        if source is not None:
            self._books = Books(str(place))
            lines = folded(self.spark, node, source, bounds[source.name], self._books)
            return lowered(self._plan, sliding.aggregated(node, lines, folded=True))
        streams = {
            s.name: punctuated(_counted(self._rows_of(s), s), bounds[s.name], s)
            for s in self.program.streams
        }
        return lowered(self._plan, aggregated_rows(node, streams))

    def _rows_of(self, stream: Stream) -> DataFrame:
        """The stream as Spark reads it, also where the exchange would read its files."""
        is_read = not is_direct(stream)
        return self.frames[stream.name] if is_read else read_stream(self.spark, stream)

    def _place_of_books(self) -> StoragePath:
        """The folder of the books, which a checkpoint that is continued must have."""
        books = self.checkpoint.folder.resolve() / "books"  # workers may be elsewhere
        if not self.checkpoint.is_new and not books.exists():
            raise damaged(books, "is gone")
        books.mkdir(parents=True, exist_ok=True)
        return books

    def _begin(self, batch: int) -> None:
        """Nothing to tell: tasks read the books."""

    def end_run(self) -> None:
        """Send such bounds that all windows with rows close: Spark's watermark never goes back."""
        self.refresh()
        newest, standing = self._reached()
        on = {stream.name: str(stream.timestamp) for stream in self.program.streams}
        times, before = ({(n, on[n]): v for n, v in each.items()} for each in (newest, standing))
        bounds = closing_bounds([self._plan], times, before, Options())
        # Its times are milliseconds.
        whole = {name: -(-b // MILLISECOND) * MILLISECOND for (name, _), b in bounds.items()}
        self.control.send({**whole, END_OF_RUN: 1})

    def _reached(self) -> tuple[dict[str, int], dict[str, int]]:
        """The newest time of each stream, and its bound, earlier runs included."""
        if self._books is not None:
            [name] = (stream.name for stream in self.program.streams)
            standing = self._books.before(last_finished(self.checkpoint.spark) + 1)
            return {name: standing.newest}, {name: standing.bound}
        # What an earlier run has read is known by what Spark has made of it.
        known = watermark(self.checkpoint.spark)
        bound = BEGINNING if known is None else known * MILLISECOND - SHIFT
        newest = {
            s.name: max(
                self._standings[s.name].newest,
                BEGINNING if known is None else bound + (s.slack or 0) + MILLISECOND,
            )
            for s in self.program.streams
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
        if self._books is not None:
            self._books.open(batch)
        super()._hand_out(frame, batch)

    def _output_rows(self, batch: int, computed: pa.Table) -> list[OutputRows]:
        rows = pl.from_arrow(computed)
        assert isinstance(rows, pl.DataFrame)
        lines: list[OutputRows] = []
        if rows.height:
            typed = rows.select(pl.col(c.name).cast(polars_type(c.type)) for c in self._plan.schema)
            lines.append((0, self._name, RESULT, typed))
        return lines if self._books is None else lines + self._rejected(batch, self._books)

    def _rejected(self, batch: int, books: Books) -> list[OutputRows]:
        """Rows that tasks of a batch have rejected; what they noted is counted."""
        (stream,), note, before = self.program.streams, books.noted(batch), books.before(batch)
        tally = Tally(note.rows, lateness=lateness_after(before, note, stream))
        lines = [
            line
            for reason, parts in note.aside.items()
            for line in self._aside(stream, reason, pl.concat(parts), before)
        ]
        for _, _, why, rejected in lines:
            tally.reject(Reason(why), rejected)
        self._noted[batch] = (tally, standing_after(before, note, stream))
        return lines

    def _finish(self, batch: int) -> None:
        if self._books is not None:
            self._books.close(batch, self._noted[batch][1])
        self.refresh()

    def _aside(
        self, stream: Stream, reason: Reason, rows: pl.DataFrame, before: Standing
    ) -> list[OutputRows]:
        """Rows that did not go in; late ones apart that are so only since a run has ended."""
        closed = self._closed.get(stream.name, BEGINNING)
        if reason is not Reason.LATE or closed <= BEGINNING or stream.slack is None:
            return [(0, stream.name, reason.value, rows)]
        own = before.newest - stream.slack
        is_closed = rows.get_column(str(stream.timestamp)).is_between(own, closed, closed="left")
        parts = {Reason.LATE: rows.filter(~is_closed), Reason.CLOSED: rows.filter(is_closed)}
        return [(0, stream.name, why.value, part) for why, part in parts.items() if part.height]

    def _pass_on(self, progress: Mapping[str, Any]) -> None:
        batch = int(progress["batchId"])
        kept, size, dropped = (
            sum(int(part[what]) for part in progress["stateOperators"])  # panes, and windows
            for what in ("numRowsTotal", "memoryUsedBytes", "numRowsDroppedByWatermark")
        )
        names = [stream.name for stream in self.program.streams]
        if self._books is None:
            tallies, standings = self._observed(progress, dropped)
        elif dropped:
            raise PenstockBug(f"Spark has dropped {dropped} lines of `{names[0]}` as late")
        elif batch in self._noted:
            tally, after = self._noted.pop(batch)
            tallies, standings = {names[0]: tally}, {names[0]: after}
        else:
            return  # it was not handed out by this run
        bounds = {name: standing.bound for name, standing in standings.items()}
        self.report(
            BatchReport(
                batch,
                {name: tally.read for name, tally in tallies.items()},
                bounds,
                {name: standing.newest for name, standing in standings.items()},
                names if kept else (),
                {self._name: next_window(self._plan, bounds) if kept else Releases()},
                tallies,
                operators=figures(self._name, self.program.plans[self._name], kept, size),
            )
        )

    def _observed(
        self, progress: Mapping[str, Any], dropped: int
    ) -> tuple[dict[str, Tally], dict[str, Standing]]:
        """What Spark tells of rows that it reads itself: counts, and how far streams are."""
        observed = progress.get("observedMetrics", {})
        bound = bound_of(progress.get("eventTime", {}).get("watermark"))
        tallies = {
            name: Tally(int(counts["rows"]), malformed=int(counts["timeless"]))
            for name, counts in observed.items()
        }
        if dropped:
            # Spark tells how many, not which: those below where a run has ended, until rows of
            # this one have come as far.
            first = self.program.streams[0].name
            is_closed = bound <= self._closed.get(first, BEGINNING)
            tally = tallies.setdefault(first, Tally())
            tally.late, tally.closed = (0, dropped) if is_closed else (dropped, 0)
        for stream in self.program.streams:
            newest = observed[stream.name]["newest"] if stream.name in observed else None
            # By its rows, and no less than Spark's watermark of all.
            told = Note(newest=BEGINNING if newest is None else newest, bound=bound)
            before = self._standings[stream.name]
            self._standings[stream.name] = standing_after(before, told, stream)
        return tallies, self._standings


def _counted(frame: DataFrame, stream: Stream) -> DataFrame:
    """The stream, with its rows counted on their way."""
    on = F.col(f"`{stream.timestamp}`")
    return frame.observe(
        stream.name,
        F.count(F.lit(1)).alias("rows"),
        F.count_if(watched(on).isNull()).alias("timeless"),
        F.unix_micros(F.max(on)).alias("newest"),
    )
