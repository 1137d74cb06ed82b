"""RunningPipeline: a pipeline that was started, with its checkpoint and where its answers go."""

from __future__ import annotations

import logging
import shutil
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from penstock.errors import HostError
from penstock.io.results import SINK_FORMATS
from penstock.io.storage.scratch import scratch
from penstock.io.storage.storage_path import StoragePath
from penstock.model.punctuation import Where
from penstock.model.timestamps import SECOND
from penstock.optimizer.options import Options
from penstock.optimizer.physical import Program
from penstock.optimizer.statistics import Statistics
from penstock.plan.nodes import Node
from penstock.runtime.ended_attempts import EndedAttempts
from penstock.runtime.migrations import Migrations
from penstock.runtime.status import BatchStatus
from penstock.spark.adapting import adapt
from penstock.spark.base_pipeline import BasePipeline
from penstock.spark.catching_up.slices import SliceSize
from penstock.spark.changing import join
from penstock.spark.control.attempts import Attempts
from penstock.spark.control.batch_turns import PATIENCE, BatchTurns
from penstock.spark.control.control_stream import is_read_first
from penstock.spark.control.driver_enabling import DriverEnabling
from penstock.spark.control.enabling_timer import EnablingTimer
from penstock.spark.control.punctuating import Punctuating
from penstock.spark.control.spark_progress import BatchTimes, has_run, last_over, times_of
from penstock.spark.delivery.batch_delivery import BatchDelivery
from penstock.spark.delivery.delivery import BatchReport, OutputRows
from penstock.spark.delivery.operator_figures import OperatorFigures
from penstock.spark.delivery.outputs import query_rows
from penstock.spark.executors import check_executors, forget_on_executors, standing
from penstock.spark.failures import translated
from penstock.spark.housekeeping import Housekeeping
from penstock.spark.measured import Measured
from penstock.spark.pipeline import Pipeline
from penstock.spark.placement.pipeline_groups import PipelineGroup, why_apart
from penstock.spark.rows.pipeline import RowPipeline
from penstock.spark.running_queries import ends
from penstock.spark.shared_memory import forget_shared, forget_stale
from penstock.spark.sources.checkpoint_place import check_is_not_read
from penstock.spark.sources.directories import as_it_stands
from penstock.spark.sources.file_sizes import is_read_at_once, places_of
from penstock.spark.state.checkpoint import Checkpoint

if TYPE_CHECKING:
    from penstock.spark.engine import Engine

_LOG = logging.getLogger("penstock")


