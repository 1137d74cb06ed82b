"""Windows as Spark SQL: rows into panes, panes into windows.

Spark's own `window` copies every row into each of its windows. Here rows are aggregated once, in
panes (`windows/panes.py`), by one stateful aggregation; what leaves it when a pane is complete, one
row per group, goes into windows by a second one. What is copied are panes. A tumbling window is one
pane. What can be put together in this way stands in `parts`.  Spec: window-queries 4.
"""

from __future__ import annotations

import math

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from penstock.model.schema import WINDOW_END, WINDOW_START
from penstock.model.timestamps import MILLISECOND
from penstock.plan.nodes import WindowAggregate
from penstock.spark.native.parts import steps_of
from penstock.spark.native.times import SHIFT, TIME, ours
from penstock.windows import Sliding, Window

PANE, _WINDOW = "penstock_pane", "penstock_window"


def pane_length(window: Window) -> int:
    assert isinstance(window, Sliding)
    return math.gcd(window.range, window.slide)


def aggregated(node: WindowAggregate, frame: DataFrame, *, folded: bool) -> DataFrame:
    """The aggregate over rows, or lines that they were folded into; TIME has a watermark."""
    window, pane = node.window, pane_length(node.window)
    assert isinstance(window, Sliding)
    functions = steps_of(node)
    parts = [part for function in functions for part in function.parts]
    # Spark needs something to aggregate, also where only the groups are asked for.
    nothing = [F.count(F.lit(1))]
    of_rows = [part.of_rows for part in parts] or nothing
    of_parts = [part.of_parts for part in parts] or nothing
    groups = [F.col(f"`{name}`") for name in node.groups]
    origin = window.origin + SHIFT
    by = F.window(TIME, _span(pane), startTime=_span(origin % pane)).alias(PANE)
    panes = frame.groupBy(*groups, by).agg(*(of_parts if folded else of_rows))
    if window.is_tumbling:
        windows = panes.withColumnRenamed(PANE, _WINDOW)
    else:
        start = _span((origin - window.range) % window.slide)
        over = F.window(
            F.window_time(PANE), _span(window.range), _span(window.slide), startTime=start
        ).alias(_WINDOW)
        windows = panes.groupBy(*groups, over).agg(*of_parts)
    return windows.select(
        *groups,
        *(f.final.alias(result.name) for f, result in zip(functions, node.results, strict=True)),
        ours(F.col(f"{_WINDOW}.start")).alias(WINDOW_START),
        ours(F.col(f"{_WINDOW}.end")).alias(WINDOW_END),
    )


def _span(ticks: int) -> str:
    return f"{ticks // MILLISECOND} milliseconds"
