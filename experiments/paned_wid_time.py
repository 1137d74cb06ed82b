"""Panes: the time of Paned-WID against that of WID, by rows per pane and panes per window.

A maximum over sliding windows (Q6-2), in order. Published: Paned-WID takes about 30 % of WID's time
with 20 rows per pane and 5 panes per window; less than WID in many cases, the more so the more rows
there are in a pane. Time is processor time less that of a query that only reads the rows, as
published.

Both are the operators of this system, and both get their rows in pages of 30, as in the published
system, and in large blocks. The published WID updates an aggregate for each window of each row, and
panes spare it that. Ours keeps one entry for all neighbouring windows that have the same rows,
which is what panes are: it takes hardly longer with more windows per row, and nothing is left to
gain. (Panes pay here where several windows are over the same rows, see `bench windows`.)
Spec: window-queries 8, P1; 3.3, 4.1.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl

from penstock.lab.experimenting import Check, Outcome, Plot, Table
from penstock.local.engine import LocalEngine

ALIAS = "P1"

ROWS_PER_PANE = (1, 5, 20, 100)
PANES_PER_WINDOW = (2, 5, 10, 20)
#: Rows that come together: a page as published, and a block as it is usual here.
PAGE, BLOCK = 30, 50_000
SIZE = (20, 5)  # rows per pane, panes per window: of the published figure
#: "About 30 %".
ABOUT_30 = 0.35
SCAN = "SELECT v FROM m WHERE v < 0"
SHARED = (
    "our WID updates no aggregate per window: neighbouring windows with the same rows share one "
    "entry, as panes would have it, and panes only add a second step"
)


@dataclass(frozen=True)
class Times:
    """Seconds of processor time, without what reading the rows takes."""

    wid: float
    paned: float

    @property
    def ratio(self) -> float:
        return self.paned / self.wid


def run(quick: bool, seed: int) -> Outcome:
    panes = PANES_PER_WINDOW[1::2] if quick else PANES_PER_WINDOW
    sizes = [(rows, each) for rows in ROWS_PER_PANE for each in panes]
    few, many = (6_000, 200_000) if quick else (30_000, 1_000_000)
    repeats = 3 if quick else 5
    pages = compare(values(few, seed), sizes, PAGE, repeats)
    blocks = compare(values(many, seed), sizes, BLOCK, repeats)
    ways = {f"pages of {PAGE} rows": pages, f"blocks of {BLOCK:,}": blocks}
    below = [found[size].ratio < 1 for found in ways.values() for size in sizes]
    slower = {
        name: found[SIZE[0], panes[-1]].wid / found[SIZE[0], panes[0]].wid
        for name, found in ways.items()
    }
    return Outcome(
        tables=tuple(
            Table(
                f"processor time in ms without reading, {name}",
                ("rows per pane", "panes per window", "WID", "Paned-WID", "Paned-WID / WID"),
                tuple(
                    (*size, 1000 * found[size].wid, 1000 * found[size].paned, found[size].ratio)
                    for size in sizes
                ),
            )
            for name, found in ways.items()
        ),
        plots=tuple(
            Plot(
                f"Panes, {name}",
                "panes per window",
                "time of Paned-WID / time of WID",
                {
                    f"{rows} rows per pane": [(each, found[rows, each].ratio) for each in panes]
                    for rows in ROWS_PER_PANE
                },
            )
            for name, found in ways.items()
        ),
        checks=(
            *(
                Check(
                    f"20 rows per pane and 5 panes per window: about 30 % of WID's time, in {name}",
                    found[SIZE].ratio <= ABOUT_30,
                    f"{found[SIZE].ratio:.0%}; WID itself takes {slower[name]:.2f} times as long "
                    f"with {panes[-1]} windows per row as with {panes[0]}",
                    known=SHARED,
                )
                for name, found in ways.items()
            ),
            Check(
                "panes take less time in many cases: in more than half",
                sum(below) > len(below) / 2,
                f"in {sum(below)} of {len(below)}",
                known=SHARED,
            ),
            Check(
                "the more rows per pane, the more they gain",
                all(
                    after < before
                    for found in ways.values()
                    for before, after in pairwise(found[t, SIZE[1]].ratio for t in ROWS_PER_PANE)
                ),
                "; ".join(
                    ", ".join(f"{t}: {found[t, SIZE[1]].ratio:.0%}" for t in ROWS_PER_PANE)
                    for found in ways.values()
                ),
                known=SHARED,
            ),
        ),
    )


def values(count: int, seed: int) -> pl.DataFrame:
    drawn = np.random.default_rng(seed).integers(0, 1500, count).astype(np.int32)
    return pl.DataFrame({"v": drawn, "ts": np.arange(count)})


def compare(
    rows: pl.DataFrame, sizes: Sequence[tuple[int, int]], block: int, repeats: int
) -> dict[tuple[int, int], Times]:
    """The least times, by size; the algorithms take turns, so that both see the same machine."""
    timed(rows, query(*SIZE), "paned", block)  # what is only needed once should not count
    scan = min(timed(rows, SCAN, "wid", block)[1] for _ in range(repeats))
    found = {}
    for size in sizes:
        times: dict[str, list[float]] = {"wid": [], "paned": []}
        answers = {}
        for _ in range(repeats):
            for name in times:
                answers[name], took = timed(rows, query(*size), name, block)
                times[name].append(took - scan)
        assert answers["wid"].equals(answers["paned"]), "both compute the same"
        found[size] = Times(*map(min, times.values()))
    return found


def query(rows_per_pane: int, panes: int) -> str:
    window = f"[RANGE {rows_per_pane * panes}, SLIDE {rows_per_pane}]"
    return f"SELECT max(v) AS m FROM m {window}"


def timed(
    rows: pl.DataFrame, text: str, aggregation: str, block: int
) -> tuple[pl.DataFrame, float]:
    engine = LocalEngine()
    engine.sql("CREATE STREAM m (v INT, ts BIGINT) TIMESTAMP BY ts ORDERED")
    engine.sql(f"SET aggregation = {aggregation}")
    standing = engine.sql(text)
    begun = time.process_time()
    for start in range(0, rows.height, block):
        engine.push("m", rows.slice(start, block))
    engine.finish()
    took = time.process_time() - begun
    answer: pl.DataFrame = standing.results()
    return answer.sort(answer.columns[-1]), took
