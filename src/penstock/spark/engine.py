"""Engine: continuous queries as Structured Streaming pipelines.

    engine = Engine()
    engine.sql(open("talkers.sql").read())
    engine.start()
    engine.finish()          # finite inputs: everything read, all windows that have rows closed
    engine.query("talkers").results()

Queries that are declared when `start` is called are distributed over as few pipelines as suit them
(`placement/pipeline_groups.py`). From then on queries come and go while these run: one that is
declared joins a pipeline that suits it with the next batch, or gets one of its own, and one that is
dropped leaves with the next batch; the others lose, repeat and delay nothing. The checkpoint of a
pipeline lies where the user says, else beside the first file its queries write to; a pipeline that
writes no files keeps it in a temporary folder, and cannot be continued.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.catalog.catalog import QueryEntry, StreamEntry
from penstock.errors import HostError, NotExecutable, PenstockError
from penstock.io.console import CONSOLE, check_console
from penstock.io.iterables import FORMAT as ITERABLE
from penstock.io.iterables import Supply
from penstock.io.results import SINK_FORMATS, check_format
from penstock.io.sinks.registry import SINKS
from penstock.io.sources.registry import source_of
from penstock.io.storage.hadoop_path import connect
from penstock.io.storage.storage_path import StoragePath, storage_path
from penstock.model.begin import Begin
from penstock.model.punctuation import Where
from penstock.model.releases import Releases
from penstock.model.schema import Schema
from penstock.model.streams import Origin, Sink, Stream
from penstock.model.user_defined import UserDefined
from penstock.optimizer.join_statistics import JoinStatistics
from penstock.optimizer.optimize import optimize
from penstock.optimizer.options import Options
from penstock.optimizer.physical import Program
from penstock.optimizer.statistics import Statistics
from penstock.plan.blockers import StreamProgress
from penstock.plan.graph import streams_of
from penstock.plan.nodes import Node
from penstock.runtime.adapting import Why
from penstock.runtime.base_engine import BaseEngine
from penstock.runtime.migrations import Migration
from penstock.runtime.query import MAX_RESULTS
from penstock.runtime.rejected_buffers import MAX_REJECTED
from penstock.runtime.status import OperatorStatus, StreamStatus
from penstock.runtime.stream_arguments import Slack, columns_for
from penstock.spark.border import at_border
from penstock.spark.catching_up.standing import how_they_came
from penstock.spark.delivery.stream_counts import StreamTallies
from penstock.spark.early_checks import check_early
from penstock.spark.explain import explain_changed, explain_pipeline, explain_planned
from penstock.spark.failures import translated
from penstock.spark.following import Following
from penstock.spark.functions import SparkFunctions
from penstock.spark.pipeline_stops import PipelineStops
from penstock.spark.placement.pipeline_groups import PipelineGroup
from penstock.spark.planning import Planning, known_of_machine
from penstock.spark.query import PAUSE, SparkQuery
from penstock.spark.running_pipeline import RunningPipeline
from penstock.spark.session import local_session
from penstock.spark.shipping import send_by_value
from penstock.spark.sources.computed_columns import with_computed
from penstock.spark.sources.conforming import conform
from penstock.spark.sources.directories import odd_files
from penstock.spark.sources.program_streams import ProgramStreams, check_streams
from penstock.spark.sources.sources import columns_of, open_stream
from penstock.spark.sources.spool import FilesRead
from penstock.spark.state.program_changes import ProgramChanges
from penstock.spark.working_session import (
    adopted,
    check_named,
    take_over,
    working_session,
)

_LOG = logging.getLogger("penstock")


@at_border
class Engine(BaseEngine[SparkQuery]):
    """Streams and queries that live on a Spark session.

    Every method may be called from any thread; statements take effect one after the other.
    Subscribers may call `sql`, `punctuate`, `status` and `stop`.
    """

    def __init__(
        self,
        spark: SparkSession | None = None,
        *,
        master: str | None = None,
        checkpoint: str | Path | None = None,
        conf: Mapping[str, str] | None = None,
        max_results: int = MAX_RESULTS,
        max_rejected: int = MAX_REJECTED,
    ) -> None:
        super().__init__(max_results=max_results, max_rejected=max_rejected)
        check_named("master=", master, str, "such as 'local[4]' or 'spark://host:7077'")
        check_named("conf=", conf, Mapping, "such as {'spark.driver.memory': '8g'}")
        self.catalog.host = SparkFunctions(lambda: self.session, lambda: self.spark)
        if spark is not None:
            take_over(spark, conf)
        connect(lambda: self.session)
        self._spark = spark
        self._session: SparkSession | None = None
        self._master = master
        self._statistics = known_of_machine(master if spark is None else spark.sparkContext.master)
        self._conf = dict(conf or {})
        self._brought = ProgramStreams()
        #: A list is never changed, only replaced: other threads may be reading it.
        self._running: list[RunningPipeline] = []
        self._tallies: dict[str, StreamTallies] = {}
        self._common = Options()  # what all queries have in common of them
        self._interval: str | None = None  # between batches; None: it is not started
        self._planning = Planning(
            self, storage_path(checkpoint) if checkpoint is not None else None
        )
        self._following = Following(self)
        self._stops = PipelineStops()
        self._stopping = threading.RLock()  # taken before the lock of the engine

    @property
    def spark(self) -> SparkSession:
        """The session; a local one is made when it is first needed."""
        if self._spark is None:
            self._spark = local_session(master=self._master, conf=self._conf)
        return self._spark

    @property
    def session(self) -> SparkSession:
        """The session in which queries run, with the settings they need; `spark` keeps its own."""
        if self._session is None:
            self._session = working_session(self.spark)
        return self._session

    def _is_stopped(self) -> bool:
        """Whether somebody has stopped the session."""
        return self._spark is not None and self._spark.sparkContext._jsc is None

    def explain(self, name: str, plan: Node) -> str:
        """The pipeline of a query: its operators, and how it runs on Spark."""
        is_declared = self._declared(name, plan) is not None
        running = self._running_of(name) if is_declared else None
        if running is not None:
            shown = explain_pipeline(running.group, running.program, how_they_came(running))
            changed = explain_changed(running.changed)
            return "\n\n".join(filter(None, [shown, *changed, self._expected(plan)]))
        alone = PipelineGroup.of({name: plan}, self._options_of(name, plan))
        alone = replace(alone, statistics=self._with_shapes())
        planned = self._planning.planned() if is_declared else []
        group = next((group for group in planned if name in group.queries), alone)
        shown = explain_planned(group, self.catalog.streams)
        return "\n\n".join(filter(None, [shown, self._expected(plan)]))

    def _optimized(
        self, name: str, plan: Node, begin: Begin | None = None, *, anew: bool = False
    ) -> Program:
        # Queries that run do so in graphs of their own.
        return optimize({name: plan}, self._options_of(name, plan), self._with_shapes())

    def _known(self) -> Statistics:
        """What pipelines have measured, and what the checkpoints remember that they continue."""
        pipelines = dict.fromkeys(q.pipeline for q in self.queries if q.pipeline is not None)
        measured = [each.measured for each in pipelines]
        joins = reduce(or_, (each.joins for each in measured), JoinStatistics())
        kept = reduce(or_, (each.remembered for each in measured), self._planning.remembered())
        return replace(self._statistics, joins=joins, remembered=kept)

    @property
    def _programs(self) -> dict[str, Program]:
        """By query that is declared, what its pipeline runs, or would if it were started now."""
        running = [(each.group, each.program) for each in self._running]
        waiting = self._planning.planned()
        planned = [(each, each.program(self.catalog.streams)) for each in waiting]
        known = {name: program for group, program in running + planned for name in group.queries}
        return {entry.name: known[entry.name] for entry in self.catalog.queries}

    # -- running ------------------------------------------------------------------------------

    def start(
        self,
        *,
        interval: str = "0 seconds",
        to_end: bool = False,
        accept_changes: bool = False,
    ) -> None:
        """Start every query that is declared and not running; later ones start by themselves.

        `to_end` says that only files which are there now are to be read, and that `finish` follows:
        the batch that reads them then closes all windows too, if it can read them all and no
        checkpoint is kept. With `accept_changes` queries may be others than those that their
        checkpoint was left by (`changes` tells): what only those have kept is forgotten.
        """
        with self._turn:
            self._interval, self._planning.accepts = interval, accept_changes
            is_small = to_end and self._planning.is_small()
            planned = self._planning.planned(is_small=is_small)
            if self._spark is None:
                check_early(self, planned)
            self._start(planned, to_end=to_end)

    def _start(self, planned: Sequence[PipelineGroup], *, to_end: bool = False) -> None:
        """Start pipelines."""
        assert self._interval is not None
        if planned:
            self._stops.wait()  # a place of theirs may be needed
        streams = [entry.stream for entry in self.catalog.streams]
        places = [(group.keys, self._planning.checkpoint_of(group)) for group in planned]
        self._brought.place(streams, places)
        # Batches of those that run take processor time from those that are still to start.
        all_started, waiting = threading.Event(), deque[RunningPipeline]()
        read, accepts = self._streams_read(), self._planning.accepts
        try:
            for group in planned:
                waiting.append(RunningPipeline(self, group, read, accept_changes=accepts))
                read = read | group.keys.keys()
            while waiting:
                running = waiting.popleft()
                running.start(self._interval, all_started, to_end=to_end)
                self._running = [*self._running, running]
        finally:
            all_started.set()
            for each in waiting:
                each.let_go()
        self._brought.start(self._rows_read, self._files_read)

    def changes(self) -> dict[StoragePath, ProgramChanges]:
        """By checkpoint, how queries that are declared differ from those it was left by."""
        return self._planning.changes()

    def new_pipelines(self) -> list[str]:
        """The queries that are declared and would continue no checkpoint."""
        return self._planning.new_pipelines()

    def _follow_statements(self) -> Callable[[], str]:
        """Let pipelines that run follow; gives what waits a moment until they have."""
        return super()._follow_statements() if self._interval is None else self._following.follow()

    def process_available(self) -> None:
        """Wait until everything that is there now has been processed."""
        for running in self._running:
            with translated():
                running.process_available()
        self._brought.check()

    def _punctuate(self, stream: str, bound: int, where: Where) -> None:
        """Queries that run get it with their next batch.

        It is kept in their checkpoints, and read in the same batch if that is repeated.
        """
        readers = [running for running in self._running if stream in running.group.keys]
        if not readers:
            raise NotExecutable(
                f"no running query reads stream `{stream}`, so the punctuation would have no "
                "effect",
                hint="declare the queries and start() them first",
            )
        for running in readers:
            running.check_punctuation(stream, bound, where)
        for running in readers:
            running.punctuate(stream, bound, where)

    def is_idle(self) -> bool:
        """Whether every pipeline has processed what is there, as far as can be seen now."""
        return self._brought.are_idle and all(running.is_idle() for running in self._running)

    def check(self) -> None:
        """Raise what a pipeline or an iterable failed with, if one did."""
        self._brought.check()
        for running in self._running:
            running.check()

    def finish(self) -> list[StoragePath]:
        """Process everything, answer whatever waits, and stop; gives where it can be continued.

        Every window that has rows is answered, and closed. An engine that continues from the
        checkpoint takes in what has come since: later windows are computed, and rows for those that
        are answered are late (`counts`). To leave the last windows open, `process_available` and
        `stop`.

        Iterables are waited for: all of them must come to an end.
        """
        while not self._brought.are_over:
            self.check()
            time.sleep(PAUSE)
        self.process_available()
        for running in self._running:
            running.end_run()
        self.process_available()
        return self.stop()

    def is_finite(self) -> bool:
        """Whether every stream that is read comes to an end."""
        return self._brought.are_over and all(
            source_of(stream.origin).is_finite(stream)
            for running in self._running
            for stream in running.program.streams
        )

    def stop(self) -> list[StoragePath]:
        """Stop all pipelines after the batch that is running; gives where they can continue.

        A subscriber that calls this is part of that batch: it gets an empty list, and a thread
        stops the pipelines when the batch is over.
        """
        if self._turn.is_user_code:
            threading.Thread(target=self._stop_later, name="penstock stop").start()
            return []
        with self._stopping:
            return self._stop()

    def _stop_later(self) -> None:
        try:
            self.stop()
        except PenstockError:
            _LOG.exception("a pipeline that a subscriber stopped has failed")

    def _stop(self) -> list[StoragePath]:
        # Without the lock: the batch that is waited for may call the engine.
        self._brought.stop()
        self._stops.wait()
        with self._turn:
            self._interval, stopping = None, self._running
        kept, failures = [], []
        for running in stopping:
            try:
                place = running.stop()
            except HostError as failure:  # the others hold places that somebody may want
                failures.append(failure)
            else:
                kept += [place] if place is not None else []
        with self._turn:
            self._running = [each for each in self._running if each not in stopping]
            self._brought.clean_up()
        if failures:
            raise failures[0]
        return kept

    def _tallies_of(self, stream: str) -> StreamTallies:
        """Where pipelines count the rows of a declared stream."""
        return self._tallies.setdefault(stream, StreamTallies(stream))

    def passed_over(self, stream: str) -> list[str]:
        """Files of a stream that are not read, also those that Spark cannot for their names."""
        path = self.declared_stream(stream).stream.origin.path
        odd = [] if path is None else [Path(file).name for file in odd_files(path)]
        return super().passed_over(stream) + [f"{name} (looks like a pattern)" for name in odd]

    def _streams_read(self) -> frozenset[str]:
        """The streams that running pipelines read."""
        return frozenset(name for running in self._running for name in running.group.keys)

    def spark_query(self, name: str) -> StreamingQuery | None:
        """The Spark query in which a query of ours runs."""
        running = self._running_of(name)
        return running.query if running else None

    def _stream_statuses(self) -> dict[str, StreamStatus]:
        known: dict[str, StreamProgress] = {}
        skipped: dict[str, dict[str, str]] = {}
        for running in self._pipelines():
            known.update(running.enabling.progress())
            listed = running.pipeline.unreadable
            for name, files in listed.listed().items() if listed is not None else ():
                skipped.setdefault(name, {}).update(files)
        statuses = {}
        for name in (entry.name for entry in self.catalog.streams):
            counts, at = self._tallies_of(name).counts(), known.get(name, StreamProgress())
            files = skipped.get(name, {})
            status = StreamStatus(name, counts, at.bound, at.last_arrival, unreadable=files)
            statuses[name] = self._rejected.counted_in(status)
        return statuses

    def _operator_statuses(self) -> tuple[OperatorStatus, ...]:
        return tuple(each for running in self._pipelines() for each in running.operators.statuses())

    def _migrations(self) -> Iterable[Migration]:
        return (each for running in self._pipelines() for each in running.migrations)

    def _releases(self, query: str) -> Releases | None:
        pipeline = self._queries[query].pipeline
        return None if pipeline is None else pipeline.enabling.releases.get(query)

    def _pipelines(self) -> list[RunningPipeline]:
        """Those that have ended and that queries know of, and those that run."""
        known = (query.pipeline for query in self.queries if query.pipeline is not None)
        ended = dict.fromkeys(each for each in known if each not in self._running)
        return [*ended, *self._running]

    # -- streams of the program ---------------------------------------------------------------

    def stream(
        self,
        name: str,
        rows: DataFrame | Supply,
        *,
        columns: str | None = None,
        timestamp: str | None = None,
        slack: Slack = timedelta(0),
    ) -> None:
        """Make a streaming DataFrame of Spark, or anything that gives rows, a stream.

        `timestamp` names the column that holds a row's time; rows come at most `slack` out of
        order: a timedelta, ticks, or words such as "5 seconds" (None: the stream has no bounds
        of its own).

        Rows from Python are dicts, tuples or tables (Polars, pandas, Arrow), out of any iterable,
        a generator for example; `columns` declares them: "k BIGINT, ts TIMESTAMP". One table brings
        its own columns. They are taken
        from `start` on, as fast as Spark processes them, and written to a folder of the checkpoint,
        from where a restart reads them again. So a restart asks for the rows behind those: a list
        or table is passed over up to there, a function is called with their number, `rows(skip)`,
        and any other iterable must continue there by itself.
        """
        with self._turn:
            if isinstance(rows, DataFrame):
                check_streams(name, rows)
                found = columns_of(rows, name)
                declared = self._add_stream(name, found, Origin("dataframe"), timestamp, slack)
                self._brought.frames[name] = conform(adopted(rows, self.session), declared)
            else:
                found = columns_for(name, columns, rows)
                self._add_stream(name, found, Origin(ITERABLE), timestamp, slack)
                self._brought.supplies[name] = rows

    def table(self, name: str, rows: Any, *, columns: str | None = None) -> None:
        """Declare a static table, which streams can be joined with; every group gets all of it.

        Rows are as in any engine, or a DataFrame of Spark, which is collected now.
        """
        if isinstance(rows, DataFrame):
            columns = columns or ", ".join(f"`{c.name}` {c.type}" for c in columns_of(rows, name))
            with translated():
                rows = rows.toArrow()
        super().table(name, rows, columns=columns)

    def _add_function(self, function: UserDefined, *, replace: bool) -> None:
        super()._add_function(function, replace=replace)
        send_by_value(function.code)

    def _frame_of(self, stream: Stream) -> DataFrame:
        """The stream as the exchange takes it."""
        brought = self._brought.frame(stream.name, self.session)
        with translated():
            if brought is not None:
                return with_computed(brought, stream)
            return open_stream(self.session, stream)

    def _rows_read(self, stream: str) -> int:
        """How many rows of a stream the slowest of its pipelines has processed."""
        return min(
            (r.rows_read[stream] for r in self._running if stream in r.group.keys), default=0
        )

    def _files_read(self, stream: str) -> FilesRead:
        """Files of a stream's spool that running pipelines need no more, by checkpoint."""
        readers = [running for running in self._running if stream in running.group.keys]
        return {
            str(each.checkpoint.folder.resolve()): each.spooled_files_read(stream)
            for each in readers
        }

    # -- following the catalog ----------------------------------------------------------------

    def _check(self, entry: QueryEntry) -> None:
        for stream in streams_of(entry.plan).values():
            source_of(stream.origin).check(stream)
        runs = self._declared(entry.name, entry.plan) and self._running_of(entry.name)
        if self._interval is not None and not runs:  # else it is altered, which has its own rules
            named = self.catalog.get(entry.name)
            replaced = None if named is None else self._queries.get(named.name)
            # Refuses what cannot begin as it says.
            found = self._following.joining(entry, replaced)
            # A place that the query it replaces has is free when that one is gone.
            has_it = replaced is not None and replaced.sink == entry.sink
            is_moved = replaced is not None and replaced.pipeline is not found.pipeline
            if found.pipeline is not None and not (has_it and is_moved):
                found.pipeline.delivery.check(entry.name, entry.sink, entry.plan)

    def _check_sink(self, sink: Sink, schema: Schema) -> None:
        if sink.format in SINKS:
            SINKS[sink.format].check(sink, schema)
        if sink.format == CONSOLE:
            check_console(sink)
        if sink.format in SINK_FORMATS and sink.path is None:
            raise NotExecutable(
                f"INTO {sink.format} needs a path", hint=f"INTO {sink.format} 'a/directory'"
            )
        if sink.format in SINK_FORMATS:
            check_format(sink.format, schema)

    def _query_declared(self, entry: QueryEntry, program: Program) -> SparkQuery:
        query = SparkQuery(self, entry.name, entry.plan, entry.sink)
        self._queries[entry.name] = query
        return query

    def _query_altered(self, entry: QueryEntry, program: Program, why: Why) -> None:
        """A query that waits starts with its new options; one that runs changes with a batch."""
        running, query = self._running_of(entry.name), self._queries[entry.name]
        if running is None:
            return
        carry_out = self._following.adapt if why.by_itself else self._following.alter
        carry_out(running, query, self.catalog.options_of(entry), why)

    def _query_dropped(self, name: str) -> None:
        running = self._running_of(name)
        query = self._queries.pop(name)
        self._following.apart.pop(name, None)
        if running is not None:
            self._following.drop(running, query)

    def _stream_declared(self, entry: StreamEntry) -> None:
        pass

    def _stream_dropped(self, name: str) -> None:
        self._brought.remove(name)
        self._tallies.pop(name, None)
        self._rejected.forget(name)

    def _settings_changed(self) -> None:
        """What all queries have in common holds for those that start from now on."""
        common = self.catalog.settings.options_for(Options())
        if common != self._common:
            for entry in self._planning.waiting():
                self._optimized(entry.name, entry.plan)  # which refuses what has no operator
                self._check(entry)
        self._common = common

    def _running_of(self, name: str) -> RunningPipeline | None:
        query = self._queries.get(name)
        pipeline = None if query is None else query.pipeline
        return pipeline if pipeline in self._running else None
