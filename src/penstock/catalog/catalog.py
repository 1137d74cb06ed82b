"""What has been declared: streams, static tables, views, queries and settings.

Streams, tables, views and queries share one set of names, whatever their case. What others read
cannot be dropped or replaced under them. Statements are carried out in a catalog by
`runtime/declarations.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar

from penstock.catalog.function_names import check_function_name
from penstock.catalog.settings import Settings
from penstock.errors import (
    DuplicateName,
    QueryError,
    UnknownName,
)
from penstock.model.assignments import ParameterValue
from penstock.model.begin import Begin
from penstock.model.host_functions import HostFunctions
from penstock.model.schema import suggest
from penstock.model.streams import Sink, Stream
from penstock.model.tables import StaticTable
from penstock.model.user_defined import UserDefined, mended
from penstock.optimizer.options import Options
from penstock.plan.nodes import Node, Source, Table


@dataclass(frozen=True)
class StreamEntry:
    """A declared stream."""

    stream: Stream
    late: Sink | None = None
    kind = "stream"
    reads: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        return self.stream.name

    @property
    def plan(self) -> Node:
        return Source(self.stream)


@dataclass(frozen=True)
class TableEntry:
    """A declared static table."""

    table: StaticTable
    kind = "table"
    reads: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        return self.table.name

    @property
    def plan(self) -> Node:
        return Table(self.table)


@dataclass(frozen=True)
class ViewEntry:
    """A named plan."""

    name: str
    plan: Node
    reads: frozenset[str]  # in lower case
    sql: str
    kind = "view"


@dataclass(frozen=True)
class QueryEntry:
    """A continuous query, and the options that were set when it was declared."""

    name: str
    plan: Node
    reads: frozenset[str]  # in lower case
    sql: str
    options: Options
    sink: Sink | None = None
    begin: Begin | None = None  # from when on it sees rows; None: as it does unless told
    kind = "query"


def _by_plan(entry: ViewEntry | QueryEntry, plan: Node) -> ViewEntry | QueryEntry:
    """The same view or query by another plan."""
    return replace(entry, plan=plan)


Entry: TypeAlias = StreamEntry | TableEntry | ViewEntry | QueryEntry
AnyEntry = TypeVar("AnyEntry", bound=Entry)
AnyBound = TypeVar("AnyBound", ViewEntry, QueryEntry)


class Catalog:
    """The names that queries can use."""

    def __init__(self, host: HostFunctions | None = None) -> None:
        self.settings = Settings()
        self.host = host
        self._entries: dict[str, Entry] = {}
        self._functions: dict[str, UserDefined] = {}

    @property
    def streams(self) -> list[StreamEntry]:
        return [entry for entry in self._entries.values() if isinstance(entry, StreamEntry)]

    @property
    def tables(self) -> list[TableEntry]:
        return [entry for entry in self._entries.values() if isinstance(entry, TableEntry)]

    @property
    def views(self) -> list[ViewEntry]:
        return [entry for entry in self._entries.values() if isinstance(entry, ViewEntry)]

    @property
    def queries(self) -> list[QueryEntry]:
        return [entry for entry in self._entries.values() if isinstance(entry, QueryEntry)]

    def get(self, name: str) -> Entry | None:
        """What the name stands for, whatever its case."""
        return self._entries.get(name.lower())

    def entry(self, name: str) -> Entry:
        """The same; UnknownName if it stands for nothing."""
        found = self.get(name)
        if found is None:
            raise UnknownName(
                f"no stream, table, view or query `{name}`",
                hint=suggest(name, self.relations()),
            )
        return found

    def relation(self, name: str) -> Node | None:
        entry = self.get(name)
        return entry.plan if entry else None

    def relations(self) -> Iterable[str]:
        return [entry.name for entry in self._entries.values()]

    @property
    def time_zone(self) -> str:
        return self.settings.time_zone

    @property
    def match_rows(self) -> int:
        return self.settings.match_rows

    @property
    def functions(self) -> list[UserDefined]:
        """What users have defined, in the order in which they have."""
        return list(self._functions.values())

    def function(self, name: str) -> UserDefined | None:
        return self._functions.get(name.lower())

    def add_function(self, function: UserDefined, *, replace: bool = False) -> None:
        """Declare a function; queries that use one declared alike get its code."""
        check_function_name(function, self.function(function.name), replace=replace)
        self._functions[function.name.lower()] = function
        for key, entry in self._entries.items():
            if isinstance(entry, ViewEntry | QueryEntry):
                plan = mended(entry.plan, function)
                if plan is not entry.plan:
                    self._entries[key] = _by_plan(entry, plan)

    def drop_function(self, kind: str, name: str, *, if_exists: bool = False) -> None:
        """Forget a function; queries that use it keep it."""
        found = self.function(name)
        if found is not None and found.kind == kind:
            del self._functions[name.lower()]
        elif found is not None or not if_exists:
            known = [each.name for each in self.functions if each.kind == kind]
            raise UnknownName(f"no {kind} `{name}` was declared", hint=suggest(name, known))

    @property
    def parameters(self) -> Mapping[str, ParameterValue]:
        return self.settings.parameters

    def readers_of(self, name: str) -> list[Entry]:
        """The views and queries that read it directly."""
        return [entry for entry in self._entries.values() if name.lower() in entry.reads]

    def read_by(self, entry: Entry) -> list[str]:
        """What a view or query reads directly, as it was declared."""
        return [other.name for key, other in self._entries.items() if key in entry.reads]

    def add_stream(
        self, stream: Stream, *, replace: bool = False, late: Sink | None = None
    ) -> StreamEntry:
        """Declare a stream that the program made, without SQL."""
        self.check_name(stream.name, "stream", replace)
        return self._add(StreamEntry(stream, late))

    def add_table(self, table: StaticTable, *, replace: bool = False) -> TableEntry:
        """Declare a static table, read or not."""
        self.check_name(table.name, "table", replace)
        return self._add(TableEntry(table))

    def add_bound(self, entry: AnyBound) -> AnyBound:
        """Declare a view or query; its name was checked before it was bound."""
        return self._add(entry)

    def forget(self, entry: Entry) -> None:
        """Take back a declaration that could not be carried out."""
        if self.get(entry.name) is entry:
            del self._entries[entry.name.lower()]

    def alter(self, entry: QueryEntry) -> QueryEntry:
        """Give a declared query other options; gives the entry that it had.

        Its plan stays as it is, so this matters to nobody who reads it.
        """
        before = self.query(entry.name)
        self._entries[entry.name.lower()] = entry
        return before

    def options_of(self, entry: Entry) -> Options:
        """What a query runs by, or anything else would if it were one."""
        if isinstance(entry, QueryEntry):
            return self.settings.options_for(entry.options)
        return self.settings.options

    def all_read_by(self, names: Iterable[str]) -> dict[str, str]:
        """Everything read, directly or through others -> the name that reads it."""
        found: dict[str, str] = {}
        waiting = list(names)
        while waiting:
            entry = self._entries[waiting.pop()]
            for name in entry.reads - found.keys():
                found[name] = entry.name
                waiting.append(name)
        return found

    def check_name(self, name: str, kind: str, replace: bool) -> None:
        """Refuse a name that is none, or that is taken and cannot be taken over."""
        if not name:
            raise DuplicateName(f"a {kind} needs a name", hint="it cannot be empty")
        existing = self.get(name)
        if existing is None:
            return
        if not replace:
            raise DuplicateName(
                f"{existing.kind} `{existing.name}` exists already",
                hint=f"choose another name, or write CREATE OR REPLACE {kind.upper()}",
            )
        if existing.kind != kind:
            raise DuplicateName(
                f"`{existing.name}` is a {existing.kind}, and cannot be replaced by a {kind}",
                hint=f"DROP {existing.kind.upper()} {existing.name} first",
            )

    def _add(self, entry: AnyEntry) -> AnyEntry:
        existing = self.get(entry.name)
        if existing is not None:
            self._check_unread(existing, "replaced")
        self._entries[entry.name.lower()] = entry
        return entry

    def query(self, name: str) -> QueryEntry:
        """A declared query; UnknownName if there is none of that name."""
        entry = self.get(name)
        if isinstance(entry, QueryEntry):
            return entry
        if entry is None:
            known = [query.name for query in self.queries]
            raise UnknownName(f"no query `{name}`", hint=suggest(name, known))
        raise UnknownName(
            f"no query `{name}`, but a {entry.kind} of that name",
            hint=f"only queries can be altered; CREATE OR REPLACE {entry.kind.upper()} "
            f"{entry.name} declares it anew",
        )

    def drop(self, kind: str, name: str, *, if_exists: bool = False) -> Entry | None:
        """Forget a stream, table, view or query; gives its entry, if there was one."""
        entry = self.get(name)
        if entry is None or entry.kind != kind:
            if if_exists and entry is None:
                return None
            known = [e.name for e in self._entries.values() if e.kind == kind]
            is_other = f", but a {entry.kind} of that name" if entry else ""
            raise UnknownName(
                f"no {kind} `{name}`{is_other}",
                hint=f"write DROP {entry.kind.upper()} {entry.name}"
                if entry
                else f"{suggest(name, known)}; DROP {kind.upper()} IF EXISTS accepts that",
            )
        self._check_unread(entry, "dropped")
        return self._entries.pop(entry.name.lower())

    def _check_unread(self, entry: Entry, what: str) -> None:
        readers = self.readers_of(entry.name)
        if readers:
            names = ", ".join(f"{reader.kind} `{reader.name}`" for reader in readers)
            raise QueryError(
                f"{entry.kind} `{entry.name}` cannot be {what}: it is read by {names}",
                hint=f"drop first: {', '.join(reader.name for reader in readers)}",
            )
