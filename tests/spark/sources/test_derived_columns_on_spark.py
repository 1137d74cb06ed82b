"""Derived columns of streams, and numbers that are no times, whatever reads the rows."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

import polars as pl
from pyspark.sql import SparkSession

from penstock.spark.engine import Engine

START = datetime(2026, 1, 1, 10)
MILLIS = int(START.replace(tzinfo=timezone.utc).timestamp() * 1000)
ROWS = pl.DataFrame({"ms": [MILLIS + 1000 * n for n in (0, 9, 4, 12)], "v": range(4)})

COLUMNS = "(ms BIGINT, v INT, ts AS timestamp_millis(ms), twice AS v * 2)"
WINDOWS = (
    "SELECT twice % 4 AS k, count(*) AS n, max(ts) AS last "
    "FROM {name} [RANGE 10 SECONDS] GROUP BY k"
)


def test_rows_have_their_derived_columns_whoever_reads_them(
    spark: SparkSession, tmp_path: Path
) -> None:
    for kind in ("parquet", "json"):
        (tmp_path / kind).mkdir()
    ROWS.write_parquet(tmp_path / "parquet" / "1.parquet")
    ROWS.write_ndjson(tmp_path / "json" / "1.json")
    engine = Engine(spark)
    sources = {
        "direct": f"parquet '{tmp_path / 'parquet'}'",
        "text": f"json '{tmp_path / 'json'}'",
        # With an option that only Spark knows, Spark reads the files.
        "by_spark": f"json '{tmp_path / 'json'}' OPTIONS (allowComments 'true')",
    }
    for name, source in sources.items():
        engine.sql(f"CREATE STREAM {name} {COLUMNS} FROM {source} TIMESTAMP BY ts SLACK 5 SECONDS")
    queries = {name: engine.sql(WINDOWS.format(name=name)) for name in sources}
    # What only Spark computes of a derived column, it computes of what that is derived from.
    hashed = engine.sql("SELECT sha2(CAST(twice AS STRING), 256) AS h FROM by_spark")
    engine.start()
    engine.finish()
    at = [START + timedelta(seconds=n) for n in (0, 9, 4, 12)]
    ten = timedelta(seconds=10)
    wanted = [
        (0, 2, at[2], START, START + ten),
        (2, 1, at[1], START, START + ten),
        (2, 1, at[3], START + ten, START + 2 * ten),
    ]
    for name, query in queries.items():
        found = query.results().sort("window_end", "k")
        assert found.rows() == wanted, name
    assert hashed.results()["h"].n_unique() == 4


def test_numbers_are_no_times_whoever_reads_them(spark: SparkSession, tmp_path: Path) -> None:
    for kind in ("parquet", "json"):
        (tmp_path / kind).mkdir()
    numbers = ROWS.rename({"ms": "ts"})
    numbers.write_parquet(tmp_path / "parquet" / "1.parquet")
    good = pl.DataFrame({"ts": [START], "v": [7]}).cast({"ts": pl.Datetime("ms")})
    good.write_parquet(tmp_path / "parquet" / "2.parquet")
    (tmp_path / "json" / "1.json").write_text(
        numbers.write_ndjson() + '{"ts": 2024, "v": 5}\n{"ts": "2026-01-01T10:00:00Z", "v": 7}\n'
    )
    engine = Engine(spark)
    sources = {
        "direct": (f"parquet '{tmp_path / 'parquet'}'", 4),
        "text": (f"json '{tmp_path / 'json'}'", 5),
        "by_spark": (f"json '{tmp_path / 'json'}' OPTIONS (allowComments 'true')", 5),
    }
    for name, (source, _) in sources.items():
        engine.sql(f"CREATE STREAM {name} (ts TIMESTAMP, v INT) FROM {source} TIMESTAMP BY ts")
    queries = {name: engine.sql(f"SELECT ts, v FROM {name}") for name in sources}
    engine.start()
    engine.finish()
    for name, (_, malformed) in sources.items():
        assert queries[name].results().rows() == [(START, 7)], name
        counts = engine.counts(name)
        assert counts.malformed == malformed, name
        [reason] = counts.reasons
        assert "declare ts BIGINT, and event_ts AS timestamp_millis(ts)" in reason, name
