"""Panes: the time of Paned-WID against that of WID, by rows per pane and panes per window.

A maximum over sliding windows (Q6-2), in order. Published: Paned-WID takes about 30 % of WID's time
with 20 rows per pane and 5 panes per window, and less with more of either; with few rows per pane
there is nothing to gain.

Twice: `by the row` are the two algorithms as printed, a row at a time on a hash table, which is the
published setting; `vectorised` are the operators of this system on blocks. There WID does not pay
for every window of a row, because neighbouring windows share what they have in common, so less is
left to gain.  Spec: window-queries 8, P1; 3.3, 4.1.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np
import polars as pl

from penstock.experimenting import Check, Outcome, Plot, Table
from penstock.local_engine import LocalEngine

ROWS_PER_PANE = (1, 5, 20, 100)
PANES_PER_WINDOW = (2, 5, 10, 20)
BLOCK = 50_000

T = TypeVar("T")


def run(quick: bool) -> Outcome:
    rows = 20_000 if quick else 200_000
    values = np.random.default_rng(1).integers(0, 1500, rows)
    sizes = [(t, p) for t in ROWS_PER_PANE for p in PANES_PER_WINDOW]
    by_row = {size: by_the_row(values, *size) for size in sizes}
    blocks = {size: vectorised(values, *size) for size in sizes}
    published = by_row[(20, 5)]
    return Outcome(
        tables=(
            Table(
                "time of Paned-WID / time of WID",
                ("rows per pane", "panes per window", "by the row", "vectorised"),
                tuple((*size, round(by_row[size], 3), round(blocks[size], 3)) for size in sizes),
            ),
        ),
        plots=(
            Plot(
                "Panes, a row at a time",
                "panes per window",
                "time of Paned-WID / time of WID",
                {
                    f"{t} rows per pane": [(p, by_row[(t, p)]) for p in PANES_PER_WINDOW]
                    for t in ROWS_PER_PANE
                },
            ),
        ),
        checks=(
            Check(
                "20 rows per pane and 5 panes per window: at most 30 % of WID's time, by the row",
                published <= 0.30,
                f"{published:.0%}",
            ),
            Check(
                "more rows per pane gain more, by the row",
                by_row[(100, 5)] < by_row[(5, 5)] < by_row[(1, 5)],
                ", ".join(f"{t}: {by_row[(t, 5)]:.0%}" for t in ROWS_PER_PANE),
            ),
            Check(
                "with one row per pane panes do not pay, by the row",
                by_row[(1, 2)] > 0.9,
                f"{by_row[(1, 2)]:.0%}",
            ),
        ),
    )


# --- by the row ---------------------------------------------------------------------------------


def by_the_row(values: np.ndarray, rows_per_pane: int, panes: int) -> float:
    numbers = values.tolist()
    plain, plain_time = timed(lambda: wid(numbers, rows_per_pane, panes))
    paned, paned_time = timed(lambda: paned_wid(numbers, rows_per_pane, panes))
    assert plain == paned, "both compute the same"
    return paned_time / plain_time


def wid(values: list[int], slide: int, panes: int) -> dict[int, int]:
    """Every row updates the aggregate of each of its windows (Fig 6-4)."""
    found: dict[int, int] = {}
    for time_, value in enumerate(values):
        first = time_ // slide
        for window in range(first, first + panes):
            if window not in found or value > found[window]:
                found[window] = value
    return found


def paned_wid(values: list[int], slide: int, panes: int) -> dict[int, int]:
    """Every row updates its pane, and every pane its windows: the same twice."""
    by_pane: dict[int, int] = {}
    for time_, value in enumerate(values):
        pane = time_ // slide
        if pane not in by_pane or value > by_pane[pane]:
            by_pane[pane] = value
    found: dict[int, int] = {}
    for pane, value in by_pane.items():
        for window in range(pane, pane + panes):
            if window not in found or value > found[window]:
                found[window] = value
    return found


# --- vectorised ---------------------------------------------------------------------------------


def vectorised(values: np.ndarray, rows_per_pane: int, panes: int) -> float:
    rows = pl.DataFrame({"v": values.astype(np.int32), "ts": np.arange(len(values))})
    plain, plain_time = timed(lambda: engine_run(rows, "wid", rows_per_pane, panes))
    paned, paned_time = timed(lambda: engine_run(rows, "paned", rows_per_pane, panes))
    assert plain.equals(paned), "both compute the same"
    return paned_time / plain_time


def engine_run(rows: pl.DataFrame, aggregation: str, slide: int, panes: int) -> pl.DataFrame:
    engine = LocalEngine()
    engine.sql("CREATE STREAM m (v INT, ts BIGINT) TIMESTAMP BY ts ORDERED")
    engine.sql(f"SET aggregation = {aggregation}")
    query = engine.sql(f"SELECT max(v) AS m FROM m [RANGE {slide * panes}, SLIDE {slide}]")
    for start in range(0, rows.height, BLOCK):
        engine.push("m", rows.slice(start, BLOCK))
    engine.finish()
    answer: pl.DataFrame = query.results().sort("window_end")
    return answer


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """What it gives, and the least of three times."""
    times = []
    for _ in range(3):
        begin = time.perf_counter()
        found = work()
        times.append(time.perf_counter() - begin)
    return found, min(times)
