"""NEXMark on Spark: ours against Spark's Structured Streaming, on the same files.

Those of the queries q0 to q22 that both can run, on 10 M events (1 in 50 a person, 3 an auction, 46
a bid); a micro-batch takes 2 M events. Both read the same parquet files and write parquet files,
each in its own way: `ours_io` and `rival_io` say who reads and writes. What counts is the time from
the end of a first small batch, which starts the query, to the last result; answers are compared row
by row. Spark's queries with state run with its default store and with RocksDB and changelog
checkpoints; the faster one counts, and the column `store` says which that was. Spark shuffles into
as many partitions as there are cores. Where one of its stores would take more than three minutes
both sides get fewer events; the column `rows` says how many. `form` says where a query differs from
the published one, on both sides alike. `geomean` is the geometric mean over all queries.

Left out:

    q6    the last ten sales of each seller: Spark has no windows over rows
    q10   writes a directory per minute: our files are not partitioned
    q12   windows over the clock: no two runs have the same answer
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import geometric_mean, median

import polars as pl
from _nexmark import declare_streams, link_events, show_streams, write_events
from _nexmark_queries import QUERIES, Query
from _streams import DEFAULT_STORE, ROCKSDB, run_ours, run_rival
from pyspark.sql import DataFrame, SparkSession

from penstock.lab.benchmarking import Case, Timed, difference
from penstock.spark.session import local_session

ENVIRONMENT = {"POLARS_MAX_THREADS": "1"}

STORES = {"default": DEFAULT_STORE, "rocksdb": ROCKSDB}
FULL, QUICK, WARM_UP = 10_000_000, 1_000_000, 100_000
OURS_IO, RIVAL_IO = (
    "Python workers read and write, the driver joins files",
    "Spark's tasks read and write",
)


@dataclass
class Measured:
    """Seconds of every run, by query."""

    ours: dict[str, list[float]] = field(default_factory=dict)
    rival: dict[str, list[float]] = field(default_factory=dict)


def cases(quick: bool) -> Iterator[Case]:
    spark = local_session()
    measured = Measured()
    with tempfile.TemporaryDirectory() as name:
        events = Events(Path(name))
        for query in (QUERIES["q1"], QUERIES["q7"]):  # both sides compile before anything counts
            timed_ours(spark, query, events.of(WARM_UP))
            for store in STORES:
                timed_rival(spark, query, events.of(WARM_UP), store)
        for number, query in QUERIES.items():
            rows = QUICK if quick else int(FULL * query.share)
            yield case(spark, number, query, events.of(rows), rows, measured)
    if measured.ours:
        yield geomean(measured)


class Events:
    """Files of so many events, made when they are first asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def of(self, events: int) -> Callable[[], Path]:
        return partial(self._written, events)

    def _written(self, events: int) -> Path:
        folder = self._folder / str(events)
        if not folder.exists():
            write_events(folder, events)
        return folder


def case(
    spark: SparkSession,
    name: str,
    query: Query,
    events: Callable[[], Path],
    rows: int,
    measured: Measured,
) -> Case:
    extra: dict[str, object] = {"rows": rows, "form": query.form}

    def ours() -> Timed:
        timed = timed_ours(spark, query, events)
        measured.ours.setdefault(name, []).append(timed.seconds)
        return timed

    def rival() -> Timed:
        if "store" not in extra and query.stateful:
            runs = {store: timed_rival(spark, query, events, store) for store in STORES}
            extra["store"] = min(runs, key=lambda store: runs[store].seconds)
            timed = runs[str(extra["store"])]
        else:
            timed = timed_rival(spark, query, events, str(extra.get("store", "default")))
        measured.rival.setdefault(name, []).append(timed.seconds)
        return timed

    return Case(
        name=name,
        ours=ours,
        rival=rival,
        rival_name="Structured Streaming" + ", its better store" * query.stateful,
        repeats=1 if query.stateful else 3,  # what is over soon is noisy
        warm_up=0,
        difference=difference_of_rows,
        ours_io=OURS_IO,
        rival_io=RIVAL_IO,
        extra=extra,
    )


def geomean(measured: Measured) -> Case:
    """Geometric means of all times; their ratio is the geometric mean of the ratios."""
    ours, rival = (
        geometric_mean(median(runs) for runs in side.values())
        for side in (measured.ours, measured.rival)
    )
    return Case(
        name="geomean",
        ours=lambda: Timed(None, ours),
        rival=lambda: Timed(None, rival),
        rival_name="Structured Streaming",
        repeats=1,
        warm_up=0,
        extra={"form": f"of {len(measured.ours)} queries"},
    )


def timed_ours(spark: SparkSession, query: Query, events: Callable[[], Path]) -> Timed:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folders = link_events(events(), folder, query.streams)
        declared = declare_streams(folder, query.streams)
        sql = f"{declared}CREATE QUERY q INTO parquet '{folder}/out' AS {query.ours}"
        seconds = run_ours(spark, sql, *folders)
        return Timed(answer(folder / "out"), seconds)


def timed_rival(spark: SparkSession, query: Query, events: Callable[[], Path], store: str) -> Timed:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folders = link_events(events(), folder, query.streams)

        def frame() -> DataFrame:
            show_streams(spark, folder, query.streams, watermarks=query.stateful)
            return spark.sql(query.rival_sql)

        seconds = run_rival(spark, frame, folder / "out", STORES[store], *folders)
        return Timed(answer(folder / "out"), seconds)


def answer(folder: Path) -> pl.DataFrame:
    """All rows; times as numbers, because the two sides write them with and without a zone."""
    rows = pl.concat(pl.read_parquet(file) for file in sorted(folder.glob("*.parquet")))
    times = [name for name, type_ in rows.schema.items() if type_ == pl.Datetime]
    return rows.with_columns(pl.col(name).dt.epoch("us") for name in times)


def difference_of_rows(ours: pl.DataFrame, rival: pl.DataFrame) -> str | None:
    """As `difference`; answers that are equal to the last digit are found so in less time."""
    if set(ours.columns) == set(rival.columns) and ours.height == rival.height:
        same = rival.select(ours.columns)
        if ours.schema == same.schema:
            a, b = (table[table.hash_rows().arg_sort()] for table in (ours, same))
            if a.equals(b):
                return None
    return difference(ours, rival)
