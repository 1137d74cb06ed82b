"""Statements that declare, carried out in a catalog.

A view or query is bound when it is declared, so it can only read what was declared before. The
catalog itself knows no SQL.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.catalog.altering import altered_options
from penstock.catalog.catalog import Catalog, Entry, QueryEntry, ViewEntry
from penstock.errors import CyclicView, Position, positioned
from penstock.sql.bind.query import BoundQuery, bind
from penstock.sql.bind.user_aggregate.user_aggregate import bind_user_aggregate
from penstock.sql.parse.statements import (
    AlterQuery,
    BareSelect,
    CreateAggregate,
    CreateQuery,
    CreateStream,
    CreateTable,
    CreateView,
    Declare,
    Drop,
    ParsedQuery,
    SetStatement,
    Statement,
)


def apply(statement: Statement, catalog: Catalog) -> Entry | None:
    """Carry out a declaration; the entry that it made or removed, if any."""
    with positioned(statement.position):
        match statement:
            case CreateStream(stream=stream, in_zone=in_zone):
                if in_zone is not None:
                    stream = in_zone(catalog.time_zone)
                return catalog.add_stream(stream, replace=statement.replace, late=statement.late)
            case CreateTable():
                return catalog.add_table(statement.table, replace=statement.replace)
            case CreateAggregate():
                found = bind_user_aggregate(statement, catalog)
                catalog.add_function(found, replace=statement.replace)
            case CreateView():
                catalog.check_name(statement.name, "view", statement.replace)
                bound = _bind(statement.name, statement.select, catalog)
                view = ViewEntry(statement.name, bound.plan, bound.reads, statement.sql)
                return catalog.add_bound(view)
            case CreateQuery():
                return catalog.add_bound(query_entry(statement, catalog))
            case AlterQuery():
                catalog.alter(altered(statement, catalog))
            case Drop(kind="aggregate" | "function" as kind, name=name, if_exists=if_exists):
                catalog.drop_function(kind, name, if_exists=if_exists)
            case Drop():
                return catalog.drop(statement.kind, statement.name, if_exists=statement.if_exists)
            case SetStatement():
                catalog.settings = catalog.settings.with_value(statement.name, statement.value)
            case Declare():
                catalog.settings = catalog.settings.with_parameter(
                    statement.name, statement.value, replaces=statement.replace
                )
    return None


def query_entry(statement: CreateQuery, catalog: Catalog) -> QueryEntry:
    """The entry that a CREATE QUERY would make; the catalog stays as it is."""
    with positioned(statement.position):
        catalog.check_name(statement.name, "query", statement.replace)
        catalog.settings.check_used()
        bound = _bind(statement.name, statement.select, catalog)
        return QueryEntry(
            statement.name,
            bound.plan,
            bound.reads,
            statement.sql,
            catalog.settings.options,
            statement.sink,
            statement.begin,
        )


def altered(statement: AlterQuery, catalog: Catalog) -> QueryEntry:
    """The entry that an ALTER QUERY would make; the catalog stays as it is."""
    with positioned(statement.place):
        entry = catalog.query(statement.name)
    with positioned(statement.position):
        options = altered_options(entry.name, entry.options, statement.changes)
    return replace(entry, options=options)


def named(statement: BareSelect, catalog: Catalog) -> CreateQuery:
    """A SELECT by itself as a query, under the first number that is free."""
    number = 1
    while catalog.get(f"query_{number}") is not None:
        number += 1
    return CreateQuery(statement.position, f"query_{number}", statement.select)


def _bind(name: str, select: ParsedQuery, catalog: Catalog) -> BoundQuery:
    bound = bind(select, catalog, defining=name)
    through = catalog.all_read_by(bound.reads)
    if name.lower() in through:
        raise CyclicView(
            f"`{name}` would read itself, through {through[name.lower()]}",
            position=Position(select.text, select.span.start, select.span.end),
            hint="let one of them read the streams directly",
        )
    return bound
