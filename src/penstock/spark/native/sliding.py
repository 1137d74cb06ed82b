"""Windows as Spark SQL: rows into panes, panes into windows.

Spark's own `window` copies every row into each of its windows. Here rows are aggregated once, in
panes (`windows/panes.py`), by one stateful aggregation; what leaves it when a pane is complete, one
row per group, goes into windows by a second one. What is copied are panes. A tumbling window is one
pane. What can be put together in this way stands in `parts`.  Spec: window-queries 4.
"""

from __future__ import annotations

import math

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from penstock.model.schema import WINDOW_END, WINDOW_START
from penstock.model.timestamps import MILLISECOND
from penstock.plan.nodes import WindowAggregate
from penstock.spark.native.parts import parts_of
from penstock.spark.native.times import SHIFT, TIME, ours
from penstock.windows import Sliding, Window

PANE, _WINDOW = "penstock_pane", "penstock_window"


def pane_length(window: Window) -> int:
    assert isinstance(window, Sliding)
    return math.gcd(window.range, window.slide)


def of_rows(node: WindowAggregate, frame: DataFrame) -> DataFrame:
    """The aggregate over rows; their TIME has a watermark."""
    functions = [column for part in parts_of(node) for column in part.of_rows]
    return _aggregated(node, frame, functions)


def of_lines(node: WindowAggregate, frame: DataFrame) -> DataFrame:
    """The same over lines that rows were folded into."""
    functions = [column for part in parts_of(node) for column in part.of_parts]
    return _aggregated(node, frame, functions)


def _aggregated(node: WindowAggregate, frame: DataFrame, functions: list[Column]) -> DataFrame:
    window, pane = node.window, pane_length(node.window)
    assert isinstance(window, Sliding)
    parts = parts_of(node)
    groups = [F.col(f"`{name}`") for name in node.groups]
    origin = window.origin + SHIFT
    by = F.window(TIME, _span(pane), startTime=_span(origin % pane)).alias(PANE)
    # Spark needs something to aggregate, also where only the groups are asked for.
    panes = frame.groupBy(*groups, by).agg(*(functions or [F.count(F.lit(1))]))
    if window.is_tumbling:
        windows = panes.withColumnRenamed(PANE, _WINDOW)
    else:
        start = _span((origin - window.range) % window.slide)
        over = F.window(
            F.window_time(PANE), _span(window.range), _span(window.slide), startTime=start
        ).alias(_WINDOW)
        merged = [column for part in parts for column in part.of_parts]
        windows = panes.groupBy(*groups, over).agg(*(merged or [F.count(F.lit(1))]))
    return windows.select(
        *groups,
        *(part.final.alias(r.name) for part, r in zip(parts, node.results, strict=True)),
        ours(F.col(f"{_WINDOW}.start")).alias(WINDOW_START),
        ours(F.col(f"{_WINDOW}.end")).alias(WINDOW_END),
    )


def _span(ticks: int) -> str:
    return f"{ticks // MILLISECOND} milliseconds"
