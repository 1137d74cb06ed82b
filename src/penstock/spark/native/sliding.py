"""Sliding windows as Spark SQL: rows into panes, panes into windows.

Spark's own `window` copies every row into each of its windows. Here rows are aggregated once, in
panes (`windows/panes.py`), by one stateful aggregation; what leaves it when a pane is complete, one
row per group, goes into windows by a second one. What is copied are panes.

    function   of a pane                 of a window
    count      count                     sum of counts
    sum        sum                       sum of sums
    min, max   min, max                  min, max
    avg        sum and count             sum of sums over sum of counts
Spec: window-queries 4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from penstock.model.aggregates import Aggregate
from penstock.model.schema import WINDOW_END, WINDOW_START
from penstock.model.timestamps import MILLISECOND
from penstock.plan.nodes import WindowAggregate
from penstock.spark.native import expressions
from penstock.windows import Sliding

#: Functions whose value over a window follows from those over its panes.
FUNCTIONS = frozenset(["count", "sum", "min", "max", "avg"])

_PANE, _WINDOW = "penstock_pane", "penstock_window"


@dataclass(frozen=True)
class _Parts:
    """One function in two steps: of panes, of windows, and what becomes of those."""

    of_panes: list[Column]
    of_windows: list[Column]
    final: Column


def pane_length(window: Sliding) -> int:
    return math.gcd(window.range, window.slide)


def aggregated(node: WindowAggregate, frame: DataFrame) -> DataFrame:
    """The aggregate over rows whose time has a watermark."""
    window = node.window
    assert isinstance(window, Sliding)
    groups = [F.col(f"`{name}`") for name in node.groups]
    parts = [_parts(number, result.aggregate) for number, result in enumerate(node.results)]
    pane = pane_length(window)
    panes = frame.groupBy(
        *groups,
        F.window(F.col(f"`{window.on}`"), _span(pane), startTime=_span(window.origin % pane)).alias(
            _PANE
        ),
    ).agg(*([c for part in parts for c in part.of_panes] or [F.count(F.lit(1))]))
    start = _span((window.origin - window.range) % window.slide)
    windows = panes.groupBy(
        *groups,
        F.window(
            F.window_time(_PANE), _span(window.range), _span(window.slide), startTime=start
        ).alias(_WINDOW),
    ).agg(*([c for part in parts for c in part.of_windows] or [F.count(F.lit(1))]))
    return windows.select(
        *groups,
        *(part.final.alias(r.name) for part, r in zip(parts, node.results, strict=True)),
        F.col(f"{_WINDOW}.start").alias(WINDOW_START),
        F.col(f"{_WINDOW}.end").alias(WINDOW_END),
    )


def _span(ticks: int) -> str:
    return f"{ticks // MILLISECOND} milliseconds"


def _parts(number: int, aggregate: Aggregate) -> _Parts:
    name, rest = f"penstock_{number}", f"penstock_{number}_n"
    value = F.lit(1) if aggregate.argument is None else expressions.column(aggregate.argument)
    counted = (F.count(value).alias(rest), F.sum(rest).alias(rest))
    match aggregate.function:
        case "count":
            return _Parts([counted[0]], [counted[1]], F.col(rest))
        case "avg":
            total = F.sum(value.cast("double")).alias(name)
            mean = F.when(F.col(rest) > 0, F.col(name) / F.col(rest))
            return _Parts([total, counted[0]], [F.sum(name).alias(name), counted[1]], mean)
    function = getattr(F, aggregate.function)
    of_panes: Column = function(value).alias(name)
    of_windows: Column = function(name).alias(name)
    return _Parts([of_panes], [of_windows], F.col(name).cast(str(aggregate.type)))
