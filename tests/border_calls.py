"""Every public call of engines and queries, to see what they raise when something fails."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from functools import partial
from typing import Any

import polars as pl

from penstock.errors import PenstockError

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)
STATEMENTS = [
    "SHOW QUERIES",
    "SHOW STREAMS",
    "DESCRIBE q",
    "DESCRIBE s",
    "EXPLAIN q",
    "EXPLAIN LIVE q",
    "SET union = merge",
    "CREATE STREAM other (k INT)",
    "CREATE QUERY another AS SELECT k FROM s",
    "ALTER QUERY q SET (aggregation = 'wid')",
    "DROP QUERY another",
]
#: What methods are called with; those that need nothing are not here.
GIVEN: dict[str, list[tuple[Any, ...]]] = {
    "sql": [(text,) for text in STATEMENTS],
    "aggregate": [("spread", type("Spread", (), {"empty": int, "add": max, "result": int}))],
    "alternatives": [("q",)],
    "counts": [("s",)],
    "awaitTermination": [(0,)],
    "declared_stream": [("s",)],
    "function": [("twice", lambda k: 2 * k)],
    "migrations_of": [("q",)],
    "passed_over": [("s",)],
    "punctuate": [("p", NOW)],
    "push": [("pushed", [{"k": 1, "ts": NOW}])],
    "query": [("q",)],
    "spark_query": [("q",)],
    "stream": [("given", pl.DataFrame({"k": [1]}))],
    "table": [("prices", pl.DataFrame({"k": [1]}))],
    "why": [("q",)],
    "subscribe": [(print,)],
    "rows_of": [(0,)],
    "to_dicts": [()],
}
NAMED = {
    "aggregate": {"arguments": "k BIGINT", "returns": "BIGINT"},
    "function": {"arguments": "k BIGINT", "returns": "BIGINT"},
}
#: Statements and plans as objects come from the other calls; what is called last; what waits.
LEFT_OUT = {"execute", "explain", "receive", "start", "stop", "finish", "iterate"}


def public_calls(target: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """All public methods and properties; each once for each set of arguments."""
    for name in dir(type(target)):
        if name.startswith("_") or name in LEFT_OUT:
            continue
        found = inspect.getattr_static(type(target), name)
        if isinstance(found, property):
            yield name, partial(getattr, target, name)
            continue
        if not callable(found):
            continue
        method, named = getattr(target, name), NAMED.get(name, {})
        usable = [given for given in GIVEN.get(name, ()) if _fits(method, given, named)]
        usable = usable or [given for given in [()] if _fits(method, given, named)]
        assert usable, f"say in GIVEN what `{name}` is to be called with"
        for given in usable:
            yield name, partial(_called, method, given, named)
    yield "repr", lambda: repr(target)


def _fits(method: Any, given: tuple[Any, ...], named: dict[str, Any]) -> bool:
    try:
        inspect.signature(method).bind(*given, **named)
    except TypeError:
        return False
    return True


def _called(method: Any, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
    found = method(*given, **named)
    return list(found) if inspect.isgenerator(found) else found


def foreign_errors(target: Any) -> list[str]:
    """The public calls that raise something that is no error of ours."""
    found = []
    for name, call in public_calls(target):
        try:
            call()
        except PenstockError:
            continue
        except Exception as error:
            found.append(f"{name}: {type(error).__name__}: {error}")
    return found
