"""A file of statements, carried out on any engine: other settings, other sources, no sinks.

What the file SETs holds unless a way sets it otherwise; where a query refuses that, it gets what
the file says. Static tables are read once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.errors import QueryError
from penstock.io.static_tables import read_table
from penstock.local.engine import LocalEngine
from penstock.model.streams import Origin, Stream, Timing
from penstock.model.tables import StaticTable
from penstock.optimizer.options import Options
from penstock.plan.graph import streams_of
from penstock.plan.nodes import Node
from penstock.runtime.base_engine import BaseEngine
from penstock.sql.parse.parser import parse
from penstock.sql.parse.statements import (
    AlterQuery,
    BareSelect,
    CreateQuery,
    CreateStream,
    CreateTable,
    DescribeStatement,
    Explain,
    SetStatement,
    ShowStatement,
    Statement,
)


@dataclass(frozen=True)
class Planned:
    """A query as it is declared: its plan, and the options that choose its operators."""

    name: str
    plan: Node
    options: Options

    @property
    def streams(self) -> dict[str, Stream]:
        return streams_of(self.plan)


@dataclass
class Script:
    """The statements of a file."""

    statements: Sequence[Statement]
    _tables: dict[StaticTable, StaticTable] = field(default_factory=dict)
    _declared: dict[Any, list[Planned]] = field(default_factory=dict)

    @classmethod
    def of(cls, text: str) -> Script:
        return cls(list(parse(text)))

    def streams(self) -> list[CreateStream]:
        """The streams that the file declares."""
        return [each for each in self.statements if isinstance(each, CreateStream)]

    def declared(
        self, settings: Mapping[str, str] | None = None, queries: Sequence[str] | None = None
    ) -> list[Planned]:
        """The queries that stand at the end of the file, under other settings."""
        key = tuple(sorted((settings or {}).items())), None if queries is None else tuple(queries)
        if key not in self._declared:
            engine = LocalEngine()  # it gets no rows
            self.on(engine, settings or {}, queries=queries)
            self._declared[key] = [
                Planned(entry.name, entry.plan, engine.catalog.options_of(entry))
                for entry in engine.catalog.queries
            ]
        return self._declared[key]

    def on(
        self,
        engine: BaseEngine[Any],
        settings: Mapping[str, str],
        *,
        queries: Sequence[str] | None = None,
        origins: Mapping[str, Origin] | None = None,
    ) -> None:
        """Carry everything out; streams come from `origins`, else rows are pushed.

        Of several queries only those named in `queries` are declared, if any are. What ties a
        stream's time to the clock is left out: what it says then is not to be foreseen.
        """
        number = 0
        for statement in self.statements:
            match statement:
                case Explain() | ShowStatement() | DescribeStatement():
                    continue
                case AlterQuery():
                    if queries is None or statement.name in queries:
                        _alter(engine, statement, settings)
                case SetStatement() if statement.name.lower() in settings:
                    continue
                case CreateStream():
                    origin = (origins or {}).get(statement.name, Origin())
                    # Derived columns come as data, like all others.
                    stream = replace(
                        statement.stream,
                        origin=origin,
                        timing=_own(statement.stream),
                        derived=(),
                    )
                    engine.execute(replace(statement, stream=stream, late=None, in_zone=None))
                case CreateTable():
                    engine.catalog.add_table(self._read(statement), replace=statement.replace)
                case BareSelect() | CreateQuery():
                    if isinstance(statement, BareSelect):
                        number += 1
                        name = f"query_{number}"
                        statement = CreateQuery(statement.position, name, statement.select)
                    if queries is None or statement.name in queries:
                        _declare(engine, replace(statement, sink=None), settings)
                case _:
                    if queries is None or not _is_about_others(statement, queries):
                        engine.execute(statement)

    def _read(self, statement: CreateTable) -> StaticTable:
        if statement.table not in self._tables:
            self._tables[statement.table] = read_table(statement.table)
        return self._tables[statement.table]


def _declare(engine: BaseEngine[Any], query: CreateQuery, settings: Mapping[str, str]) -> None:
    """Declare a query under settings of ours, or as the file has it if it refuses those."""
    as_written = engine.catalog.settings
    try:
        for name, value in settings.items():
            engine.sql(f"SET {name} = {value}")
        engine.execute(query)
        return
    except QueryError:
        if not settings:
            raise
    finally:
        engine.catalog.settings = as_written
    engine.execute(query)


def _alter(engine: BaseEngine[Any], statement: AlterQuery, settings: Mapping[str, str]) -> None:
    """Alter a query as the file does, but for what a way sets, and what is refused without it."""
    changes = [each for each in statement.changes if each.name.lower() not in settings]
    if not changes:
        return
    try:
        engine.execute(replace(statement, changes=tuple(changes)))
    except QueryError:
        if len(changes) == len(statement.changes):
            raise


def _own(stream: Stream) -> Timing:
    """What a stream's rows themselves say of its time."""
    return replace(stream.timing, skew=None, lull=None, heartbeat=None, max_ahead=None)


def _is_about_others(statement: Statement, queries: Sequence[str]) -> bool:
    name = getattr(statement, "name", None)
    kind = getattr(statement, "kind", None)
    return kind == "query" and name not in queries
