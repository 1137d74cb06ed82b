"""A window join against the length of its window: 10, 100 and 1000 s, at the same matches per row.

Two streams of 500 rows a second each, up to 5 s out of order, joined on the key within a band to
either side; a micro-batch takes 400 s of each. The longer the window, the more keys there are, so
that a row has two partners whatever the length: what grows is the state, from ten thousand rows to
a million. What counts is the time from the end of a first small batch to the last result. `ratio`
is the time with the shortest window over the time with this one.

All pairs of both answers are held against what binary search in the sorted rows finds. Before
anything counts, each length runs once on 400 s of the streams; times are medians of three.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
from _streams import OURS_IO, SECOND, START, arrivals, run_ours, write_files
from pyspark.sql import SparkSession

from penstock.lab.benchmarking import Case, Timed, difference
from penstock.spark.session import local_session

ENVIRONMENT = {"POLARS_MAX_THREADS": "1"}

RATE, DISORDER, MATCHES = 500, 5, 2
FILE_SECONDS, FILES_PER_TRIGGER = 100, 4
SHORTEST = 10


def cases(quick: bool) -> Iterator[Case]:
    seconds = 1200 if quick else 3600
    spark = local_session()
    run = partial(timed, spark, seconds)
    for band in (SHORTEST, 100, 1000):
        timed(spark, 400, band)
    for band in (100, 1000):
        yield Case(
            name=f"window-{band}s",
            ours=partial(run, band),
            rival=partial(run, SHORTEST),
            rival_name=f"ours with {SHORTEST} s",
            repeats=3,
            warm_up=0,
            difference=first_wrong,
            ours_io=OURS_IO["parquet"],
            rival_io=OURS_IO["parquet"],
            extra={"rows": 2 * seconds * RATE, "keys": keys_of(band)},
        )


def keys_of(band: int) -> int:
    """As many keys as leave each row its partners."""
    return 2 * band * RATE // MATCHES


def timed(spark: SparkSession, seconds: int, band: int) -> Timed:
    """The answer is its first difference to what is right; None if there is none."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        left, right = (side(seed, seconds, band) for seed in (0, 1))
        for rows, stream in ((left, "a"), (right, "b")):
            write_files(folder / stream, rows, seconds // FILE_SECONDS)
        took = run_ours(spark, sql(folder, band), folder / "a", folder / "b")
        # The last file of each has one row more, far ahead; these two are partners.
        left, right = (
            pl.concat([rows, rows[-1:].with_columns(pl.lit(-1).cast(pl.Int64).alias("k"))])
            for rows in (left, right)
        )
        found = pl.read_parquet(folder / "out" / "*.parquet")
        return Timed(difference(found, expected(left, right, band)), took)


def side(seed: int, seconds: int, band: int) -> pl.DataFrame:
    rng, rows = np.random.default_rng(seed), seconds * RATE
    keys = rng.integers(0, keys_of(band), rows)
    times = arrivals(rows, RATE, DISORDER, rng)
    return pl.DataFrame({"k": keys, "id": np.arange(rows), "ts": times})


def sql(folder: Path, band: int) -> str:
    streams = "".join(
        f"CREATE STREAM {stream} (k BIGINT, id BIGINT, ts TIMESTAMP) "
        f"FROM parquet '{folder / stream}' OPTIONS (maxFilesPerTrigger '{FILES_PER_TRIGGER}') "
        f"TIMESTAMP BY ts SLACK {DISORDER} SECONDS;"
        for stream in ("a", "b")
    )
    return (
        f"{streams}CREATE QUERY q INTO parquet '{folder / 'out'}' AS SELECT a.id AS a, b.id AS b "
        f"FROM a JOIN b ON a.k = b.k WITHIN {band} SECONDS"
    )


def expected(left: pl.DataFrame, right: pl.DataFrame, band: int) -> pl.DataFrame:
    """All pairs, by their ids."""
    span = 1 << 40  # longer than the streams are

    def places(rows: pl.DataFrame, shift: int) -> npt.NDArray[np.int64]:
        since = rows["ts"].to_numpy() - START + (band + shift) * SECOND
        found: npt.NDArray[np.int64] = rows["k"].to_numpy() * span + since
        return found

    codes = places(right, 0)
    order = np.argsort(codes)
    codes = codes[order]
    first = np.searchsorted(codes, places(left, -band))
    last = np.searchsorted(codes, places(left, band), side="right")
    counts = last - first
    # For each pair its place among those of the same row of the left, and from there of the right.
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return pl.DataFrame(
        {
            "a": np.repeat(left["id"].to_numpy(), counts),
            "b": right["id"].to_numpy()[order][np.repeat(first, counts) + within],
        }
    )


def first_wrong(ours: str | None, shortest: str | None) -> str | None:
    wrong = ours or shortest
    return wrong and f"{wrong} (what binary search finds)"
