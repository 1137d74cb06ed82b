"""When a result could first be known, from the rows that arrived; and how much later it was there.

A *closed window* can be known when a row has arrived whose time is the window's end plus the slack,
or more: until then a row of the window may still come. A *pair* can be known when the later of its
two rows has arrived. The latency of a result is the time from then until it is in the driver.

Rows have `k`, `v`, `ts` and `arrived`; results have `at`. All times are in microseconds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl


@dataclass(frozen=True)
class Latency:
    """Of the results of one side; in seconds."""

    p50: float
    p99: float
    results: int
    missing: int  # that were not there in the end; their latency is what they had waited by then
    wrong: str | None  # what is wrong with the answer


def windows(rows: pl.DataFrame, range_: int, slide: int, slack: int) -> pl.DataFrame:
    """Every closed window that has rows, by key: `k`, `total`, `n`, `window_end` and `known`."""
    panes = rows.group_by("k", (pl.col("ts") // slide * slide).alias("pane")).agg(
        pl.col("v").sum().alias("total"), pl.len().alias("n")
    )
    later = pl.DataFrame({"later": np.arange(1, range_ // slide + 1) * slide})
    ends = pl.col("pane") + pl.col("later")
    found = (
        panes.join(later, how="cross")
        .group_by("k", ends.alias("window_end"))
        .agg(pl.col("total").sum(), pl.col("n").sum().cast(pl.Int64))
    )
    closing = (
        rows.group_by("arrived")
        .agg(pl.col("ts").max())
        .sort("arrived")
        .select(pl.col("arrived").alias("known"), pl.col("ts").cum_max() - slack)
    )
    return (
        found.sort("window_end")
        .join_asof(closing, left_on="window_end", right_on="ts", strategy="forward")
        .filter(pl.col("known").is_not_null())
        .select("k", "total", "n", "window_end", "known")
    )


def pairs(a: pl.DataFrame, b: pl.DataFrame, band: int) -> pl.DataFrame:
    """Rows of two streams with the same key and times at most `band` apart: `a`, `b`, `known`."""
    return (
        a.join(b, on="k", suffix="_b")
        .filter((pl.col("ts") - pl.col("ts_b")).abs() <= band)
        .select(
            pl.col("v").alias("a"),
            pl.col("v_b").alias("b"),
            pl.max_horizontal("arrived", "arrived_b").alias("known"),
        )
    )


def latency(
    expected: pl.DataFrame, got: pl.DataFrame, counted: tuple[int, int], end: int, is_over: bool
) -> Latency:
    """Hold what a side put out against what the rows say.

    What counts is what could be known within `counted`. `end` is when the side was stopped; if it
    `is_over`, it had nothing left to do, so what is missing is wrong.
    """
    what = [name for name in expected.columns if name != "known"]
    whole = expected.join(got, on=what, how="left")
    late = whole.filter(pl.col("at").is_null()).height
    wrong = None
    if got.height > expected.height - late:
        wrong = f"{got.height - expected.height + late} results too many, or with other values"
    elif late and is_over:
        wrong = f"{late} of {expected.height} results are missing"
    now = whole.filter(pl.col("known").is_between(*counted))
    waited = (now["at"].fill_null(end) - now["known"]).to_numpy() / 1e6
    p50, p99 = (float(np.percentile(waited, q)) for q in (50, 99)) if waited.size else (0.0, 0.0)
    return Latency(p50, p99, waited.size, now["at"].null_count(), wrong or _none(waited.size))


def _none(results: int) -> str | None:
    return None if results else "no results"
