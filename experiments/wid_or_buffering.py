"""WID against buffering: time by the number of windows that a row is in.

A maximum over windows of 4000 rows that slide by 1 to 4000 rows, so that a row is in 4000 windows
to one; in order. Buffering keeps the rows and looks at each once for every window that it is in;
WID updates partial aggregates, and does not keep rows.

Published: WID takes less time in general, and the gap grows with RANGE / SLIDE; asked is that it
does from 10 windows per row on. The line of a query that only reads the rows is the floor under
both: where a row is in few windows, there is little else to measure. A second table has a sum,
which incremental buffering computes from the previous window. The answers of all are compared.
Times are processor times: what was published ran from files at full speed.
Spec: window-queries 8, W1; 3.5, 3.6.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
import polars as pl

from penstock.lab.baselines import with_buffering
from penstock.lab.experimenting import Check, Outcome, Plot, Table
from penstock.local.engine import LocalEngine
from penstock.optimizer.optimize import optimize
from penstock.optimizer.options import Options
from penstock.optimizer.physical import Plans
from penstock.runtime.graph_host import GraphHost

ALIAS = "W1"

RANGE = 4000
SLIDES = (1, 4, 40, 400, 1000, 2000, 4000)
BLOCK = 2000
ALGORITHMS = ("wid", "buffering")
#: What is put into plans in place of WID.
BASELINES: Mapping[str, Callable[[Plans], Plans]] = {
    "buffering": with_buffering,
    "buffering_incremental": partial(with_buffering, incremental=True),
}
#: Of the sum: one for each order of magnitude.
SLIDES_OF_SUM = (4, 40, 400)


def run(quick: bool, seed: int) -> Outcome:
    rows, repeats = 8_000 if quick else 30_000, 8
    values = np.random.default_rng(seed).integers(0, 1500, rows).astype(np.int32)
    stream = pl.DataFrame({"v": values, "ts": np.arange(rows)})
    compare(stream, RANGE, 1)  # what is only needed once should not count
    # Where windows are many, once is long enough.
    times = {slide: compare(stream, slide, 1 if slide < 40 else repeats) for slide in SLIDES}
    scan = min(timed(stream, "SELECT v FROM m WHERE v < 0", "wid")[1] for _ in range(3))
    gaps = {slide: by["buffering"] - by["wid"] for slide, by in times.items()}
    names = ("wid", *BASELINES)
    sums = {slide: compare(stream, slide, repeats, "sum", names) for slide in SLIDES_OF_SUM}
    return Outcome(
        tables=(
            Table(
                f"seconds for {rows:,} rows",
                ("SLIDE", "windows per row", "WID", "buffering", "reading only"),
                tuple(
                    (s, RANGE // s, round(by["wid"], 3), round(by["buffering"], 3), round(scan, 3))
                    for s, by in times.items()
                ),
            ),
            Table(
                f"seconds for the sum of {rows:,} rows",
                ("SLIDE", "windows per row", "WID", "buffering", "incremental buffering"),
                tuple(
                    (s, RANGE // s, *(round(by[name], 3) for name in names))
                    for s, by in sums.items()
                ),
            ),
        ),
        plots=(
            Plot(
                "WID and buffering",
                "SLIDE, rows",
                "seconds",
                {
                    **{name: [(s, by[name]) for s, by in times.items()] for name in ALGORITHMS},
                    "reading only": [(s, scan) for s in SLIDES],
                },
                log_x=True,
                log_y=True,
            ),
        ),
        checks=(
            Check(
                "WID takes less time where a row is in 10 windows or more",
                all(ratio(by) > 1 for s, by in times.items() if RANGE // s >= 10),
                ", ".join(f"{RANGE // s} windows: x{ratio(by):.1f}" for s, by in times.items()),
            ),
            Check(
                "the gap grows with RANGE / SLIDE",
                gaps[1] > gaps[4] > gaps[40] > max(gaps[400], 0),
                ", ".join(f"{RANGE // s} windows: {gap:.2f} s" for s, gap in gaps.items()),
            ),
        ),
    )


def compare(
    stream: pl.DataFrame,
    slide: int,
    repeats: int,
    function: str = "max",
    names: Sequence[str] = ALGORITHMS,
) -> dict[str, float]:
    """The least time of each algorithm; they take turns, so that all see the same machine."""
    query = f"SELECT {function}(v) AS m FROM m [RANGE {RANGE} ROWS, SLIDE {slide} ROWS]"
    times: dict[str, list[float]] = {name: [] for name in names}
    answers = {}
    for _ in range(repeats):
        for name in names:
            answers[name], took = timed(stream, query, name)
            times[name].append(took)
    first, *others = (answers[name].sort("window_end") for name in names)
    assert all(first.equals(other) for other in others), "all compute the same"
    return {name: min(took) for name, took in times.items()}


def timed(stream: pl.DataFrame, query: str, algorithm: str) -> tuple[pl.DataFrame, float]:
    declared = LocalEngine()
    declared.sql("CREATE STREAM m (v INT, ts BIGINT) TIMESTAMP BY ts ORDERED")
    plans = optimize({"q": declared.sql(query).plan}, Options(aggregation="wid")).plans
    host = GraphHost()
    host.add_stream(declared.declared_stream("m").stream)
    host.add_plans(BASELINES[algorithm](plans) if algorithm in BASELINES else plans)
    begun = time.process_time()
    for start in range(0, stream.height, BLOCK):
        host.push("m", stream.slice(start, BLOCK))
        host.run()
    host.finish()
    return host.results("q"), time.process_time() - begun


def ratio(by: dict[str, float]) -> float:
    return by["buffering"] / by["wid"]
