"""BaseEngine: what every engine does with SQL, whatever host it runs on.

Statements change the catalog; an engine learns of it through one method per event. A query is
checked before anything changes: what cannot run is refused when it is declared.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from typing import Any, TypeAlias

from penstock.catalog.catalog import Catalog, QueryEntry, StreamEntry
from penstock.errors import (
    CannotWindow,
    DuplicateName,
    MalformedRow,
    NotExecutable,
    Position,
    QueryError,
    UnknownName,
)
from penstock.io.results import FILE_FORMATS, same_place
from penstock.io.static_tables import read_table, table_of
from penstock.io.storage.hidden_files import passed_over
from penstock.io.storage.places import would_read
from penstock.model.releases import Releases
from penstock.model.schema import Column, suggest
from penstock.model.streams import Stream, Timing
from penstock.model.timestamps import to_ticks
from penstock.optimizer.explain import explain
from penstock.optimizer.optimize import optimize
from penstock.optimizer.physical import PhysicalPlan, Program
from penstock.plan.blockers import Blockers, StreamProgress, blocked_by
from penstock.plan.explain import explain as explain_logical
from penstock.plan.graph import QueryGraph, streams_of
from penstock.plan.nodes import Node
from penstock.sql.parse.parser import parse
from penstock.sql.parse.statements import (
    BareSelect,
    CreateQuery,
    CreateStream,
    CreateTable,
    Drop,
    Explain,
    Set,
    Sink,
    Statement,
)
from penstock.sql.parse.units import length_of

#: How late rows may come: a length of time, ticks, or words; None: no promise at all.
Slack: TypeAlias = timedelta | int | str | None


@contextmanager
def _at(position: Position) -> Iterator[None]:
    """Errors raised inside that know no place get this one."""
    try:
        yield
    except QueryError as error:
        error.position = error.position or position
        raise


class BaseEngine(ABC):
    """Carries out statements; subclasses run what they declare."""

    def __init__(self) -> None:
        self.catalog = Catalog()
        self.programs: dict[str, Program] = {}  # by query, as it was declared

    def sql(self, text: str) -> Any:
        """Execute statements; gives what the last one gives.

        A query gives its handle, EXPLAIN its text, everything else None.
        """
        outcome = None
        for statement in parse(text):
            outcome = self.execute(statement)
        return outcome

    @property
    def plans(self) -> dict[str, PhysicalPlan]:
        """The operators that compute each query."""
        return {name: program.plans[name] for name, program in self.programs.items()}

    def explain(self, name: str, plan: Node) -> str:
        """A query with the operators chosen for it and why, and the bounds that it uses."""
        try:
            program = self.programs.get(name) or self.optimized(name, plan)
        except NotExecutable as error:
            return f"{explain_logical(plan)}\n\n{error.message}"
        return explain(program.plans[name])

    def optimized(self, name: str, plan: Node) -> Program:
        """The operators that a query would get now; NotExecutable if there are none."""
        return optimize({name: plan}, self.catalog.settings.options, running=self.plans)

    def why(self, name: str) -> Blockers:
        """What holds a running query back; printed, it is what EXPLAIN LIVE says."""
        entry = self.catalog.get(name)
        if not isinstance(entry, QueryEntry):
            known = [entry.name for entry in self.catalog.queries]
            raise UnknownName(f"no query `{name}`", hint=suggest(name, known))
        return blocked_by(
            entry.name,
            self.programs[entry.name].queries[entry.name],
            self._stream_progress(),
            self._releases(entry.name),
            now=self.now(),
            union=self.catalog.settings.union,
            ets=self.catalog.settings.ets,
        )

    def query_graph(self) -> QueryGraph:
        """All standing queries as one graph, equal sub-plans drawn once."""
        return QueryGraph({entry.name: entry.plan for entry in self.catalog.queries})

    def declared_stream(self, name: str) -> StreamEntry:
        """A stream by its name, whatever its case."""
        entry = self.catalog.get(name)
        if not isinstance(entry, StreamEntry):
            known = [entry.name for entry in self.catalog.streams]
            raise UnknownName(f"no stream `{name}`", hint=suggest(name, known))
        return entry

    def columns_in(self, name: str, columns: str | None) -> tuple[Column, ...]:
        """The columns of a stream that the program declares: "k BIGINT, ts TIMESTAMP"."""
        if columns is None:
            raise MalformedRow(
                name,
                f"the columns of stream `{name}` are not known",
                hint='declare them: columns="k BIGINT, ts TIMESTAMP"',
            )
        [statement] = parse(f"CREATE STREAM s ({columns})")
        assert isinstance(statement, CreateStream)
        return statement.stream.columns

    def slack_in(self, name: str, slack: Slack) -> tuple[int | None, Timing]:
        """How late rows of a stream may come that the program declares, and what else it says.

        A timedelta, a number of ticks, or words as in SQL: "5 seconds", "20 rows".
        """
        if isinstance(slack, str) and not slack.strip().isdecimal():
            length, unit = length_of(slack)
            return (None, Timing(rows_late=length)) if unit == "rows" else (length, Timing())
        if isinstance(slack, timedelta):
            return slack // timedelta(microseconds=1), Timing()
        if slack is None or (isinstance(slack, (str, int)) and not isinstance(slack, bool)):
            return None if slack is None else int(slack), Timing()
        raise CannotWindow(
            f"stream `{name}`: slack {slack!r} is not a duration",
            hint='write slack="5 seconds", timedelta(seconds=5), or None for no promise',
        )

    def passed_over(self, stream: str) -> list[str]:
        """Files of a stream's directory that are not read, each with the reason."""
        origin = self.declared_stream(stream).stream.origin
        if origin.path is None or origin.format not in FILE_FORMATS:
            return []
        return passed_over(origin.path, origin.format)

    def table(self, name: str, rows: Any, *, columns: str | None = None) -> None:
        """Declare a static table, which streams can be joined with.

        Rows are a list of dicts or tuples, a table (Polars, pandas, Arrow) or a path to a file or
        directory of parquet, csv or json. `columns` declares them: "k BIGINT, name STRING"; a
        table and a parquet file bring their own.
        """
        declared = None if columns is None else self.columns_in(name, columns)
        self.catalog.add_table(table_of(name, rows, declared))

    # -- what subclasses do -------------------------------------------------------------------

    @abstractmethod
    def _stream_progress(self) -> dict[str, StreamProgress]:
        """How far each stream is."""

    @abstractmethod
    def _releases(self, query: str) -> Releases | None:
        """What lets the next row of a query out; None: not known yet."""

    def now(self) -> int:
        """The clock by which streams are silent."""
        return to_ticks(datetime.now(timezone.utc))

    def _check(self, entry: QueryEntry) -> None:  # noqa: B027  # most hosts run all there is
        """Refuse a query that this host cannot run; nothing has changed yet."""

    @abstractmethod
    def _check_sink(self, sink: Sink) -> None:
        """Refuse a sink that this host cannot write to; nothing has changed yet."""

    @abstractmethod
    def _query_declared(self, entry: QueryEntry) -> Any:
        """A query is in the catalog; gives its handle. An older one of that name is gone."""

    @abstractmethod
    def _query_dropped(self, name: str) -> None: ...

    @abstractmethod
    def _stream_declared(self, entry: StreamEntry) -> None:
        """A stream is in the catalog. An older one of that name is gone."""

    @abstractmethod
    def _stream_dropped(self, name: str) -> None: ...

    @abstractmethod
    def _settings_changed(self) -> None:
        """Follow the settings, or refuse what this host cannot honour before following any."""

    # -----------------------------------------------------------------------------------------

    def execute(self, statement: Statement) -> Any:
        """Carry out one statement."""
        match statement:
            case Explain():
                return self._explain(statement)
            case BareSelect():
                return self._declare(self._named(statement))
            case CreateQuery():
                return self._declare(statement)
            case CreateTable():
                with _at(statement.position):
                    table = read_table(statement.table)
                    self.catalog.add_table(table, replace=statement.replace)
                return None
        if isinstance(statement, Set):
            return self._set(statement)
        replaced = None
        if isinstance(statement, CreateStream):
            replaced = self.catalog.get(statement.name)
            self._check_late(statement)
        entry = self.catalog.apply(statement)
        match statement:
            case CreateStream() if isinstance(entry, StreamEntry):
                if replaced is not None:
                    self._stream_dropped(replaced.name)
                self._stream_declared(entry)
            case Drop() if isinstance(entry, StreamEntry):
                self._stream_dropped(entry.name)
            case Drop() if isinstance(entry, QueryEntry):
                del self.programs[entry.name]
                self._query_dropped(entry.name)
        return None

    def _set(self, statement: Set) -> None:
        """Change a setting; where this host cannot honour it, it stays as it was."""
        before = self.catalog.settings
        self.catalog.apply(statement)
        try:
            with _at(statement.position):
                self._settings_changed()
        except QueryError:
            self.catalog.settings = before
            raise

    def _declare(self, statement: CreateQuery) -> Any:
        entry = self.catalog.bind_query(statement)
        try:
            program = self.optimized(entry.name, entry.plan)
            self._check(entry)
            if entry.sink is not None:
                self._check_sink(entry.sink)
                self._check_place(entry.name, entry.sink, streams_of(entry.plan).values())
        except QueryError as error:
            error.position = error.position or statement.position
            raise
        replaced = self.catalog.get(entry.name)
        with _at(statement.position):
            self.catalog.add_query(entry)
        if replaced is not None:
            self._query_dropped(replaced.name)
        self.programs[entry.name] = program
        return self._query_declared(entry)

    def _check_late(self, statement: CreateStream) -> None:
        if statement.late is None:
            return
        try:
            self._check_sink(statement.late)
            self._check_place(statement.name, statement.late, [statement.stream])
        except QueryError as error:
            error.position = error.position or statement.position
            raise

    def _check_place(self, name: str, sink: Sink, streams: Iterable[Stream]) -> None:
        """Refuse a sink that would write over another one's files, or into its own streams."""
        if sink.path is None:
            return
        for stream in streams:
            source = stream.origin.path
            is_path = source is not None and stream.origin.format != "workload"
            if is_path and would_read(str(source), sink.path):
                raise NotExecutable(
                    f"stream `{stream.name}` reads what lies in `{sink.path}`: results written "
                    "there would come back as rows",
                    hint=f"name a directory after INTO that is not in `{source}`",
                )
        others = [(entry.kind, entry.name, entry.sink) for entry in self.catalog.queries]
        others += [(entry.kind, entry.name, entry.late) for entry in self.catalog.streams]
        for kind, other, taken in others:
            if taken is None or taken.path is None or other.lower() == name.lower():
                continue
            if same_place(taken.path, sink.path):
                raise DuplicateName(
                    f"{kind} `{other}` writes into `{sink.path}` already",
                    hint="name another directory after INTO",
                )

    def _named(self, statement: BareSelect) -> CreateQuery:
        number = 1
        while self.catalog.get(f"query_{number}") is not None:
            number += 1
        return CreateQuery(statement.position, f"query_{number}", statement.select)

    def _explain(self, statement: Explain) -> str:
        target = statement.target
        if isinstance(target, str) and statement.live:
            with _at(statement.position):
                return str(self.why(target))
        if isinstance(target, str):
            entry = self.catalog.get(target)
            if entry is None:
                known = list(self.catalog.relations())
                raise UnknownName(
                    f"nothing is called `{target}`",
                    position=statement.position,
                    hint=suggest(target, known),
                )
            return self.explain(entry.name, entry.plan)
        query = target if isinstance(target, CreateQuery) else self._named(target)
        return self.explain(query.name, self.catalog.bind_query(query).plan)
