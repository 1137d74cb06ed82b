"""DESCRIBE: all about one stream, table, view or query, or about a function of a user.

    query talkers
      state     running: the next result waits for `packets`
      streams   packets
      into      parquet 'out/talkers'
      rows      1,200
      settings  aggregation = wid

      column      type
      src         STRING
      n           BIGINT
      window_end  TIMESTAMP  progresses

      CREATE QUERY talkers INTO parquet 'out/talkers' AS SELECT …

First what it is and has come to, then its columns, then the text that declared it, if it was SQL.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

from penstock.catalog.catalog import (
    Catalog,
    Entry,
    QueryEntry,
    StreamEntry,
    TableEntry,
    ViewEntry,
)
from penstock.catalog.settings import own_changes
from penstock.model.schema import Schema
from penstock.model.text_table import text_table
from penstock.model.user_defined import UserAggregate, UserDefined
from penstock.plan.blockers import bound_text
from penstock.plan.graph import streams_of
from penstock.redaction import redacted, redacted_sql
from penstock.runtime.show import NONE, how
from penstock.runtime.status import FAILED, RUNNING, QueryStatus, Status, StreamStatus

_INDENT = "  "


def describe(entry: Entry, catalog: Catalog, status: Status) -> str:
    """The description as text."""
    sql, derived = "", {}
    match entry:
        case StreamEntry():
            facts = _stream(entry, status.streams[entry.name])
            schema = Schema(entry.stream.columns, frozenset(entry.stream.times))
            derived = {each.name: str(each.value) for each in entry.stream.derived}
        case TableEntry():
            table = entry.table
            facts = {"source": str(table.origin), "rows": f"{table.rows:,}"}
            schema = table.schema
        case ViewEntry():
            facts = {"reads": ", ".join(catalog.read_by(entry))}
            schema, sql = entry.plan.schema, entry.sql
        case QueryEntry():
            facts = _query(entry, status.queries[entry.name])
            schema, sql = entry.plan.schema, entry.sql
    readers = ", ".join(f"{each.kind} {each.name}" for each in catalog.readers_of(entry.name))
    facts |= {"read by": readers} if readers else {}
    parts = [
        f"{entry.kind} {entry.name}\n{text_table(list(facts.items()), indent=_INDENT)}",
        _columns(schema, derived),
        textwrap.indent(redacted(redacted_sql(sql)), _INDENT),
    ]
    return "\n\n".join(part for part in parts if part)


def describe_function(function: UserDefined) -> str:
    """All about a function that a user has defined."""
    facts = {"takes": function.takes, "gives": str(function.returns), "how": how(function)}
    text = ""
    if isinstance(function, UserAggregate):
        state = ", ".join(f"{column.name} {column.type}" for column in function.state)
        facts |= {"keeps": state if function.merges else "the rows of open windows"}
        text = textwrap.indent(function.text, _INDENT)
    table = text_table(list(facts.items()), indent=_INDENT)
    parts = [f"{function.kind} {function.name}\n{table}", text]
    return "\n\n".join(part for part in parts if part)


def _stream(entry: StreamEntry, status: StreamStatus) -> dict[str, str]:
    stream, counts = entry.stream, status.counts
    rejected = {
        "late": counts.late - counts.passed,
        "malformed": counts.malformed,
        "ahead": counts.ahead,
    }
    aside = [f"{number:,} {why}" for why, number in rejected.items() if number]
    late = f", {counts.passed:,} of them late" if counts.passed else ""
    facts = {
        "source": str(stream.origin),
        "event time": stream.disorder(),
        "late into": "" if entry.late is None else str(entry.late),
        "rows": f"{counts.rows:,} in{late}{', rejected: ' if aside else ''}{', '.join(aside)}",
        "bound": bound_text(stream, status.bound),
    }
    return {name: fact for name, fact in facts.items() if fact}


def _query(entry: QueryEntry, status: QueryStatus) -> dict[str, str]:
    rows = f"{status.rows:,}"
    if status.total_rows > status.rows:
        rows += f" ({status.total_rows:,} since its checkpoint began)"
    changes = own_changes(entry.options)
    return {
        "state": _state(status),
        "streams": ", ".join(streams_of(entry.plan)),
        "into": status.sink or NONE,
        "rows": rows,
        "settings": ", ".join(f"{name} = {value}" for name, value in changes.items()) or "defaults",
    }


def _state(status: QueryStatus) -> str:
    """What it does, and what is behind that."""
    doing = status.catching_up or status.blockers.summary
    more = {RUNNING: doing, FAILED: status.message.partition("\n")[0]}
    return f"{status.state}: {more[status.state]}" if status.state in more else status.state


def _columns(schema: Schema, derived: Mapping[str, str]) -> str:
    rows = [("column", "type", "")]
    for column in schema:
        facts = [f"AS {derived[column.name]}"] if column.name in derived else []
        facts += ["progresses"] if column.name in schema.progressing else []
        rows.append((column.name, str(column.type), ", ".join(facts)))
    return text_table(rows, indent=_INDENT)
