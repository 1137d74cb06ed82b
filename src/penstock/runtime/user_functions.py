"""What a program says of a function that it defines: its code, what it takes and gives.

engine.aggregate("spread", Spread, arguments="x DOUBLE", returns="DOUBLE")
engine.function("slug", lambda text: text.lower(), arguments="text STRING", returns="STRING")
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date, datetime, timedelta
from functools import partial
from types import SimpleNamespace
from typing import Any, get_type_hints

from penstock.errors import SyntaxFault
from penstock.model.schema import Column
from penstock.model.sql_aggregates import SqlAggregate
from penstock.model.types import Type
from penstock.model.user_defined import JSON_STATE, UserAggregate, UserDefined, UserFunction
from penstock.runtime.engine_lock import EngineLock
from penstock.runtime.stream_arguments import columns_in

_METHODS = ("empty", "add", "merge", "subtract", "result")

#: What annotations of Python mean.
_ANNOTATED: dict[Any, Type] = {
    bool: Type.BOOLEAN,
    int: Type.BIGINT,
    float: Type.DOUBLE,
    str: Type.STRING,
    bytes: Type.BINARY,
    date: Type.DATE,
    datetime: Type.TIMESTAMP,
    timedelta: Type.INTERVAL,
}


def user_aggregate(
    name: str,
    code: Any,
    methods: Mapping[str, Callable[..., Any] | None],
    arguments: str,
    returns: str,
    state: str | Mapping[str, str] | None,
    vectorised: bool | None,
) -> UserAggregate:
    """The declaration of an aggregate: a class or an object with methods, or functions."""
    given = {word: each for word, each in methods.items() if each is not None}
    unknown = given.keys() - set(_METHODS)
    if unknown:
        raise SyntaxFault(
            f"aggregate `{name}` has no use for `{min(unknown)}`",
            hint=f"there are: {', '.join(_METHODS)}",
        )
    if code is None:
        code = SimpleNamespace(**given)
    elif given:
        raise SyntaxFault(
            f"aggregate `{name}` is given as a class and as functions", hint="give one of both"
        )
    by_columns = bool(getattr(code, "vectorised", False) if vectorised is None else vectorised)
    has = {word for word in _METHODS if callable(getattr(code, word, None))}
    needed = ("add", "result") if by_columns else ("empty", "add", "result")
    for word in needed:
        if word not in has:
            raise SyntaxFault(
                f"aggregate `{name}` has no `{word}`",
                hint=f"it needs {', '.join(needed)}; merge and subtract make it faster",
            )
    if "subtract" in has and "merge" not in has:
        raise SyntaxFault(
            f"aggregate `{name}` has `subtract`, and no `merge`",
            hint="what is subtracted was merged before: define merge, too",
        )
    declared = getattr(code, "state", None) if state is None else state
    if by_columns and declared is None:
        raise SyntaxFault(
            f"aggregate `{name}` computes columns, and does not say which its state has",
            hint='declare them: state="total DOUBLE, n BIGINT"',
        )
    if isinstance(code, type):
        code = code()
    return UserAggregate(
        name,
        _columns(name, arguments),
        _type(name, returns),
        JSON_STATE if declared is None else _columns(name, declared),
        "merge" in has,
        "subtract" in has,
        code=code,
        vectorised=by_columns,
    )


def user_function(
    name: str,
    code: Callable[..., Any],
    arguments: str | None,
    returns: str | None,
    vectorised: bool,
    nulls: bool,
) -> UserFunction:
    """The declaration of a function of single rows.

    Without `arguments`, the annotations of Python count; a parameter that has none takes anything.
    """
    columns = _annotated(name, code) if arguments is None else _columns(name, arguments)
    return UserFunction(
        name,
        columns,
        _returned(name, code) if returns is None else _type(name, returns),
        nulls,
        code,
        vectorised,
    )


def _columns(name: str, declared: str | Mapping[str, str]) -> tuple[Column, ...]:
    if not isinstance(declared, str):
        declared = ", ".join(f"{column} {of}" for column, of in declared.items())
    if not declared.strip():
        raise SyntaxFault(
            f"`{name}` takes nothing", hint='name what it takes and keeps: "x DOUBLE, n BIGINT"'
        )
    return columns_in(name, declared)


def _type(name: str, written: str) -> Type:
    [column] = columns_in(name, f"returned {written}")
    return column.type


def _annotated(name: str, code: Callable[..., Any]) -> tuple[Column, ...]:
    hints = _hints(code)
    found = []
    for parameter in inspect.signature(code).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            raise SyntaxFault(
                f"function `{name}` does not say how many values it takes",
                hint='declare them: arguments="x DOUBLE, y DOUBLE"',
            )
        if parameter.default is parameter.empty:
            found.append(
                Column(parameter.name, _ANNOTATED.get(hints.get(parameter.name), Type.NULL))
            )
    if not found:
        raise SyntaxFault(f"function `{name}` takes nothing", hint="let it take a column at least")
    return tuple(found)


def _returned(name: str, code: Callable[..., Any]) -> Type:
    found = _ANNOTATED.get(_hints(code).get("return"))
    if found is None:
        raise SyntaxFault(
            f"function `{name}` does not say what it gives", hint='declare it: returns="DOUBLE"'
        )
    return found


def _hints(code: Callable[..., Any]) -> dict[str, Any]:
    try:
        return get_type_hints(code)
    except (NameError, TypeError):
        return {}


def outside_lock(function: UserDefined, lock: EngineLock) -> UserDefined:
    """The same function, called without the lock of the engine; SQL needs no such care."""
    if isinstance(function.code, SqlAggregate):
        return function
    return replace(function, around=partial(lock.outside, in_step=True))
