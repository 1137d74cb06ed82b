"""LocalEngine: declare streams and queries in SQL, push rows, read answers.

    engine = LocalEngine()
    engine.sql("CREATE STREAM bids (item STRING, price INT, ts TIMESTAMP) TIMESTAMP BY ts")
    best = engine.sql("SELECT item, max(price) AS best FROM bids [RANGE 10 MINUTES] GROUP BY item")
    engine.push("bids", [{"item": "lamp", "price": 42, "ts": datetime(2026, 1, 1, 10, 0)}])
    engine.finish()
    best.results()

Every method may be called from any thread; calls take effect one after the other. Subscribers and
functions of queries may call `push`, `punctuate`, `sql`, `status` and `stop` of the engine that
calls them. Rows that they push are processed in order, when the current ones have been.

Rows are carried through all queries when they are pushed. Streams that name files are read by
`read_files`; `finish` reads what is left and ends every stream, which closes the windows that are
still open.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from penstock.catalog.catalog import QueryEntry, StreamEntry
from penstock.errors import NotExecutable
from penstock.io.files import FileBlock
from penstock.io.iterables import FORMAT as ITERABLE
from penstock.io.iterables import Supply, as_frame, blocks_of, is_table
from penstock.io.late_rows import as_late_rows, late_schema
from penstock.io.sources.registry import LOCAL_SOURCES, source_of
from penstock.kernel.conform import Rows
from penstock.kernel.progress.late import LatePolicy
from penstock.kernel.scheduling.strategies import strategy_named
from penstock.kernel.state import TableDescription
from penstock.local.query import LocalQuery
from penstock.local.sinks import LocalSink, check_sink, open_sink
from penstock.model.begin import Begin
from penstock.model.punctuation import Where
from penstock.model.releases import Releases
from penstock.model.schema import Schema
from penstock.model.streams import Origin, Sink
from penstock.model.user_defined import UserDefined, is_same
from penstock.optimizer.cost.costs import costs
from penstock.optimizer.cost.machine import machine
from penstock.optimizer.optimize import since_in_state
from penstock.optimizer.physical import Program, since_of, used_in, with_code_of
from penstock.optimizer.rechoose import Change
from penstock.optimizer.rules.late_rows import late_rows
from penstock.optimizer.statistics import Statistics
from penstock.plan.graph import streams_of
from penstock.plan.nodes import Node
from penstock.runtime.adapting import Progress, Why
from penstock.runtime.altering import alter
from penstock.runtime.base_engine import PATIENCE, BaseEngine
from penstock.runtime.clock import Clock
from penstock.runtime.counts import RejectedRows
from penstock.runtime.ended_attempts import EndedAttempts
from penstock.runtime.graph_host import GraphHost
from penstock.runtime.late_warnings import LateWarnings
from penstock.runtime.migrations import Migration
from penstock.runtime.query import MAX_RESULTS
from penstock.runtime.rechoosing import Rechoosing
from penstock.runtime.rejected_buffers import MAX_REJECTED
from penstock.runtime.status import OperatorStatus, StreamStatus
from penstock.runtime.stream_arguments import Slack, columns_for
from penstock.runtime.user_functions import outside_lock

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

#: A name that no query has: of one that is about to replace another.
_REPLACING = "\nreplacing"
#: Rows read from a file at a time: enough to be vectorised, few enough to show progress.
ROWS_PER_BLOCK = 100_000
#: … and where streams are to be read in step.
ROWS_IN_STEP = 1_000
#: Rows taken from an iterable at a time: it may be slow, and answers wait for them.
ROWS_PER_TURN = 1_000


class LocalEngine(BaseEngine[LocalQuery]):
    """Streams and queries that live together in this process."""

    def __init__(
        self,
        *,
        clock: Clock | None = None,
        max_results: int = MAX_RESULTS,
        max_rejected: int = MAX_REJECTED,
    ) -> None:
        super().__init__(max_results=max_results, max_rejected=max_rejected)
        self._statistics = Statistics(costs(), join_costs=costs(), machine=machine())
        self._host = GraphHost(
            clock=clock, rejected=self._take_rejected, adapting=self._queries_that_adapt
        )
        self._program_of: dict[str, Program] = {}
        self._rechoosing = Rechoosing(self._host, {})
        self._parts_rejected = 0
        #: How often queries have come to streams that had rows, and whether rows came since.
        self._span, self._had_rows = 0, False
        self._stopped = False
        self._late: dict[str, LocalSink] = {}
        self._host.set_max_jump(self.catalog.settings.jump)
        self._late_warnings = LateWarnings()
        self._ended_attempts = EndedAttempts()
        self._supplies: dict[str, Iterator[Rows]] = {}
        self._reading: dict[str, Iterator[FileBlock]] = {}  # what has been begun, or is over
        #: By stream, the files that are skipped, and why.
        self._unreadable: dict[str, dict[str, str]] = {}
        self._reading_lock = threading.RLock()  # taken before the lock of the engine
        self._changes: deque[Callable[[], None]] = deque()  # of rows and bounds, in order

    def _queries_that_adapt(self) -> set[str]:
        return {each.name for each in self.catalog.queries if each.options.adapts}

    # -- rows ---------------------------------------------------------------------------------

    def push(self, stream: str, rows: Rows | pa.Table | pd.DataFrame) -> None:
        """Put rows into a stream, and carry them through all queries.

        Rows are a list of dicts or a table (Polars, pandas, Arrow). Times may be datetimes (without
        a zone they are UTC). Rows that do not fit or come too late are rejected: see
        `rejected_rows`.
        """
        given: Rows = as_frame(rows) if is_table(rows) else rows
        with self._turn:
            name = self.declared_stream(stream).name
            self._check_runs(f"no rows go into stream `{name}`")
            self._change(partial(self._take_in, name, (), given))

    def _take_in(self, name: str, rejected: Sequence[str], rows: Rows) -> None:
        self._had_rows = True
        with self._undone_if_failing():
            self._host.reject(name, list(rejected))
            self._host.push(name, rows)
            self._host.run()
        of = self._host.inputs[name]
        self._late_warnings.look(of.stream, of.tally)
        self._run()

    def _punctuate(self, stream: str, bound: int, where: Where) -> None:
        with self._turn:
            self._check_runs(f"no punctuation goes into stream `{stream}`")
            self._change(partial(self._take_punctuation, stream, bound, where))

    def _take_punctuation(self, stream: str, bound: int, where: Where) -> None:
        with self._undone_if_failing():
            self._host.punctuate(stream, bound, where)
            self._host.run()
        self._run()

    def _change(self, change: Callable[[], None]) -> None:
        """Carry out a change of rows or bounds after those before it; the thread has the lock.

        While user code runs, it waits for the end of that run: the graph is in the midst of it.
        """
        self._turn.wait_for_runs(PATIENCE)
        self._changes.append(change)
        if self._turn.is_suspended:
            return
        with self._turn.running():
            while self._changes:
                self._changes.popleft()()

    def advance(self) -> None:
        """Let the time that has passed take effect: what waits for nothing but it comes out.

        Pushing does so as well; this is for when nothing comes. Streams that can tell the time
        while they are silent are asked for it: see `SET ets`.
        """
        with self._turn:
            self._check_runs("nothing waits for the time")
            self._change(self._run)

    def read_files(self, *, in_step: bool = False) -> Iterator[tuple[str, int]]:
        """Read the streams that name files or iterables, a block of each in turn.

        Yields (stream, rows read) as it goes, so that a caller can show progress or stop. With
        `in_step` the stream reads next that is furthest behind, a small block, so that rows meet
        as they would if they came now, and no more are stored.
        """
        rows = ROWS_IN_STEP if in_step else ROWS_PER_BLOCK
        with self._reading_lock:
            for entry in self.catalog.streams:
                if entry.name not in self._reading:
                    blocks = self._blocks_of(entry, rows)
                    if blocks is not None:
                        self._reading[entry.name] = blocks
        yield from self._read_in_turn(in_step)

    def _blocks_of(self, entry: StreamEntry, rows: int) -> Iterator[FileBlock] | None:
        """What a stream reads; None: the program pushes its rows."""
        if entry.name in self._supplies:
            return map(FileBlock, self._supplies[entry.name])
        origin = entry.stream.origin
        if origin.format == "push":
            return None
        kind = source_of(origin)
        if not kind.is_local:
            raise NotExecutable(
                f"cannot read stream `{entry.name}` from {origin}",
                hint=f"this host reads: {', '.join(LOCAL_SOURCES)}",
            )
        return kind.blocks(entry.stream, rows)

    def _read_in_turn(self, in_step: bool) -> Iterator[tuple[str, int]]:
        over: set[str] = set()
        while waiting := [name for name in self._reading if name not in over]:
            for name in [min(waiting, key=self._bound)] if in_step else waiting:
                # Blocks go in as they are read, whichever thread reads them.
                with self._reading_lock:
                    block = next(self._reading.get(name, iter(())), None)
                    if block is None:
                        over.add(name)
                        continue
                    with self._turn:
                        self._check_runs(f"no rows go into stream `{name}`")
                        if block.unreadable is not None:
                            file, reason = block.unreadable
                            self._unreadable.setdefault(name, {})[file] = reason
                            continue
                        self._change(partial(self._take_in, name, block.rejected, block.rows))
                yield name, len(block.rows)

    def _bound(self, stream: str) -> int:
        return self._host.inputs[stream].bound

    def stream(
        self,
        name: str,
        rows: Supply,
        *,
        columns: str | None = None,
        timestamp: str | None = None,
        slack: Slack = timedelta(0),
    ) -> None:
        """Make a stream of anything that gives rows: dicts, tuples or tables, out of any iterable.

        `columns` declares them: "k BIGINT, ts TIMESTAMP"; one table brings its own. `timestamp` and
        `slack` are as on Spark (`Engine.stream`). `read_files` takes them, a block at a time, and
        `finish` what is left.
        """
        with self._turn:
            found = columns_for(name, columns, rows)
            declared = self._add_stream(name, found, Origin(ITERABLE), timestamp, slack)
            self._supplies[name] = blocks_of(declared, rows, ROWS_PER_TURN)

    def finish(self) -> None:
        """Read what is left, and end all streams: every window closes, and nothing goes in after.

        Files and iterables that `read_files` has not come to are read now. Rows that are pushed
        later are late.
        """
        self._check_runs("no window closes")
        if self._turn.is_user_code:
            raise NotExecutable(
                "finish() cannot be called by a subscriber or a function: it waits for them",
                hint="call it from another thread; or stop(), which does not wait",
            )
        for _ in self.read_files():
            pass
        with self._turn:
            self._turn.wait_for_runs()
            self._check_runs("no window closes")
            self._change(self._end)

    def _end(self) -> None:
        with self._undone_if_failing():
            self._host.finish()
        self._note_cells()
        self._close()

    def stop(self) -> None:
        """Stop all queries as they are: windows that are open give no answer, nothing goes in.

        Rows that wait for user code to return are dropped.
        """
        with self._turn:
            self._stopped = True
            self._changes.clear()
            for query in self._queries.values():
                query.end()
            self._close()

    def _close(self) -> None:
        """Let others have the places that results went to."""
        for query in self._queries.values():
            query.close()
        for sink in self._late.values():
            sink.close()

    def _run(self) -> None:
        """Carry out what is there, and let better operators take over where there are any."""
        with self._undone_if_failing():
            self._host.run()
        self._ended_attempts.look(self._host.ended_attempts())
        if self._rechoosing.look(self._statistics.costs):
            for name, plan in self._rechoosing.plans.items():
                program = self._program_of[name]
                self._program_of[name] = program.by({name: plan})
            self._measure()
        if self._note_cells():
            self._adapt()

    def _follow_plans(self) -> None:
        """Watch the operators that run now."""
        self._rechoosing.follow(self._plans)
        self._measure()

    def _measure(self) -> None:
        queries = {name: program.queries[name] for name, program in self._program_of.items()}
        self._host.measuring.follow(queries, self._plans)
        self._host.find_limited()

    def _note_cells(self) -> bool:
        """Take over what has been measured of joins; whether that is anything."""
        before = self._statistics.joins
        joins = self._host.measuring.noted(before)
        self._statistics = replace(self._statistics, joins=joins)
        return joins is not before

    def _adapt(self) -> None:
        """Let joins have other shapes, or say that they should, by what is known now."""
        queries = [
            (entry, options)
            for entry in self.catalog.queries
            if (options := self._options_of(entry.name, entry.plan)).adapts
        ]
        self._adapting.look(queries, self._statistics, self._progress)

    def _progress(self) -> Progress:
        inputs, operators = self._host.inputs, self._host.operators()

        def bound(entry: QueryEntry) -> int:
            return min(inputs[name].bound for name in streams_of(entry.plan))

        waiting = self._host.graph.queued_rows()
        return Progress(self._plans, bound, operators, lambda entry: waiting)

    def _known(self) -> Statistics:
        joins = self._host.measuring.so_far(self._statistics.joins)
        return replace(self._statistics, joins=joins)

    def _undone_if_failing(self) -> AbstractContextManager[None]:
        """Have code of users that fails leave everything as it was."""
        if not any(program.has_user_code for program in self._program_of.values()):
            return nullcontext()
        return self._host.undone_if_failing(lambda: self._plans)

    def _check_runs(self, otherwise: str) -> None:
        """Refuse what would change nothing any more."""
        if self._stopped:
            raise NotExecutable(
                f"{otherwise}: this engine has been stopped",
                hint="do it before stop(), or begin with a new LocalEngine()",
            )

    def _add_function(self, function: UserDefined, *, replace: bool) -> None:
        with self._turn:
            function = outside_lock(function, self._turn)
            is_used = any(is_same(used, function) for used in used_in(self._plans))
            if is_used:
                self._carry_through(f"function `{function.name}` cannot be replaced")
            super()._add_function(function, replace=replace)
            if not is_used:
                return
            mended = with_code_of(self._plans, function)
            for name, plan in mended.items():
                self._program_of[name] = self._program_of[name].by({name: plan})
            with self._turn.running():
                self._host.change(Change(mended, {}, ("", "")))
            self._follow_plans()

    def _carry_through(self, otherwise: str = "") -> None:
        """Carry through what is on its way, so that operators can be exchanged.

        A run that waits for user code does that itself when it resumes. Where that is too late
        (`otherwise`), this waits for it; user code itself cannot wait, and is refused.
        """
        lock = self._turn
        if otherwise:
            lock.wait_for_runs()
            if lock.is_in_step:
                raise NotExecutable(
                    f"{otherwise} by a function while a query waits for its answer",
                    hint="do it in a subscriber, or in a thread that the function does not wait "
                    "for",
                )
        if lock.is_suspended and (lock.is_in_step or not lock.is_user_code):
            return
        with lock.running():
            self._host.run()

    # -- looking ------------------------------------------------------------------------------

    def _steady(self) -> AbstractContextManager[Any]:
        return self._turn

    def state(self) -> list[tuple[str, str, int, int]]:
        """(operator, table, rows, bytes) of everything that is kept."""
        with self._turn:
            return list(self._host.graph.state_sizes())

    def tables(self) -> dict[str, list[TableDescription]]:
        """By operator, what its tables hold: columns, rows, bytes, and of which times.

        Where rows belong to windows or panes, these are numbers of windows or panes; the name of
        the column tells. This looks at all rows; `state` and `status` do not.
        """
        with self._turn:
            nodes = self._host.graph.nodes.items()
            operators = {n: node.operator for n, node in nodes if node.operator is not None}
            return {n: operator.state.describe() for n, operator in operators.items()}

    def queued_rows(self) -> int:
        """How many rows wait between operators."""
        with self._turn:
            return self._host.graph.queued_rows()

    def _stream_statuses(self) -> dict[str, StreamStatus]:
        return {
            name: self._rejected.counted_in(
                StreamStatus(
                    name,
                    self._host.counts(name),
                    stream.bound,
                    stream.last_arrival,
                    unreadable=dict(self._unreadable.get(name, {})),
                )
            )
            for name, stream in self._host.inputs.items()
        }

    def _operator_statuses(self) -> tuple[OperatorStatus, ...]:
        return self._host.operators()

    def _migrations(self) -> Iterable[Migration]:
        return self._host.migrations

    def _releases(self, query: str) -> Releases:
        return self._host.releases(query)

    def now(self) -> int:
        return self._host.clock.now()

    @property
    def _programs(self) -> dict[str, Program]:
        return self._program_of

    # -- following the catalog ----------------------------------------------------------------

    def _check(self, entry: QueryEntry) -> None:
        self._check_runs(f"query `{entry.name}` would get no rows")

    def _check_sink(self, sink: Sink, schema: Schema) -> None:
        check_sink(sink, schema)

    def _since(self, name: str, plan: Node, begin: Begin | None) -> int:
        if self._had_rows:
            self._span, self._had_rows = self._span + 1, False
        if begin is Begin.START and self._span:
            raise NotExecutable(
                f"query `{name}` cannot begin FROM START: rows that have come are not kept in this "
                "process",
                hint="FROM NOW or FROM STATE; or declare it before the first row; or run it on "
                "Spark, where files are read again",
            )
        if begin is Begin.STATE:
            found = since_in_state(plan, self._options_of(name, plan), self._plans)
            return self._span if found is None else found
        replaced = self.catalog.get(name)
        if begin is None and isinstance(replaced, QueryEntry):
            return since_of(self._program_of[replaced.name].plans[replaced.name])
        return self._span

    def _query_replaced(self, name: str, entry: QueryEntry, program: Program) -> LocalQuery:
        # Operators that both need must never be without a reader.
        self._host.add_plans({_REPLACING: program.plans[entry.name]})
        try:
            return super()._query_replaced(name, entry, program)
        finally:
            self._host.remove_query(_REPLACING)

    def _query_declared(self, entry: QueryEntry, program: Program) -> LocalQuery:
        # What is still on its way belongs to the queries that were there when it was pushed.
        self._carry_through()
        query = LocalQuery(self, entry.name, entry.plan, entry.sink)
        query.rows_before = self._rows_read(entry)
        self._queries[entry.name] = query
        self._begin(entry.name, program)
        return query

    def _begin(self, name: str, program: Program) -> None:
        """Run a query from here on."""
        self._host.add_plans(program.plans)
        self._program_of[name] = program
        self._follow_plans()
        self._host.subscribe(name, self._queries[name].receive)

    def _query_altered(self, entry: QueryEntry, program: Program, why: Why) -> None:
        self._carry_through(f"query `{entry.name}` cannot be altered")
        query = self._queries[entry.name]
        if not query.isActive:
            raise NotExecutable(
                f"query `{entry.name}` has ended, and computes nothing any more",
                hint=f"SET the option and CREATE OR REPLACE QUERY {entry.name}",
            )
        if self._rows_read(entry) == query.rows_before:
            # It keeps nothing yet, so any operators will do.
            self._host.remove_query(entry.name)
            self._begin(entry.name, program)
            return
        wanted, how = program.plans[entry.name], why.how or entry.options.migration
        self._host.retain()
        with self._turn.running():
            plans = alter(self._host, self._plans, entry.name, wanted, how, why.reason)
        self._program_of[entry.name] = replace(program, plans={entry.name: plans[entry.name]})
        self._follow_plans()

    def _rows_read(self, entry: QueryEntry) -> int:
        """How many rows have come to the streams of a query, since they were declared."""
        return sum(self._host.inputs[name].tally.read for name in streams_of(entry.plan))

    def _query_dropped(self, name: str) -> None:
        self._host.remove_query(name)
        del self._program_of[name]
        self._queries.pop(name).close()
        self._follow_plans()

    def _stream_declared(self, entry: StreamEntry) -> None:
        if entry.late is not None:
            whose, schema = f"late rows of {entry.name}", late_schema(entry.stream)
            self._late[entry.name] = open_sink(entry.name, whose, entry.late, schema)
        self._host.add_stream(entry.stream)

    def _stream_dropped(self, name: str) -> None:
        self._host.remove_stream(name)
        self._supplies.pop(name, None)
        self._reading.pop(name, None)
        self._unreadable.pop(name, None)
        self._rejected.forget(name)
        self._late_warnings.forget(name)
        late = self._late.pop(name, None)
        if late is not None:
            late.close()

    def _take_rejected(self, rejected: RejectedRows) -> None:
        sink = self._late.get(rejected.stream)
        if sink is None:
            self._parts_rejected += 1
            self._rejected.put(rejected, self._parts_rejected)
            return
        stream = self.declared_stream(rejected.stream).stream
        sink.write(as_late_rows(stream, rejected.reason, rejected.rows, self._host.clock.now()))

    def _settings_changed(self) -> None:
        settings = self.catalog.settings
        policy = LatePolicy(settings.late)
        if policy.lets_in:
            for entry in self.catalog.queries:
                late_rows({entry.name: entry.plan}, settings.options)
                raise NotExecutable(
                    f"query `{entry.name}` is running with an algorithm that does not support late "
                    f"= {settings.late}",
                    hint="SET late before the queries are declared",
                )
        self._host.set_late(policy)
        self._host.set_max_jump(settings.jump)
        self._host.executor.rows_per_step = settings.rows_per_step
        self._host.executor.table.set_strategy(strategy_named(settings.strategy))
        self._host.enabling.change(settings.ets, by_arcs=settings.ets_by == "arcs")
