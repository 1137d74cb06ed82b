"""Aggregates written in SQL, as they are written: statement by statement over lists of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.model.expressions import Expression
from penstock.model.sql_aggregates import (
    RETURN,
    Delete,
    Insert,
    LocalStatement,
    SqlAggregate,
    Update,
)
from penstock.model.user_defined import UserAggregate

Rows = list[dict[str, Any]]


def sql_aggregate(of: UserAggregate, body: SqlAggregate, rows: Sequence[tuple[Any, ...]]) -> Any:
    """The result over rows of arguments, in this order; NULL if there are none."""
    tables: dict[str, Rows] = {RETURN: [], **{table.name: [] for table in body.tables}}
    names = [column.name for column in of.arguments]
    arguments: dict[str, Any] = {}
    for number, row in enumerate(rows):
        arguments = dict(zip(names, row, strict=True))
        _run(body.iterate if number else body.initialize, tables, arguments)
    if rows:
        _run(body.terminate, tables, arguments)
    found = tables[RETURN]
    return next(iter(found[-1].values())) if found else None


def _run(
    statements: Sequence[LocalStatement], tables: dict[str, Rows], arguments: Mapping[str, Any]
) -> None:
    for each in statements:
        match each:
            case Insert():
                tables[each.table] += _inserted(each, tables, arguments)
            case Update():
                for row in tables[each.table]:
                    seen = {**arguments, **row}
                    if _holds(each.where, seen):
                        row |= {value.name: _value(value.value, seen) for value in each.values}
            case Delete():
                kept = [
                    row
                    for row in tables[each.table]
                    if not _holds(each.where, {**arguments, **row})
                ]
                tables[each.table] = kept


def _inserted(insert: Insert, tables: dict[str, Rows], arguments: Mapping[str, Any]) -> Rows:
    from penstock.oracle.aggregates import aggregate

    rows = [{}] if insert.source is None else tables[insert.source]
    seen = [found for row in rows if _holds(insert.where, found := {**arguments, **row})]
    if insert.aggregates:
        results = {}
        for name, each in insert.aggregates:
            of = each.argument
            value = None if of is None else lambda row, of=of: _value(of, row)
            results[name] = aggregate(seen, each.function, value, None, each.parameters)
        seen = [{**arguments, **results}]
    return [{each.name: _value(each.value, row) for each in insert.values} for row in seen]


def _holds(condition: Expression | None, row: Mapping[str, Any]) -> bool:
    return condition is None or _value(condition, row) is True


def _value(expression: Expression, row: Mapping[str, Any]) -> Any:
    from penstock.oracle.expressions import value_of  # which calls functions of users

    return value_of(expression, row)
