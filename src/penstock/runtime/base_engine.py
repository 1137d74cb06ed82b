"""BaseEngine: what every engine does with SQL, whatever host it runs on.

Statements change the catalog; an engine learns of it through one method per event. A query is
checked before anything changes: what cannot run is refused when it is declared.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeVar

from penstock.catalog.catalog import Catalog, QueryEntry, StreamEntry
from penstock.errors import NotExecutable, QueryError, positioned
from penstock.io.inference import infer_columns, shown
from penstock.io.late_rows import late_schema
from penstock.io.results import SINK_FORMATS
from penstock.io.static_tables import read_table, table_of
from penstock.io.storage.hidden_files import passed_over
from penstock.model.begin import Begin
from penstock.model.punctuation import Where, where_of
from penstock.model.schema import Column, Schema
from penstock.model.streams import Origin, Sink, Stream, TimestampKind
from penstock.model.timestamps import to_ticks
from penstock.optimizer.adaptation.watching import Advice
from penstock.optimizer.explain import explain
from penstock.optimizer.joins.alternatives import (
    choices_of,
    left_joins_of,
    shown_alternatives,
)
from penstock.optimizer.joins.choose_tree import TreeChoice
from penstock.optimizer.joins.join_estimates import join_estimates, with_running
from penstock.optimizer.joins.join_tree import JoinTree
from penstock.optimizer.joins.shape_of import shapes_of
from penstock.optimizer.optimize import optimize
from penstock.optimizer.physical import PhysicalPlan, Program
from penstock.optimizer.statistics import Statistics
from penstock.plan.explain import explain as explain_logical
from penstock.plan.graph import streams_of
from penstock.plan.nodes import Node
from penstock.printable import printable
from penstock.runtime.adapting import Adapting, Why
from penstock.runtime.check_places import check_place
from penstock.runtime.declarations import altered, apply, named, query_entry
from penstock.runtime.defining import Defining
from penstock.runtime.description import describe, describe_function
from penstock.runtime.engine_lock import EngineLock
from penstock.runtime.expected import expected
from penstock.runtime.live_figures import live_figures
from penstock.runtime.looking import Looking, Q
from penstock.runtime.query import MAX_RESULTS
from penstock.runtime.rejected_buffers import MAX_REJECTED, RejectedBuffers
from penstock.runtime.show import show
from penstock.runtime.stream_arguments import Slack, columns_in, slack_in
from penstock.sql.bind.user_aggregate.user_aggregate import bind_user_aggregate
from penstock.sql.parse.parser import parse
from penstock.sql.parse.statements import (
    AlterQuery,
    BareSelect,
    CreateAggregate,
    CreateQuery,
    CreateStream,
    CreateTable,
    DescribeStatement,
    Drop,
    Explain,
    InferStream,
    SetStatement,
    ShowStatement,
    Statement,
)

#: How long a thread waits, in seconds, for user code that runs for another one: that may be waiting
#: for this thread.
PATIENCE = 0.5

Engine = TypeVar("Engine", bound="BaseEngine[Any]")


@dataclass
class _Said:
    """What is said of statements that were carried out, if anything is."""

    text: str | None = None


class BaseEngine(Defining, Looking[Q]):
    """Carries out statements; subclasses run what they declare.

    As a context manager it stops everything at the end of the block.

    `max_results`: rows kept of each query whose results nobody fetches; `max_rejected`: rejected
    rows kept of each stream. Older ones are dropped, and counted in the status.
    """

    def __init__(self, *, max_results: int = MAX_RESULTS, max_rejected: int = MAX_REJECTED) -> None:
        self.catalog = Catalog()
        self._statistics = Statistics()
        #: By query, the shapes of its joins: who asks for the same gets the same, with its state.
        self._shapes: dict[str, dict[str, JoinTree]] = {}
        self._adapting = Adapting(self._reshape)
        self._max_results = max_results
        self._queries: dict[str, Q] = {}
        self._rejected = RejectedBuffers(max_rejected)
        self._turn = EngineLock()  # of threads that carry out statements

    def calling_user_code(self) -> AbstractContextManager[None]:
        """While this is open, a subscriber runs: it and other threads may call the engine."""
        return self._turn.outside(in_step=False)

    def __enter__(self: Engine) -> Engine:
        return self

    def __exit__(self, *raised: object) -> None:
        self.stop()

    def sql(self, text: str) -> Q | Any:
        """Execute statements; gives what the last one gives.

        A query gives its handle, EXPLAIN, SHOW and DESCRIBE their text, everything else None; or
        when it takes effect, if that is after the micro-batch that runs on Spark. Which
        of them it is stands in the text, where no type can see it, so the type is the handle or
        Any: a program need not narrow what it knows. `query` and `execute` are typed in full.
        """
        outcome = None
        with self._carrying_out() as said:
            for statement in parse(text, self.catalog.parameters):
                outcome = self._execute(statement)
        return outcome if outcome is not None else said.text

    @property
    def _plans(self) -> dict[str, PhysicalPlan]:
        """The operators that compute each query."""
        return {name: program.plans[name] for name, program in self._programs.items()}

    def explain(self, name: str, plan: Node) -> str:
        """A query with the operators chosen for it and why, and the bounds that it uses."""
        with self._turn:
            try:
                declared = self._declared(name, plan) is not None
                program = self._programs[name] if declared else self._optimized(name, plan)
            except NotExecutable as error:
                return f"{explain_logical(plan)}\n\n{error.message}"
            return "\n\n".join(filter(None, [explain(program.plans[name]), self._expected(plan)]))

    def _expected(self, plan: Node) -> str:
        """By which figures of its joins a query runs, or would; empty: there is no choice."""
        return expected(plan, self._known())

    def alternatives(self, name: str) -> list[TreeChoice]:
        """For each join of a query the plans that there are to choose from, and what they take."""
        with self._turn:
            entry = self.catalog.entry(name)
            return self._choices(entry.name, entry.plan)

    def _choices(self, name: str, plan: Node) -> list[TreeChoice]:
        found = choices_of(plan, self._options_of(name, plan), self._known())
        if self._declared(name, plan) is None:
            return found
        return [with_running(choice, self._plan_of(name)) for choice in found]

    def _plan_of(self, name: str) -> PhysicalPlan:
        """The operators that a query runs by."""
        return self._plans.get(name) or self._programs[name].plans[name]

    def _optimized(
        self, name: str, plan: Node, begin: Begin | None = None, *, anew: bool = False
    ) -> Program:
        """The operators that a query would get now; NotExecutable if there are none.

        `anew`: whatever operators it has.
        """
        options = self._options_of(name, plan)
        since = self._since(name, plan, begin)
        running = {n: runs for n, runs in self._plans.items() if not (anew and n == name)}
        known = self._with_shapes()
        if anew and name in self._plans:
            known = replace(known, altered={name: self._plans[name]})
        return optimize({name: plan}, options, known, running=running, since=since)

    def _with_shapes(self) -> Statistics:
        shapes = {key: tree for each in self._shapes.values() for key, tree in each.items()}
        return replace(self._known(), shapes=shapes)

    def _note_shapes(self, entry: QueryEntry, *, anew: bool = False) -> None:
        """Keep the shapes of a query's joins for others that ask for the same.

        `anew`: whatever shapes it had.
        """
        if anew:
            self._shapes.pop(entry.name, None)
        options = self._options_of(entry.name, entry.plan)
        self._shapes[entry.name] = shapes_of(entry.plan, options, self._with_shapes())

    def _forget_shapes(self, name: str) -> None:
        """A query is gone."""
        self._shapes.pop(name, None)
        self._adapting.forget(name)

    def _known(self) -> Statistics:
        """What is known now of streams and of the machine."""
        return self._statistics

    def _since(self, name: str, plan: Node, begin: Begin | None) -> int:
        """From which change on a query sees rows that is declared now (`SourceSpec`)."""
        return 0

    def punctuate(
        self, stream: str, bound: int | datetime, where: Mapping[str, Any] | None = None
    ) -> None:
        """Say that nothing of the stream below `bound` comes any more.

        With `where`, nothing of the rows that match it: a value for a column, or a pair of values
        for a range from the first to below the second. On Spark, queries get it with their next
        batch.
        """
        ticks = to_ticks(bound) if isinstance(bound, datetime) else bound
        self._punctuate(self.declared_stream(stream).name, ticks, where_of(where or {}))

    def passed_over(self, stream: str) -> list[str]:
        """Files of a stream's directory that are not read, each with the reason."""
        origin = self.declared_stream(stream).stream.origin
        if origin.path is None or origin.format not in SINK_FORMATS:
            return []
        return passed_over(origin.path, origin.format)

    def table(self, name: str, rows: Any, *, columns: str | None = None) -> None:
        """Declare a static table, which streams can be joined with.

        Rows are a list of dicts or tuples, a table (Polars, pandas, Arrow) or a path to a file or
        directory of parquet, csv or json. `columns` declares them: "k BIGINT, name STRING"; a
        table and a parquet file bring their own.
        """
        declared = None if columns is None else columns_in(name, columns)
        found = table_of(name, rows, declared)
        with self._turn:
            self.catalog.add_table(found)

    def _add_stream(
        self,
        name: str,
        columns: tuple[Column, ...],
        origin: Origin,
        timestamp: str | None,
        slack: Slack,
    ) -> Stream:
        """Declare a stream that the program brings."""
        ticks, timing = slack_in(name, slack)
        kind = TimestampKind.LATENT if timestamp is None else TimestampKind.EXTERNAL
        declared = Stream(name, columns, kind, timestamp, ticks, origin, timing)
        self._stream_declared(self.catalog.add_stream(declared))
        return declared

    # -- what subclasses do -------------------------------------------------------------------

    @property
    @abstractmethod
    def _programs(self) -> Mapping[str, Program]:
        """By query that is declared, what it runs in or will."""

    @abstractmethod
    def _punctuate(self, stream: str, bound: int, where: Where) -> None:
        """Tell queries of punctuation from the program; the stream is declared."""

    @abstractmethod
    def stop(self) -> Any:
        """Stop all queries; what they have put out stays."""

    def _check(self, entry: QueryEntry) -> None:  # most hosts run all there is
        """Refuse a query that this host cannot run; nothing has changed yet."""

    @abstractmethod
    def _check_sink(self, sink: Sink, schema: Schema) -> None:
        """Refuse a sink that this host cannot write such rows to; nothing has changed yet."""

    @abstractmethod
    def _query_declared(self, entry: QueryEntry, program: Program) -> Q:
        """A query is in the catalog; gives its handle. An older one of that name is gone."""

    @abstractmethod
    def _query_altered(self, entry: QueryEntry, program: Program, why: Why) -> None:
        """A query has other options in the catalog: follow, or refuse before following any."""

    @abstractmethod
    def _query_dropped(self, name: str) -> None: ...

    def _query_replaced(self, name: str, entry: QueryEntry, program: Program) -> Q:
        """A query is in the catalog instead of the one that was called so; gives its handle."""
        self._query_dropped(name)
        self._forget_shapes(name)
        return self._query_declared(entry, program)

    @abstractmethod
    def _stream_declared(self, entry: StreamEntry) -> None:
        """A stream is in the catalog. An older one of that name is gone."""

    @abstractmethod
    def _stream_dropped(self, name: str) -> None: ...

    @abstractmethod
    def _settings_changed(self) -> None:
        """Follow the settings, or refuse what this host cannot honour before following any."""

    def _follow_statements(self) -> Callable[[], str]:  # most hosts follow each at once
        """Statements that were given together have been carried out.

        Gives what is left to do when others may carry out theirs: to wait for something, and to say
        when they take effect, if they have not yet.
        """
        return lambda: ""

    # -----------------------------------------------------------------------------------------

    def execute(self, statement: Statement) -> Q | str | None:
        """Carry out one statement."""
        outcome: Q | str | None = None
        with self._carrying_out() as said:
            outcome = self._execute(statement)
        return outcome if outcome is not None else said.text

    @contextmanager
    def _carrying_out(self) -> Iterator[_Said]:
        """Let statements take effect together, those of one thread after those of another."""
        wait: Callable[[], str] | None = None
        said = _Said()
        try:
            with self._turn:
                self._turn.wait_for_runs(PATIENCE)
                try:
                    yield said
                finally:
                    wait = self._follow_statements()
        finally:
            if wait is not None:
                said.text = wait() or None

    def _execute(self, statement: Statement) -> Q | str | None:
        match statement:
            case Explain():
                return printable(self._explain(statement))
            case ShowStatement():
                return printable(show(statement.what, self.catalog, self.status))
            case DescribeStatement():
                function = self.catalog.function(statement.name)
                if function is not None and self.catalog.get(statement.name) is None:
                    return printable(describe_function(function))
                with positioned(statement.place):
                    described = self.catalog.entry(statement.name)
                return printable(describe(described, self.catalog, self.status()))
            case BareSelect():
                return self._declare(named(statement, self.catalog))
            case CreateQuery():
                return self._declare(statement)
            case CreateTable():
                with positioned(statement.position):
                    table = read_table(statement.table)
                    self.catalog.add_table(table, replace=statement.replace)
            case CreateAggregate():
                with positioned(statement.position):
                    found = bind_user_aggregate(statement, self.catalog)
                    self._add_function(found, replace=statement.replace)
            case SetStatement():
                self._set(statement)
            case AlterQuery():
                self._alter(statement)
            case InferStream():
                with positioned(statement.position):
                    columns = infer_columns(statement.name, statement.origin)
                self._execute(statement.declare(columns))
                return f"stream `{statement.name}` has the columns {shown(columns)}"
            case CreateStream():
                replaced = self.catalog.get(statement.name)
                self._check_late(statement)
                entry = apply(statement, self.catalog)
                if replaced is not None:
                    self._stream_dropped(replaced.name)
                if isinstance(entry, StreamEntry):
                    with self._taken_back(entry):
                        self._stream_declared(entry)
            case _:
                dropped = apply(statement, self.catalog)
                if isinstance(statement, Drop) and isinstance(dropped, StreamEntry):
                    self._stream_dropped(dropped.name)
                elif isinstance(statement, Drop) and isinstance(dropped, QueryEntry):
                    self._query_dropped(dropped.name)
                    self._forget_shapes(dropped.name)
        return None

    def _set(self, statement: SetStatement) -> None:
        """Change a setting; where this host cannot honour it, it stays as it was."""
        before = self.catalog.settings
        apply(statement, self.catalog)
        try:
            with positioned(statement.position):
                self._settings_changed()
        except QueryError:
            self.catalog.settings = before
            raise

    def _alter(self, statement: AlterQuery) -> None:
        """Give a query other options; where this host cannot honour them, it keeps those it had."""
        entry = altered(statement, self.catalog)
        before = self.catalog.alter(entry)
        try:
            with positioned(statement.position):
                program = self._optimized(entry.name, entry.plan, anew=True)
                self._check(entry)
                self._query_altered(entry, program, Why())
                self._note_shapes(entry)
        except QueryError:
            self.catalog.alter(before)
            raise

    def _reshape(self, entry: QueryEntry, advice: Advice, why: Why) -> None:
        """Have a join of a query run in another shape; NotExecutable if it cannot just now."""
        before = self._shapes.pop(entry.name, {})
        # Of queries that have the same join the last one counts.
        self._shapes[entry.name] = {**before, advice.key: advice.proposal.tree}
        try:
            program = self._optimized(entry.name, entry.plan, anew=True)
            self._query_altered(entry, program, why)
        except BaseException:
            self._shapes[entry.name] = before
            raise

    def _declare(self, statement: CreateQuery) -> Q:
        entry = query_entry(statement, self.catalog)
        with positioned(statement.position):
            program = self._optimized(entry.name, entry.plan, entry.begin)
            self._check(entry)
            if entry.sink is not None:
                self._check_sink(entry.sink, entry.plan.schema)
                check_place(self.catalog, entry.name, entry.sink, streams_of(entry.plan).values())
            replaced = self.catalog.get(entry.name)
            self.catalog.add_bound(entry)
        with self._taken_back(entry):
            if replaced is None:
                found = self._query_declared(entry, program)
            else:
                found = self._query_replaced(replaced.name, entry, program)
            self._note_shapes(entry)
            return found

    @contextmanager
    def _taken_back(self, entry: QueryEntry | StreamEntry) -> Iterator[None]:
        """Take a declaration back if this host fails to carry it out: a sink may not open."""
        try:
            yield
        except BaseException:
            self.catalog.forget(entry)
            raise

    def _check_late(self, statement: CreateStream) -> None:
        if statement.late is None:
            return
        with positioned(statement.position):
            self._check_sink(statement.late, late_schema(statement.stream))
            check_place(self.catalog, statement.name, statement.late, [statement.stream])

    def _explain_live(self, name: str) -> str:
        """What a query waits for, and what was measured while it runs."""
        query = self.query(name).status
        told = [str(query.blockers), live_figures(query, self._operator_statuses())]
        changes = "".join(f"\n  {each}" for each in self.migrations_of(query.name))
        told += [f"operators that have changed:{changes}"] if changes else []
        better = "".join(f"\n  {each}" for each in self._adapting.advice_of(query.name))
        told += [f"joins that would be better:{better}"] if better else []
        return "\n\n".join(filter(None, told))

    def _explain(self, statement: Explain) -> str:
        target = statement.target
        if isinstance(target, str) and statement.live:
            with positioned(statement.position):
                return self._explain_live(target)
        if isinstance(target, str):
            with positioned(statement.position):
                entry = self.catalog.entry(target)
            return self._explained(statement, entry.name, entry.plan)
        query = target if isinstance(target, CreateQuery) else named(target, self.catalog)
        return self._explained(statement, query.name, query_entry(query, self.catalog).plan)

    def _measured(self, name: str, plan: Node) -> str:
        """What was measured of a query that runs, or ran."""
        if self._declared(name, plan) is None:
            raise NotExecutable(
                "EXPLAIN (ANALYZE) shows what was measured, and this query has not run",
                hint="give it a name by CREATE QUERY, and explain that when rows have come; or "
                "./penstock explain --analyze FILE, which runs the queries of a file",
            )
        estimates = dict(join_estimates(self._plan_of(name), self._choices(name, plan)))
        return live_figures(self.query(name).status, self._operator_statuses(), estimates)

    def _explained(self, statement: Explain, name: str, plan: Node) -> str:
        """A plan, and what else was asked for."""
        shown = [self.explain(name, plan)]
        if statement.alternatives:
            lefts = left_joins_of(plan, self._options_of(name, plan), self._known())
            shown.append(shown_alternatives(self._choices(name, plan), lefts))
        if statement.analyze:
            with positioned(statement.position):
                shown.append(self._measured(name, plan))
        return "\n\n".join(shown)
