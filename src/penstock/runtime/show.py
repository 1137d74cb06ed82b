"""SHOW: everything of a kind as a table, with what it has come to.

    SHOW QUERIES    what each does, which streams it reads, where its results go, how many there are
    SHOW STREAMS    where rows come from, how their time works, what became of them, the bound
    SHOW TABLES     where they were read from, their rows and columns
    SHOW VIEWS      what they read, their columns
    SHOW FUNCTIONS  what users have defined, what it takes and gives, how it is computed
    SHOW SETTINGS   what is set, what would be by itself, and what it decides

All but what is declared comes from the status, so this agrees with whatever else shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from penstock.catalog.catalog import Catalog
from penstock.catalog.settings import SETTINGS
from penstock.model.text_table import text_table
from penstock.model.user_defined import UserAggregate, UserDefined, UserFunction
from penstock.plan.blockers import bound_text
from penstock.plan.graph import streams_of
from penstock.runtime.status import Status
from penstock.sql.parse.statements import Listed

#: Instead of what there is none of.
NONE = "-"
#: Lines are no longer than this where texts can be wrapped.
WIDTH = 100

_Rows: TypeAlias = list[Sequence[str | int]]


def show(what: Listed, catalog: Catalog, status: Callable[[], Status]) -> str:
    """The list as text; a sentence, if nothing is on it."""
    match what:
        case "queries":
            rows = _queries(catalog, status())
        case "streams":
            rows = _streams(catalog, status())
        case "tables":
            rows = _tables(catalog)
        case "views":
            rows = _views(catalog)
        case "functions":
            rows = _functions(catalog)
        case "settings":
            return text_table(_settings(catalog), width=WIDTH)
    return text_table(rows) if len(rows) > 1 else _NOTHING[what]


_NOTHING = {
    "queries": "no query is declared: SELECT …, or CREATE QUERY name AS SELECT …, declares one",
    "streams": "no stream is declared: CREATE STREAM name (column TYPE, …) declares one",
    "tables": "no table is declared: CREATE TABLE name (column TYPE, …) FROM format 'path' "
    "declares one",
    "functions": "no function is declared: engine.function(…), engine.aggregate(…) and CREATE "
    "AGGREGATE declare some",
    "views": "no view is declared: CREATE VIEW name AS SELECT … declares one",
}


def _queries(catalog: Catalog, status: Status) -> _Rows:
    rows: _Rows = [("query", "state", "streams", "into", "rows")]
    found = [(entry, status.queries[entry.name]) for entry in catalog.queries]
    for entry, query in found:
        streams = ", ".join(streams_of(entry.plan))
        rows.append((entry.name, query.state, streams, query.sink or NONE, query.rows))
    if any(query.total_rows > query.rows for _, query in found):
        totals: list[str | int] = ["since its checkpoint began"]
        totals += [query.total_rows for _, query in found]
        return [(*row, total) for row, total in zip(rows, totals, strict=True)]
    return rows


def _streams(catalog: Catalog, status: Status) -> _Rows:
    rows: _Rows = [("stream", "source", "event time", "rows", "late", "malformed", "bound")]
    for entry in catalog.streams:
        stream, found = entry.stream, status.streams[entry.name]
        counts = found.counts
        rows.append(
            (
                *(stream.name, str(stream.origin), stream.disorder()),
                *(counts.rows, counts.late, counts.malformed),
                bound_text(stream, found.bound) or NONE,
            )
        )
    return rows


def _tables(catalog: Catalog) -> _Rows:
    found = [(entry.table, ", ".join(entry.table.schema.names)) for entry in catalog.tables]
    return [
        ("table", "source", "rows", "columns"),
        *((table.name, str(table.origin), table.rows, columns) for table, columns in found),
    ]


def _views(catalog: Catalog) -> _Rows:
    rows: _Rows = [("view", "reads", "columns")]
    for entry in catalog.views:
        reads = ", ".join(catalog.read_by(entry))
        rows.append((entry.name, reads, ", ".join(entry.plan.schema.names)))
    return rows


def _functions(catalog: Catalog) -> _Rows:
    rows: _Rows = [("function", "kind", "takes", "gives", "how")]
    for each in catalog.functions:
        rows.append((each.name, each.kind, each.takes, str(each.returns), how(each)))
    return rows


def how(function: UserDefined) -> str:
    """How a function of a user is computed."""
    by = "column by column" if function.vectorised else "row by row"
    if isinstance(function, UserAggregate) and function.text:
        by = "in SQL"
    if isinstance(function, UserFunction):
        return by
    can = "merges and subtracts" if function.subtracts else "merges"
    return f"{by}, {can if function.merges else 'adds in order'}"


def _settings(catalog: Catalog) -> _Rows:
    rows: _Rows = [("setting", "value", "default", "what it decides")]
    for each in SETTINGS.values():
        now = getattr(catalog.settings, each.name)
        rows.append((each.name, each.shown(now), each.shown(each.default), each.doc))
    return rows
