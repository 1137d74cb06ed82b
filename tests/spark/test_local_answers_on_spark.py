"""Queries over Parquet files on Spark: the local engine's answers, counts and ends of time."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest
from pyspark.sql import SparkSession

from penstock.kernel.rejected import Reason
from penstock.local.engine import LocalEngine
from penstock.model.timestamps import to_ticks
from penstock.spark.engine import Engine
from tests.spark.packets import by_local_engine, same, script, write_file, write_packets

QUERIES = {
    "subset": "SELECT srcIP, destIP, max(len) AS m, min(len + 0.5) AS l FROM packets "
    "[RANGE 4 SECONDS] WHERE srcPort <> 80 OR len > 1000 GROUP BY srcIP, destIP",
    "all": "SELECT count(*) AS n, stddev(len) AS s, avg(len) AS a, sum(len) * 2 AS b "
    "FROM packets [RANGE 2 SECONDS] HAVING count(*) > 20",
    "twice": "SELECT srcIP, count(*) AS n FROM packets UNION packets [RANGE 10 SECONDS] "
    "GROUP BY srcIP",
    "renamed": "SELECT who, count(*) AS n FROM (SELECT srcIP AS who, ts AS at FROM packets "
    "WHERE len > 700) [RANGE 3 SECONDS, SLIDE 3 SECONDS, WA at] GROUP BY who",
    "sliding": "SELECT srcIP, count(*) AS n, sum(len) AS s, avg(len) AS a, min(len) AS l, "
    "max(srcPort) AS h FROM packets [RANGE 5 SECONDS, SLIDE 2 SECONDS] WHERE len > 100 "
    "GROUP BY srcIP",
    "overlapping": "SELECT count(*) AS n FROM packets UNION packets "
    "[RANGE 3 SECONDS, SLIDE 500 MILLISECONDS]",
    "distinct": "SELECT srcIP, approx_count_distinct(len) AS d FROM packets "
    "[RANGE 6 SECONDS, SLIDE 3 SECONDS] GROUP BY srcIP",
    "few": "SELECT srcIP, approx_count_distinct(CASE WHEN len > 900 THEN 'long' WHEN len > 500 "
    "THEN '' END) AS d, variance(len) AS v FROM packets [RANGE 5 SECONDS] GROUP BY srcIP",
}


def run_on_both(spark: SparkSession, text: str, names: Iterable[str]) -> tuple[Engine, LocalEngine]:
    """Both engines, after a run in which their queries gave the same answers."""
    engine = Engine(spark)
    engine.sql(text)
    engine.start()
    engine.finish()
    expected = by_local_engine(text)
    for name in names:
        assert same(engine.query(name).results(), expected.query(name).results()), name
    return engine, expected


def test_queries_give_the_local_engines_answers(spark: SparkSession, tmp_path: Path) -> None:
    write_packets(tmp_path / "in", range(2), rows=1500)
    text = script(tmp_path / "in", QUERIES)
    engine, _ = run_on_both(spark, text, QUERIES)
    assert engine.counts("packets").rows == 3000


ODD_VALUES = {
    "tumbling": "SELECT k, t, count(*) AS n, count(v) AS c, count(1) AS o, sum(v) AS s, "
    "sum(i) AS i, avg(v) AS a, min(v) AS l, max(v) AS h, min(t) AS b, max(ts) AS w, "
    "sum(i * 2 + 1) AS d, max(7) AS m, sum(2) AS e, sum(i) * 2 AS f FROM s [RANGE 10 SECONDS] "
    "GROUP BY k, t",
    "sliding": "SELECT k, count(*) AS n, count(v) AS c, sum(v) AS s, sum(i) AS i, avg(i) AS a, "
    "min(i) AS l, max(v) AS h FROM s [RANGE 10 SECONDS, SLIDE 4 SECONDS] "
    "WHERE i IS NULL OR i > 3 GROUP BY k HAVING count(*) > 8",
    "nobody": "SELECT count(*) AS n FROM s [RANGE 10 SECONDS] WHERE i > 100",
    "times": "SELECT ts, count(*) AS n FROM s [RANGE 10 SECONDS] GROUP BY ts",
}


def test_odd_values_give_the_local_engines_answers(spark: SparkSession, tmp_path: Path) -> None:
    draw = Random(5)
    for number in range(3):
        seconds = sorted(draw.choices(range(number * 20, number * 20 + 25), k=200))
        rows = pl.DataFrame(
            {
                "k": draw.choices([0.0, -0.0, 1.5, float("nan"), None], k=200),
                "t": draw.choices(["a", "b", None], k=200),
                "i": draw.choices([None, *range(8)], k=200),
                "v": draw.choices([None, float("nan"), -1.0, 0.5, 7.25], k=200),
                "ts": [None if s % 17 == 0 else s * 1_000_000 for s in seconds],
            },
            schema={
                "k": pl.Float64,
                "t": pl.String,
                "i": pl.Int32,
                "v": pl.Float64,
                "ts": pl.Datetime("us", "UTC"),
            },
        )
        write_file(tmp_path / f"{number}.parquet", rows, number)
    text = (
        "CREATE STREAM s (k DOUBLE, t STRING, i INT, v DOUBLE, ts TIMESTAMP) "
        f"FROM parquet '{tmp_path}' OPTIONS (maxFilesPerTrigger '2') "
        "TIMESTAMP BY ts SLACK 30 SECONDS;"
    ) + "".join(f"CREATE QUERY {name} AS {sql};" for name, sql in ODD_VALUES.items())
    engine, expected = run_on_both(spark, text, ODD_VALUES)
    counts, wanted = engine.counts("s"), expected.counts("s")
    assert (counts.rows, counts.malformed) == (wanted.rows, wanted.malformed)


def test_a_query_continues_from_its_checkpoint(spark: SparkSession, tmp_path: Path) -> None:
    write_packets(tmp_path / "in", range(2), rows=1000)
    text = script(tmp_path / "in", {"subset": QUERIES["subset"]}, tmp_path / "out")
    first = Engine(spark)
    first.sql(text)
    first.start()
    first.process_available()
    first.stop()
    write_packets(tmp_path / "in", range(2, 4), rows=1000)
    second = Engine(spark)
    second.sql(text)
    second.start()
    second.finish()
    answer = pl.read_parquet(tmp_path / "out" / "subset" / "*.parquet")
    expected = by_local_engine(script(tmp_path / "in", {"subset": QUERIES["subset"]}))
    assert same(answer, expected.query("subset").results())


def test_rows_that_do_not_go_in_are_counted(spark: SparkSession, tmp_path: Path) -> None:
    def row(second: int | None) -> dict[str, Any]:
        at = None if second is None else datetime(2026, 1, 1, 0, 0, second, tzinfo=timezone.utc)
        return {"k": 1, "ts": at}

    files: list[list[int | None]] = [[1, 2, None], [30], [31], [32, 3]]
    for number, seconds in enumerate(files):
        rows = pl.DataFrame([row(s) for s in seconds])
        if number == 3:  # what is no number does not fit
            rows = pl.concat([rows.cast({"k": pl.String}), pl.DataFrame([row(33) | {"k": "x"}])])
        write_file(tmp_path / f"{number}.parquet", rows, number)
    engine = Engine(spark)
    engine.sql(
        f"CREATE STREAM s (k BIGINT, ts TIMESTAMP) FROM parquet '{tmp_path}' "
        "OPTIONS (maxFilesPerTrigger '1') TIMESTAMP BY ts SLACK 5 SECONDS;"
        "CREATE QUERY q AS SELECT count(*) AS n FROM s [RANGE 10 SECONDS]"
    )
    engine.start()
    engine.finish()
    assert sorted(engine.query("q").results()["n"]) == [2, 3]
    counts = engine.counts("s")
    assert (counts.rows, counts.late, counts.malformed) == (5, 1, 2)


def test_both_ends_of_time_and_late_rows(spark: SparkSession, tmp_path: Path) -> None:
    begin = datetime(1960, 1, 1, tzinfo=timezone.utc)
    end = datetime(9999, 12, 31, 12, 0, 1, tzinfo=timezone.utc)

    def after(seconds: float) -> datetime:
        return begin + timedelta(seconds=seconds)

    # The bound after 26.0005 is 21.0005: a microsecond less is late, though its window is open.
    files = [[after(1), after(26.0005)], [after(21.000499), after(21.0005)], [end]]
    for number, times in enumerate(files):
        rows = pl.DataFrame({"k": [7] * len(times), "ts": times})
        write_file(tmp_path / f"{number}.parquet", rows, number)
    expected = [(1, begin), (2, after(20)), (1, datetime(9999, 12, 31, 12))]
    engine = Engine(spark)
    engine.sql(
        "SET max_jump = unlimited;"
        f"CREATE STREAM s (k BIGINT, ts TIMESTAMP) FROM parquet '{tmp_path}' "
        "OPTIONS (maxFilesPerTrigger '1') TIMESTAMP BY ts SLACK 5 SECONDS;"
        "CREATE QUERY q AS SELECT count(*) AS n FROM s [RANGE 10 SECONDS]"
    )
    engine.start()
    engine.finish()
    answer = engine.query("q").results().select("n", "window_start").rows()
    assert answer == [(n, start.replace(tzinfo=None)) for n, start in expected]
    counts = engine.counts("s")
    assert (counts.rows, counts.late, counts.malformed) == (4, 1, 0)
    [late] = engine.rejected_rows
    assert late.reason is Reason.LATE
    assert late.rows.get_column("ts").to_list() == [to_ticks(after(21.000499))]
    progress = engine.query("q").lastProgress
    assert progress is not None and progress["penstock"]["rows"] == {"s": 0}


def test_a_union_has_both_ends_of_time(spark: SparkSession, tmp_path: Path) -> None:
    rows = pl.DataFrame(
        {"k": [1, 3, 5], "ts": [datetime(1960, 1, 1, 0, 0, s) for s in (1, 2, 3)]}
    ).vstack(pl.DataFrame({"k": [9], "ts": [datetime(9999, 12, 31, 12, 0, 1)]}))
    rows = rows.with_columns(pl.col("ts").dt.replace_time_zone("UTC"))
    write_file(tmp_path / "0.parquet", rows, 0)
    engine = Engine(spark)
    engine.sql(
        "SET max_jump = unlimited;"
        f"CREATE STREAM s (k BIGINT, ts TIMESTAMP) FROM parquet '{tmp_path}' TIMESTAMP BY ts;"
        "CREATE QUERY q AS SELECT stddev(k) AS d, max(ts) AS m FROM s UNION s [RANGE 10 SECONDS] "
        "WHERE k <> 3"
    )
    engine.start()
    engine.finish()
    answer = engine.query("q").results().select("d", "m", "window_start").rows()
    first = (pytest.approx(2.309401), datetime(1960, 1, 1, 0, 0, 3), datetime(1960, 1, 1))
    assert answer == [first, (0.0, datetime(9999, 12, 31, 12, 0, 1), datetime(9999, 12, 31, 12))]
