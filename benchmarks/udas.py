"""Aggregates of users against those that are built in: what it costs to bring one's own.

Average and greatest value by key, 1000 keys, sliding windows RANGE 60 s SLIDE 10 s, rows up to 5 s
out of order, out of and into parquet files; both sides run on Penstock, and the answers are equal.

    case         ours
    vectorised   two Python classes that compute columns of many groups
    filtered     the same behind a vectorised Python function in WHERE, against `%`
    sql          two aggregates written in SQL that can be folded
    row-by-row   two Python classes that take one row at a time; a tenth of the rows
    sql-steps    two aggregates written in SQL that run statement by statement; a hundredth

The ratio is the time with what is built in over the time with the user's: 0.33 says that it takes
three times as long. What counts is the time from the end of a first small batch, which starts the
query, to the last result. Times are medians of three runs in turn, after one of each.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from _streams import OURS_IO, arrivals, run_ours, write_files
from pyspark.sql import SparkSession

from penstock.lab.benchmarking import Case, Timed
from penstock.spark.engine import Engine
from penstock.spark.session import local_session

ENVIRONMENT = {"POLARS_MAX_THREADS": "1"}

RATE, DISORDER, KEYS = 20_000, 5, 1000
PER_FILE, FILES_PER_TRIGGER = 500_000, 4

#: What is built in, and under which names users define the same.
BUILT_IN = "avg(v) AS a, max(v) AS m"
USERS = "u_avg(v) AS a, u_max(v) AS m"
#: Case -> the share of the rows that it gets.
SHARES = {"vectorised": 1, "filtered": 1, "sql": 1, "row-by-row": 10, "sql-steps": 100}


class VectorisedAvg:
    vectorised = True
    state = "total DOUBLE, n BIGINT"

    def add(self, groups: Any, x: pl.Series) -> Any:
        return groups.sum(x.cast(pl.Float64)), groups.count()

    def merge(self, groups: Any, total: pl.Series, n: pl.Series) -> Any:
        return groups.sum(total), groups.sum(n)

    def result(self, total: pl.Series, n: pl.Series) -> Any:
        return total / n


class VectorisedMax:
    vectorised = True
    state = "most BIGINT"

    def add(self, groups: Any, x: pl.Series) -> Any:
        return groups.greatest(x)

    def merge(self, groups: Any, most: pl.Series) -> Any:
        return groups.greatest(most)

    def result(self, most: pl.Series) -> Any:
        return most


class Avg:
    state = "total DOUBLE, n BIGINT"

    def empty(self) -> Any:
        return (0.0, 0)

    def add(self, state: Any, x: int) -> Any:
        return state[0] + x, state[1] + 1

    def merge(self, state: Any, other: Any) -> Any:
        return state[0] + other[0], state[1] + other[1]

    def result(self, state: Any) -> Any:
        return state[0] / state[1]


class Max:
    state = "most BIGINT"

    def empty(self) -> Any:
        return None

    def add(self, state: Any, x: int) -> Any:
        return x if state is None or x > state else state

    def merge(self, state: Any, other: Any) -> Any:
        return max(state, other)

    def result(self, state: Any) -> Any:
        return state


SQL = """
CREATE AGGREGATE u_avg(next BIGINT) RETURNS DOUBLE {{
    TABLE state (total DOUBLE, n BIGINT);
    INITIALIZE: INSERT INTO state VALUES (next, 1);
    ITERATE: UPDATE state SET total = total + next, n = n + 1 {where};
    TERMINATE: INSERT INTO RETURN SELECT total / n FROM state;
}};
CREATE AGGREGATE u_max(next BIGINT) RETURNS BIGINT {{
    TABLE state (most BIGINT);
    INITIALIZE: INSERT INTO state VALUES (next);
    ITERATE: UPDATE state SET most = greatest(most, next) {where};
    TERMINATE: INSERT INTO RETURN SELECT most FROM state;
}};
"""


def cases(quick: bool) -> Iterator[Case]:
    spark = local_session()
    rows = 1_000_000 if quick else 4_000_000
    timed(spark, 100_000, "vectorised", True)
    for name, share in SHARES.items():
        yield Case(
            name=name,
            ours=partial(timed, spark, rows // share, name, True),
            rival=partial(timed, spark, rows // share, name, False),
            rival_name="built in",
            repeats=3,
            warm_up=1,
            ours_io=OURS_IO["parquet"],
            rival_io=OURS_IO["parquet"],
            extra={"rows": rows // share, "keys": KEYS},
        )


def timed(spark: SparkSession, rows: int, case: str, users: bool) -> Timed:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(folder / "in", stream(rows), max(2, rows // PER_FILE))
        before = partial(declare, case) if users else lambda engine: None
        text = query(folder, case, users)
        seconds = run_ours(spark, text, folder / "in", before=before)
        return Timed(pl.read_parquet(folder / "out" / "*.parquet"), seconds)


def stream(rows: int) -> pl.DataFrame:
    rng = np.random.default_rng(7)
    return pl.DataFrame(
        {
            "k": rng.integers(0, KEYS, rows),
            "v": rng.integers(0, 1000, rows),
            "ts": arrivals(rows, RATE, DISORDER, rng),
        }
    )


def declare(case: str, engine: Engine) -> None:
    """What a case needs."""
    if case.startswith("sql"):
        engine.sql(SQL.format(where="WHERE TRUE" if case == "sql-steps" else ""))
        return
    pair = (Avg, Max) if case == "row-by-row" else (VectorisedAvg, VectorisedMax)
    engine.aggregate("u_avg", pair[0], arguments="x BIGINT", returns="DOUBLE")
    engine.aggregate("u_max", pair[1], arguments="x BIGINT", returns="BIGINT")
    engine.function("last_digit", lambda x: x % 10, returns="BIGINT", vectorised=True)


def query(folder: Path, case: str, users: bool) -> str:
    where = ""
    if case == "filtered":
        where = "WHERE last_digit(v) > 0" if users else "WHERE v % 10 > 0"
    return (
        f"CREATE STREAM s (k BIGINT, v BIGINT, ts TIMESTAMP) FROM parquet '{folder}/in' "
        f"OPTIONS (maxFilesPerTrigger '{FILES_PER_TRIGGER}') TIMESTAMP BY ts "
        f"SLACK {DISORDER} SECONDS;"
        f"CREATE QUERY q INTO parquet '{folder}/out' AS SELECT k, {USERS if users else BUILT_IN} "
        f"FROM s [RANGE 60 SECONDS, SLIDE 10 SECONDS] {where} GROUP BY k"
    )
