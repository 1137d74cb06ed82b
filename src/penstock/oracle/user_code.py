"""Functions of users, one row at a time: called as they are defined, values by values."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any

from penstock.model.sql_aggregates import SqlAggregate
from penstock.model.timestamps import from_ticks, to_ticks
from penstock.model.types import Type
from penstock.model.user_calls import UserCall
from penstock.model.user_defined import UserAggregate, code_of
from penstock.oracle.local_tables import sql_aggregate

_FIRST_DAY = date(1970, 1, 1)


def user_call(call: UserCall, values: list[Any]) -> Any:
    """A function applied to the values of one row."""
    function = call.function
    assert not function.vectorised, "columns are none of the oracle's business"
    if not function.nulls and None in values:
        return None
    types = [each.type for each in function.arguments]
    seen = [_seen(value, of) for value, of in zip(values, types, strict=True)]
    return _kept(code_of(function)(*seen), function.returns)


def user_aggregate(of: UserAggregate, rows: Sequence[tuple[Any, ...]]) -> Any:
    """An aggregate over rows of arguments, in this order."""
    code = code_of(of)
    if isinstance(code, SqlAggregate):
        return sql_aggregate(of, code, rows)
    assert not of.vectorised, "columns are none of the oracle's business"
    state = code.empty()
    for row in rows:
        state = code.add(state, *(_seen(v, c.type) for v, c in zip(row, of.arguments, strict=True)))
    return _kept(code.result(state), of.returns)


def _seen(value: Any, of: Type) -> Any:
    if value is None:
        return None
    if of is Type.TIMESTAMP:
        return from_ticks(value)
    if of is Type.INTERVAL:
        return timedelta(microseconds=value)
    return _FIRST_DAY + timedelta(days=value) if of is Type.DATE else value


def _kept(value: Any, of: Type) -> Any:
    if value is None:
        return None
    if of is Type.TIMESTAMP:
        return to_ticks(value)
    if of is Type.INTERVAL:
        return value // timedelta(microseconds=1)
    if of is Type.DATE:
        return (value - _FIRST_DAY).days
    return float(value) if of in (Type.FLOAT, Type.DOUBLE) else value
