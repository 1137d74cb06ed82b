"""RunningPipeline: a pipeline that was started, with its checkpoint and where its answers go."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from datetime import datetime, timezone
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import polars as pl
from py4j.protocol import Py4JError
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from penstock.errors import HostError, NotExecutable
from penstock.io.late_rows import CLOSED, as_late_rows
from penstock.io.storage.places import would_read
from penstock.kernel.progress.generate import Generator
from penstock.model.punctuation import Where
from penstock.model.streams import Stream
from penstock.model.timestamps import BEGINNING, SECOND, to_ticks
from penstock.optimizer.optimize import optimize
from penstock.plan.graph import streams_of
from penstock.plan.nodes import Node, Ordered
from penstock.spark.control.attempts import Attempts
from penstock.spark.control.enabling import Enabling, EnablingTimer, pulse_is_first
from penstock.spark.control.spark_progress import BatchTimes, last_over, times_of
from penstock.spark.delivery.batch_sink import BatchSink
from penstock.spark.delivery.delivery import Delivery, Report
from penstock.spark.delivery.outputs import Outputs, late_rows, query_rows
from penstock.spark.delivery.stream_counts import StreamCounts
from penstock.spark.delivery.totals import Totals, query_counts, stream_counts
from penstock.spark.delivery.uncommitted import remove_uncommitted
from penstock.spark.failures import translated
from penstock.spark.faults import step
from penstock.spark.native.choice import LATE_INTO, MAY_NOT_FIT, NATIVE, choose
from penstock.spark.native.pipeline import NativePipeline
from penstock.spark.native.times import shown
from penstock.spark.pipeline import Pipeline
from penstock.spark.placement.pipeline_groups import PipelineGroup
from penstock.spark.processor import LATE, RESULT
from penstock.spark.processor import MALFORMED as MALFORMED_ROWS
from penstock.spark.sources.conforming import MALFORMED
from penstock.spark.sources.directories import place_of
from penstock.spark.state.checkpoint import Checkpoint
from penstock.spark.state.segment_cache import forget_shared, forget_stale
from penstock.sql.parse.statements import Sink

if TYPE_CHECKING:
    from penstock.spark.engine import Engine


#: Seconds to wait for a running batch before it is cut off; it is repeated at the next start.
PATIENCE = 60.0


class RunningPipeline:
    """One pipeline of an engine."""

    def __init__(self, engine: Engine, share: PipelineGroup) -> None:
        self.share = share
        self.wanted = set(share.queries)
        self.progress: dict[str, Any] = {}
        self.rows_read: Counter[str] = Counter()  # of each stream
        self._engine = engine
        # Held here: one may be dropped by another thread while a batch is delivered to it.
        self._queries = {name: engine.query(name) for name in share.queries}
        streams: dict[str, Stream] = {}
        for plan in share.queries.values():
            streams |= streams_of(plan)
        settings = engine.catalog.settings
        frames = {name: engine.frame_of(stream) for name, stream in streams.items()}
        aside = {
            name: MAY_NOT_FIT.format(name=name)
            for name, frame in frames.items()
            if MALFORMED in frame.columns
        } | {
            name: LATE_INTO.format(name=name)
            for name in streams
            if engine.declared_stream(name).late is not None
        }
        program = optimize(share.queries, settings.options)
        self.choice = choose(program.queries, settings, aside)
        options = replace(program.options, lowering=self.choice.lowering)
        self.program = replace(program, options=options)
        # Of streams that several pipelines read, the first of them hands in what is no row at all.
        self._first_of = streams.keys() - engine.streams_read()
        place = engine.checkpoint_of(share)
        check_is_not_read(place, streams.values())
        forget_stale()
        self._temporary = None if place else Path(tempfile.mkdtemp(prefix="penstock-"))
        self.checkpoint = Checkpoint(place or Path(str(self._temporary)), self.program)
        try:
            self._outputs: Outputs | None = None
            self._into = self._open_sinks()
            self.totals = Totals(place)
            for name in streams:
                self._counting(name).totals = self.totals
            with translated():
                self.pipeline = self._pipeline(frames)
        except BaseException:
            self._let_go()
            raise
        self.enabling = Enabling(streams, program.queries, settings.ets, settings.union)
        self._beat: EnablingTimer | None = None
        self._promising: dict[str, Generator] = {}  # by stream, what the program has promised
        self._own: dict[str, int] = {}  # by stream, what it has promised by itself
        self._last: tuple[dict[str, Any], Any] | None = None  # status and progress in the end

    def _pipeline(self, frames: Mapping[str, DataFrame]) -> Pipeline | NativePipeline:
        spark, hands = self._engine.session, (self.checkpoint, self._deliver, self._report)
        if self.choice.lowering == NATIVE:
            return NativePipeline(spark, self.program, frames, *hands)
        return Pipeline(spark, self.program, self.share.keys, frames, *hands)

    def start(self, interval: str) -> None:
        is_continued = not self.checkpoint.is_new
        if not is_continued:
            # Batches are numbered from 0 again: those of an earlier run would stand among them.
            for query in self._queries.values():
                query.forget()
            for stream in self.program.streams:
                self._counting(stream.name).forget()
        start = partial(self._start_query, interval)
        self._attempts = Attempts(", ".join(self.share.queries), start)
        try:
            with translated():
                self._attempts.begin()
        except BaseException:
            self._let_go()
            raise
        if not self.enabling.can_help:
            return
        pulse, pipeline = self.pipeline.pulse, self.pipeline
        self._beat = EnablingTimer(
            self.enabling, pulse, pipeline.refresh, self._over, self._engine.now
        )
        self._beat.start()
        if is_continued:
            pulse.send({})  # what has waited since the last run may leave

    @property
    def query(self) -> StreamingQuery:
        """Spark's query; another one if it had to be started again."""
        return self._attempts.query

    def process_available(self) -> None:
        """Wait until everything that is there now has been processed."""
        self._attempts.process_available()

    def await_termination(self, timeout: float | None = None) -> bool:
        """Wait until it has ended, so many seconds; gives whether it has."""
        return self._attempts.await_termination(timeout)

    def exception(self) -> StreamingQueryException | None:
        """What it has failed with for good."""
        return self._attempts.exception()

    def is_idle(self) -> bool:
        status = self.query.status
        waits = status["message"].startswith("Waiting")  # not starting, and not at work
        return waits and not status["isTriggerActive"] and not status["isDataAvailable"]

    @property
    def status(self) -> dict[str, Any]:
        """What Spark's query does; of one that was stopped, what it did last."""
        return dict(self.query.status) if self._last is None else self._last[0]

    @property
    def spark_progress(self) -> Any:
        """Spark's figures of the last micro-batch, if there was one."""
        latest = self.query.lastProgress if self._last is None else self._last[1]
        return shown(latest) if latest is not None and self.choice.lowering == NATIVE else latest

    def _start_query(self, interval: str) -> StreamingQuery:
        if not self.checkpoint.is_new:
            remove_uncommitted(self.checkpoint.spark)
        return self.pipeline.start(interval=interval)

    def check(self) -> None:
        """Raise what the pipeline failed with, if it did."""
        with translated():
            cause = self.exception()
            if cause is not None:
                raise cause
        if self._beat is not None:
            self._beat.check()

    def check_promise(self, stream: str, bound: int, where: Where) -> None:
        """Refuse a promise from outside that this pipeline cannot make."""
        if where and self.choice.lowering == NATIVE:
            queries = ", ".join(self.share.queries)
            raise NotExecutable(
                f"`{queries}` runs as Spark SQL alone, and Spark knows no promises about some rows "
                f"of `{stream}` only",
                hint="SET lowering = kernel, or make the promise about all rows",
            )
        deepcopy(self._outside(stream)).punctuate(bound, where)

    def promise(self, stream: str, bound: int, where: Where) -> None:
        """Make a promise from outside that was checked; the next batch hears of it."""
        if not self._outside(stream).punctuate(bound, where):
            return  # it says nothing new
        if where:
            self.pipeline.pulse.send_about(stream, bound, where)
        else:
            self.pipeline.pulse.send({stream: bound})
        times = self._over() if self._beat is None else None  # else the beat sees to it
        if times is not None:
            self.pipeline.pulse.forget(times.began / SECOND)

    def _outside(self, name: str) -> Generator:
        """What is known here of a stream's promises."""
        if name not in self._promising:
            stream = next(s for s in self.program.streams if s.name == name)
            self._promising[name] = Generator(stream)
        found = self._promising[name]
        found.state.own = max(found.state.own, self._own.get(name, BEGINNING))
        found.state.bound = max(found.state.bound, found.state.own)
        return found

    def drop(self, name: str) -> None:
        """Let go of one query's answers; the others go on."""
        self.wanted.discard(name)

    def ask_nobody(self) -> None:
        """No more promises for streams that are silent."""
        if self._beat is not None:
            self._beat.stop()

    def stop(self) -> Path | None:
        """Stop after the batch that is running; gives the checkpoint, if it is to be kept."""
        self.ask_nobody()
        self._attempts.settle()
        try:
            with translated():
                self._wait_for_batch()
                self.query.stop()
                self.pipeline.refresh()
                # The session may go next, and with it what Spark knows.
                self._last = (dict(self.query.status), self.query.lastProgress)
                forget_shared(str(self.query.id))
        finally:
            self._let_go()
        return self.checkpoint.folder if self._temporary is None else None

    def _wait_for_batch(self) -> None:
        """Until the batch that runs now is over; Spark would throw it away and repeat it."""
        latest = self.query.lastProgress
        before = last_over(latest) if latest else -1
        end = time.monotonic() + PATIENCE
        while (
            self.query.isActive and self.query.status["isTriggerActive"] and time.monotonic() < end
        ):
            latest = self.query.lastProgress
            if latest is not None and last_over(latest) > before:
                return
            time.sleep(0.02)

    @cached_property
    def _pulse_is_first(self) -> bool:
        """Whether Spark looks at the pulse before the streams; it keeps its sources in a map."""
        try:
            sources = self.query._jsq.streamingQuery().uniqueSources().keysIterator()
            found = []
            while sources.hasNext():
                found.append(sources.next().toString())
        except (Py4JError, AttributeError):
            return False  # another Spark; then promises are made more carefully
        return pulse_is_first(found, place_of(self.checkpoint.pulse.resolve().as_posix()))

    def _over(self) -> BatchTimes | None:
        """The last batch that is over, as Spark tells."""
        latest = self.query.lastProgress
        return None if latest is None else times_of(latest)

    def _open_sinks(self) -> dict[str, BatchSink]:
        """Where rows go, by whose they are; directories are held from now on."""
        found = {query_rows(name): (name, query.sink) for name, query in self._queries.items()}
        found |= {
            late_rows(stream.name): (stream.name, self._late_sink(stream.name))
            for stream in self.program.streams
        }
        sinks = {whose: (name, sink) for whose, (name, sink) in found.items() if sink is not None}
        outputs = Outputs(self.checkpoint, {whose: sink for whose, (_, sink) in sinks.items()})
        self._outputs = outputs
        return {
            whose: BatchSink(self._engine, name, sink, outputs.manifest(whose))
            for whose, (name, sink) in sinks.items()
        }

    def _late_sink(self, stream: str) -> Sink | None:
        """Where late rows go; a directory belongs to one pipeline, so others have one inside it."""
        sink = self._engine.declared_stream(stream).late
        if sink is None or sink.path is None or stream in self._first_of:
            return sink
        return replace(sink, path=str(Path(sink.path) / quote(next(iter(self.share.queries)))))

    def _counting(self, stream: str) -> StreamCounts:
        return self._engine.counting(stream, ", ".join(self.share.queries))

    def _let_go(self) -> None:
        """Leave everything to others that it has held, and remove what was only its own."""
        self._release()
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)

    def _release(self) -> None:
        if self._outputs is not None:
            self._outputs.release()
        self.checkpoint.release()

    def _deliver(self, delivery: Delivery) -> None:
        self._attempts.settle()
        answers: dict[str, list[pl.DataFrame]] = {}
        aside: dict[tuple[str, str], list[pl.DataFrame]] = {}
        for _, name, kind, rows in sorted(delivery.lines, key=lambda line: line[0]):
            if kind == RESULT:
                answers.setdefault(name, []).append(rows)
            else:
                aside.setdefault((name, kind), []).append(rows)
        for name, parts in answers.items():
            if name in self.wanted:
                answer = _in_order(self.program.queries[name], pl.concat(parts))
                into = self._into.get(query_rows(name))
                for _ in step("deliver.query"):
                    self._queries[name].receive(delivery.batch, answer, into)
        for (stream, kind), parts in list(aside.items()):
            rows, counting = pl.concat(parts), self._counting(stream)
            if kind == MALFORMED_ROWS and stream not in self._first_of:
                counting.count(kind, delivery.batch, rows.height)
                del aside[stream, kind]
                continue
            if kind in (LATE, CLOSED) and self.program.options.late != "keep":
                counting.count(kind, delivery.batch, rows.height)
                del aside[stream, kind]
            else:
                counting.add(kind, delivery.batch, rows)
        self._deliver_late(delivery.batch, aside)

    def _report(self, report: Report) -> None:
        self.rows_read.update(report.rows)
        self._own.update(report.own or report.bounds)
        for stream, rows in report.rows.items():
            self._counting(stream).rows_by_batch[report.batch] = rows
        for stream, lateness in report.lateness.items():
            self._counting(stream).note_lateness(lateness)
        for (stream, kind), number in report.aside.items():
            self._counting(stream).count(kind, report.batch, number)
        self._note_totals(report.batch)
        if self._beat is not None:
            self.enabling.is_prompt = self._pulse_is_first
            self._beat.report(report)
        else:
            self.enabling.heard(report, self._engine.now())
        self.progress = {
            "batch": report.batch,
            "rows": dict(report.rows),
            "bounds": dict(report.bounds),
            "state_rows": report.state_rows,
            "state_bytes": report.state_bytes,
        }

    def _note_totals(self, batch: int) -> None:
        """Keep what was counted; before the batch is committed, so that it counts once."""
        names = [stream.name for stream in self.program.streams]
        counts = {stream_counts(name): self._counting(name).of_batch(batch) for name in names}
        for name in sorted(self.wanted):  # which another thread may change
            rows = self._queries[name].rows_of(batch)
            counts[query_counts(name)] = {"rows": rows}
        self.totals.note(batch, counts)

    def _deliver_late(
        self, batch: int, aside: Mapping[tuple[str, str], Sequence[pl.DataFrame]]
    ) -> None:
        """Write rows that were set aside to their streams' sinks."""
        now = to_ticks(datetime.now(timezone.utc))
        for stream in self.program.streams:
            sink = self._into.get(late_rows(stream.name))
            found = [
                as_late_rows(stream, kind, rows, now)
                for (name, kind), parts in sorted(aside.items(), key=lambda item: item[0])
                for rows in parts
                if name == stream.name
            ]
            if sink is not None and found:
                for _ in step("deliver.late"):
                    sink.write(batch, pl.concat(found))


def check_is_not_read(checkpoint: Path | None, streams: Iterable[Stream]) -> None:
    """Refuse a checkpoint whose files would be read as rows."""
    for stream in streams:
        source = stream.origin.path
        is_path = source is not None and stream.origin.format != "workload"
        if checkpoint is not None and is_path and would_read(str(source), str(checkpoint)):
            raise HostError(
                f"stream `{stream.name}` reads what lies in `{checkpoint}`, where the checkpoint "
                "would be kept",
                hint=f"name a checkpoint that is not in `{source}`",
            )


def _in_order(plan: Node, rows: pl.DataFrame) -> pl.DataFrame:
    """What all groups have put out up to one bound, as one answer."""
    return rows.sort(plan.on, maintain_order=True) if isinstance(plan, Ordered) else rows
