"""Aggregates of users that compute what is built in, in every way in which they can be written."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import polars as pl

from penstock.runtime.base_engine import BaseEngine


class Sum:
    """Row by row, with columns as its state."""

    state = "total BIGINT"

    def empty(self) -> Any:
        return None

    def add(self, state: Any, x: int) -> Any:
        return x if state is None else state + x

    def merge(self, state: Any, other: Any) -> Any:
        return state + other

    def subtract(self, state: Any, gone: Any) -> Any:
        return state - gone

    def result(self, state: Any) -> Any:
        return state


class Avg:
    """Row by row, with a state that only JSON describes."""

    def empty(self) -> Any:
        return {"total": 0, "n": 0}

    def add(self, state: Any, x: int) -> Any:
        return {"total": state["total"] + x, "n": state["n"] + 1}

    def merge(self, state: Any, other: Any) -> Any:
        return {key: state[key] + other[key] for key in state}

    def result(self, state: Any) -> Any:
        return state["total"] / state["n"] if state["n"] else None


class SumByColumns:
    vectorised = True
    state = "total BIGINT"

    def add(self, groups: Any, x: pl.Series) -> Any:
        return groups.sum(x)

    def merge(self, groups: Any, total: pl.Series) -> Any:
        return groups.sum(total)

    def subtract(self, state: Any, gone: Any) -> Any:
        return state[0] - gone[0]

    def result(self, total: pl.Series) -> Any:
        return total


class MinByColumns:
    """With Polars' own groups."""

    vectorised = True
    state = "low BIGINT"

    def add(self, groups: Any, x: pl.Series) -> Any:
        return groups.frame(x=x).group_by("group").agg(low=pl.col("x").min())

    def merge(self, groups: Any, low: pl.Series) -> Any:
        return groups.frame(low=low).group_by("group").agg(pl.col("low").min())

    def result(self, low: pl.Series) -> Any:
        return low


class CountByColumns:
    vectorised = True
    state = "n BIGINT"

    def empty(self) -> Any:
        return 0

    def add(self, groups: Any, x: pl.Series) -> Any:
        return groups.count()

    def merge(self, groups: Any, n: pl.Series) -> Any:
        return groups.sum(n)

    def result(self, n: pl.Series) -> Any:
        return n


def only_adding(code: Any) -> Any:
    """The same without merge and subtract."""
    code = code()
    names = ("empty", "add", "result")
    return SimpleNamespace(**{name: getattr(code, name) for name in names if hasattr(code, name)})


#: How an aggregate of a user is called -> what it computes.
SAME_AS = {
    "u_sum": "sum(v)",
    "u_avg": "avg(v)",
    "v_sum": "sum(v)",
    "v_min": "min(v)",
    "v_count": "count(v)",
    "o_sum": "sum(v)",
    "o_min": "min(v)",
    "o_count": "count(v)",
}


def declare(engine: BaseEngine[Any]) -> None:
    """All of them."""
    x = "x BIGINT"
    engine.aggregate("u_sum", Sum, arguments=x, returns="BIGINT")
    engine.aggregate("u_avg", Avg, arguments=x, returns="DOUBLE")
    engine.aggregate("v_sum", SumByColumns, arguments=x, returns="BIGINT")
    engine.aggregate("v_min", MinByColumns, arguments=x, returns="BIGINT")
    engine.aggregate("v_count", CountByColumns, arguments=x, returns="BIGINT")
    engine.aggregate("o_sum", only_adding(Sum), arguments=x, returns="BIGINT", state="t BIGINT")
    for name, code in (("o_min", MinByColumns), ("o_count", CountByColumns)):
        state, by_columns = code.state, code.vectorised
        engine.aggregate(
            name,
            only_adding(code),
            arguments=x,
            returns="BIGINT",
            state=state,
            vectorised=by_columns,
        )