class RunningPipeline:
    """One pipeline of an engine; `read` are the streams that others read."""

    def __init__(
        self,
        engine: Engine,
        group: PipelineGroup,
        read: Collection[str] = (),
        *,
        accept_changes: bool = False,
    ) -> None:
        self.group = group
        self.rows_read: Counter[str] = Counter()  # of each stream
        self.operators = OperatorFigures()
        self._ended_attempts = EndedAttempts()
        self.migrations = Migrations()
        #: Plans that groups have chosen anew, as JSON.
        self.changed: Sequence[Mapping[str, Any]] = ()
        #: Of queries that came while it ran: from when on, and what they see.
        self.came: dict[str, str] = {}
        #: Of queries that change: with which batch, in words too, until that is in the log.
        self.coming: dict[str, tuple[int, str]] = {}
        self.from_start: set[str] = set()  # those of them that see everything
        self._reported: BatchReport | None = None  # of the last batch
        self._engine = engine
        program = group.program(engine.catalog.streams)
        streams = {stream.name: stream for stream in program.streams}
        frames = {name: engine._frame_of(stream) for name, stream in streams.items()}
        first_of = frozenset(streams.keys()).difference(read)
        place = engine._planning.checkpoint_of(group)
        check_is_not_read(place, streams.values())
        forget_stale()
        self._place = place
        self.measured = Measured(place)
        with ExitStack() as held:
            folder: StoragePath = place or Path(tempfile.mkdtemp(dir=scratch()))
            if place is None:
                held.callback(shutil.rmtree, str(folder), ignore_errors=True)
            self.form = group.form(program)
            self.checkpoint = Checkpoint(
                folder,
                program,
                self.form.step,
                group.keys,
                accept_changes=accept_changes,
            )
            self._first_program = program = self.checkpoint.going_on(program)
            self.batches = BatchTurns(self.checkpoint.finished)
            held.callback(self.checkpoint.release)
            self.delivery = BatchDelivery(engine, program, self.checkpoint, place, first_of)
            held.callback(self.delivery.release)
            with translated():
                spooled = filter(None, map(engine._brought.folder, streams))
                sinks = (engine._queries[name].sink for name in group.queries)
                files = [str(each.path) for each in sinks if each and each.format in SINK_FORMATS]
                check_executors(
                    engine.session.sparkContext,
                    written=[folder, *standing(files)],
                    read=[*places_of(streams.values()), *spooled],
                )
            self.checkpoint.confirm(program, self.delivery.noted())
            with translated():
                self.pipeline = self._pipeline(program, frames)
            #: Leaves everything to others that it has held, and removes what was only its own.
            self.let_go = held.pop_all().close
        ets = engine.catalog.settings.ets
        self.enabling = DriverEnabling(streams, program.live.queries, ets, program.merging)
        self._timer: EnablingTimer | None = None
        self._has_ended = False  # it was told to answer whatever waits
        self._adapts = True  # until it is told to end or to stop
        self._has_news = False  # of joins, since somebody looked
        self._punctuating = Punctuating(streams.values(), self.pipeline.control)
        spools = {name: engine._brought.folder(name) for name in streams}
        self._housekeeping = Housekeeping(
            self.checkpoint.spark,
            self.pipeline.control,
            {name: folder for name, folder in spools.items() if folder is not None},
            streams.values(),
        )
        #: Spark's status and progress, and what it failed with, in the end.
        self._last: tuple[dict[str, Any], Any, HostError | None] | None = None

    @property
    def program(self) -> Program:
        """What it runs, from the next batch on at the latest."""
        epochs = self.pipeline.epochs
        return self._first_program if epochs is None else epochs.program

    @property
    def known(self) -> Statistics:
        """What is known of streams, when operators are chosen."""
        return self._engine._with_shapes()

    def _pipeline(self, program: Program, frames: Mapping[str, DataFrame]) -> BasePipeline:
        kind = Pipeline if self.form.has_groups else RowPipeline
        spark, keys = self._engine.session, self.group.keys
        hands = (self._deliver, self._report, self._sinks)
        groups = 1 if self.group.is_small else None
        has_stores = self.delivery.has_stores
        return kind(
            spark,
            program,
            keys,
            frames,
            self.checkpoint,
            *hands,
            groups=groups,
            has_stores=has_stores,
            join=lambda changes: join(self, changes),
            adapt=self._adapt,
        )

    def start(
        self, interval: str, may_begin: threading.Event | None = None, *, to_end: bool = False
    ) -> None:
        """Start Spark's query; its batches wait until they may begin."""
        self.pipeline.may_begin = may_begin
        is_continued = not self.checkpoint.is_new
        catch_up = self.pipeline.catch_up
        if catch_up is not None:
            catch_up.size = SliceSize(interval)
        if self.program.catching_up:
            self.pipeline.control.send({})  # which all groups get, with what they read again
        if not is_continued:
            self.delivery.begin_anew()
        if to_end and self._can_end_at_once():
            self.end_run()  # read in the batch that reads everything
        start = partial(self.pipeline.start, interval=interval)
        self._attempts = Attempts(", ".join(self.group.queries), start)
        try:
            with translated():
                self._attempts.begin()
        except BaseException:
            self.let_go()
            raise
        if self.pipeline.unreadable is not None:
            self.pipeline.unreadable.start()
        # Only now: other threads look at the pipelines of queries.
        for name in self.group.queries:
            self._engine.query(name).pipeline = self
        if self._has_ended or not self.enabling.can_help:
            return
        control = self.pipeline.control
        self._timer = EnablingTimer(self.enabling, control, self._over, self._engine.now)
        self._timer.start()
        if is_continued:
            control.send({})  # what has waited since the last run may leave

    def _can_end_at_once(self) -> bool:
        """Whether the first batch may end the run.

        Not where the checkpoint is kept: a run that is killed before that batch would leave the end
        behind for the next one, which may be meant to go on.
        """
        at_once = all(map(is_read_at_once, self.program.streams))
        return self._place is None and at_once

    # -- queries that come and go -------------------------------------------------------------

    def why_apart(self, plan: Node, options: Options) -> str:
        """Why a query cannot join those that run here; empty: it can."""
        if self.group.is_small or self._has_ended or not self.is_active:
            return "that pipeline takes in nothing new"
        here, has_groups = self.program.options, self.form.has_groups
        computed = {stream.name: stream.computed for stream in self.program.streams}
        return why_apart(plan, options, here, self.group.keys, computed, has_groups=has_groups)

    @property
    def next_change(self) -> int:
        """The number that the next change of the program will have."""
        epochs = self.pipeline.epochs
        return self.checkpoint.log.next if epochs is None else epochs.next_change

    def _sinks(self, batch: int) -> Mapping[str, Sequence[str]]:
        """Where tasks of a batch, which begins, may write results."""
        self.delivery.begin(batch)
        return self.delivery.sinks_for_tasks(batch)

    def spooled_files_read(self, stream: str) -> Collection[str]:
        """Files of a stream's spool that no batch of this pipeline can ask for."""
        return self._housekeeping.read.get(stream, ())

    @property
    def query(self) -> StreamingQuery:
        """Spark's query; another one if it had to be started again."""
        return self._attempts.query

    def process_available(self) -> None:
        """Wait until everything that is there now has been processed."""
        self._attempts.process_available()

    def await_termination(self, timeout: float | None = None) -> bool:
        """Wait until it has ended, so many seconds; gives whether it has.

        Raises what it failed with.
        """
        if self._last is not None:
            if self._last[2] is not None:
                raise self._last[2]
            return True
        with translated():
            return self._attempts.await_termination(timeout)

    @property
    def is_active(self) -> bool:
        """Whether it runs, perhaps started again."""
        query = self.query
        return self._last is None and (query.isActive or self._attempts.replaces(query))

    def is_idle(self) -> bool:
        status = self.query.status
        waits = status["message"].startswith("Waiting")  # not starting, and not at work
        return waits and not status["isTriggerActive"] and not status["isDataAvailable"]

    @property
    def spark_status(self) -> dict[str, Any]:
        """What Spark's query does; of one that was stopped, what it did last."""
        return dict(self.query.status) if self._last is None else self._last[0]

    @property
    def spark_progress(self) -> Any:
        """Spark's figures of the last micro-batch, if there was one."""
        return self.query.lastProgress if self._last is None else self._last[1]

    @property
    def recent_progress(self) -> list[dict[str, Any]]:
        """Spark's figures of the last micro-batches; of one that was stopped, of the last."""
        if self._last is not None:
            return [self.spark_progress] if self._last[1] is not None else []
        return [dict(progress) for progress in self.query.recentProgress]

    @property
    def last_batch(self) -> BatchStatus | None:
        """The last micro-batch that has reported."""
        report, latest = self._reported, self.spark_progress
        if report is None:
            return None
        # How long a trigger took that found nothing says nothing about the batch before it.
        ran = latest is not None and has_run(latest)
        return BatchStatus(
            report.batch, report.rows, latest["batchDuration"] / 1000 if ran else None
        )

    def total_rows(self, query: str) -> int:
        """How many rows a query has put out since the checkpoint began."""
        return self.delivery.totals.of(query_rows(query))["rows"]

    def failure(self) -> HostError | None:
        """What it has failed with for good; None: it has not."""
        if self._last is not None:
            return self._last[2]
        try:
            self.check()
        except HostError as failed:
            return failed
        return None

    def check(self) -> None:
        """Raise what the pipeline failed with, if it did."""
        with translated():
            cause = self._attempts.exception()
            if cause is not None:
                raise cause
        if self._timer is not None:
            self._timer.check()

    def check_punctuation(self, stream: str, bound: int, where: Where) -> None:
        """Refuse punctuation from the program that this pipeline cannot take."""
        self._punctuating.check(stream, bound, where)

    def punctuate(self, stream: str, bound: int, where: Where) -> None:
        """Send punctuation that was checked; the next batch reads it."""
        is_new = self._punctuating.send(stream, bound, where)
        # Where a timer asks the streams, that sees to it.
        times = self._over() if is_new and self._timer is None else None
        if times is not None:
            self.pipeline.control.forget(times.began / SECOND)

    def end_run(self) -> None:
        """Have the next batch answer whatever waits, unless that was said before."""
        self._stop_enabling()
        if not self._has_ended:
            self._has_ended, self._adapts = True, False
            self.pipeline.end_run()

    def _stop_enabling(self) -> None:
        """No more bounds for streams that are silent."""
        if self._timer is not None:
            self._timer.stop()

    def stop(self) -> StoragePath | None:
        """Stop after the batch that is running; gives the checkpoint, if it is to be kept."""
        self._adapts = False
        self._stop_enabling()
        if self.pipeline.unreadable is not None:
            self.pipeline.unreadable.stop()
        self._attempts.settle()
        try:
            with translated():
                self._wait_for_batch()
                self.query.stop()
                # The session may go next, and with it what Spark knows.
                failed = self.failure()
                self._last = (dict(self.query.status), self.query.lastProgress, failed)
                ends(str(self.query.id))
                forget_shared(str(self.query.id))
                if self.pipeline.epochs is not None:
                    self.pipeline.epochs.end()
                forget_on_executors(self._engine.session.sparkContext, str(self.query.id))
                self.measured.write()
        finally:
            self.let_go()
        return self._place

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
    def _control_is_first(self) -> bool:
        """Whether Spark reads the control stream before all others; its sources are a map."""
        try:
            sources = self.query._jsq.streamingQuery().uniqueSources().keysIterator()
            found = []
            while sources.hasNext():
                found.append(sources.next().toString())
        except (Py4JError, AttributeError):
            return False  # another Spark; then bounds are chosen more carefully
        return is_read_first(found, as_it_stands(str(self.checkpoint.control.resolve())))

    def _over(self) -> BatchTimes | None:
        """The last batch that is over, as Spark tells."""
        latest = self.query.lastProgress
        return None if latest is None else times_of(latest)

    def _deliver(self, batch: int, messages: Sequence[OutputRows]) -> None:
        self._attempts.settle()
        self.checkpoint.check_held()
        with self.batches.delivering():
            self._housekeeping.before(batch, self._engine.session, self.query)
            self.delivery.deliver(batch, messages)

    def _report(self, report: BatchReport) -> None:
        self.rows_read.update(report.rows)
        self._punctuating.reached(report.own or report.bounds)
        self.delivery.count(report)
        if self._timer is not None:
            self.enabling.is_prompt = self._control_is_first
            self._timer.report(report)
        else:
            self.enabling.take_report(report, self._engine.now())
        self.operators.note(report.batch, report.operators)
        self._ended_attempts.look((each.queries, each.ended_attempts) for each in report.operators)
        for each in report.migrations:
            self.migrations.note(each)
        if report.operators:
            self.changed = report.changed
        self._has_news |= self.measured.note(report.batch, report.joins, self.program)
        self._reported = report
        self.batches.over(report.batch)

    def _adapt(self) -> None:
        """Let joins have other shapes from the batch on that is about to begin, or say so.

        Not before the batch that tells is committed: if that is repeated, by whoever comes after a
        crash, it is by the program that it was delivered by.
        """
        engine, report = self._engine, self._reported
        # Whoever carries out a statement may be waiting for this batch; then the next one looks.
        if report is None or not self._has_news or not engine._turn.acquire(blocking=False):
            return
        try:
            if self._adapts:
                self._has_news = False
                adapt(engine, self, report)
        except Exception:  # no answer depends on it, and the batch is to go on
            _LOG.exception("joins of %s are not adapted", ", ".join(self.group.queries))
        finally:
            engine._turn.release()
