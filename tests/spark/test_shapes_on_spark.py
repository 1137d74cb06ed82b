"""Inputs of every shape: many small groups, one hot key, no rows at all, one row, two million."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from pyspark.sql import SparkSession

from penstock.local.engine import LocalEngine
from penstock.spark.engine import Engine
from tests.spark.packets import by_local_engine, same, write_file

START = 1_700_000_000_000_000
STREAM = (
    "CREATE STREAM {name} (k BIGINT, v BIGINT, ts TIMESTAMP) FROM parquet '{folder}/{name}' "
    "OPTIONS (maxFilesPerTrigger '1') TIMESTAMP BY ts SLACK 1 SECOND;"
)
SLIDING = "[RANGE 4 SECONDS, SLIDE 2 SECONDS] GROUP BY k"


def rows(count: int, keys: int, seconds: int, hot: float = 0.0, seed: int = 0) -> pl.DataFrame:
    """Rows in order of time; `hot` of them have key 0."""
    rng = np.random.default_rng(seed)
    chosen = np.where(rng.random(count) < hot, 0, rng.integers(0, keys, count))
    times = START + np.sort(rng.integers(0, seconds * 1_000_000, count))
    return pl.DataFrame({"k": chosen, "v": rng.integers(0, 100, count), "ts": times})


def write(folder: Path, frame: pl.DataFrame, *sizes: int) -> None:
    """Files of these sizes, in order of arrival."""
    folder.mkdir(parents=True)
    shown = frame.with_columns(pl.col("ts").cast(pl.Datetime("us", "UTC")))
    place = 0
    for number, size in enumerate(sizes):
        write_file(folder / f"{number}.parquet", shown[place : place + size], number)
        place += size


def test_every_shape_of_input_has_its_answer(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path / "many", rows(12_000, 10_000, 20), 6_000, 1, 5_999)
    write(tmp_path / "hot", rows(6_000, 50, 20, hot=0.95), 3_000, 3_000)
    write(tmp_path / "none", rows(0, 1, 1), 0)
    write(tmp_path / "one", rows(1, 1, 1), 1)
    names = ("many", "hot", "none", "one")
    united = " UNION ".join(names)
    text = "".join(STREAM.format(name=name, folder=tmp_path) for name in names) + (
        f"CREATE QUERY grouped AS SELECT k, count(*) AS n, sum(v) AS t FROM {united} {SLIDING};"
        "CREATE QUERY whole AS SELECT count(*) AS n FROM none UNION one UNION hot "
        "[RANGE 4 SECONDS, SLIDE 2 SECONDS];"
        "CREATE QUERY opened AS SELECT k, date_trunc('second', ts) AS s, first(v) AS f, "
        "last(v) AS l FROM hot GROUP BY k, s;"
        "CREATE QUERY nothing AS SELECT k, v FROM none;"
        "CREATE QUERY beside AS SELECT k, count(*) [RANGE 2 SECONDS, SLIDE 2 SECONDS, WA ts] AS n, "
        "sum(v) [RANGE 6 SECONDS, SLIDE 2 SECONDS, WA ts] AS t FROM hot GROUP BY k;"
        "CREATE QUERY recent AS SELECT m.v AS m, h.v AS h, h.ts FROM SEQ(many AS m, hot AS h) "
        "MODE RECENT PARTITION BY k WITHIN 4 SECONDS;"
        "CREATE QUERY in_turn AS SELECT m.v AS m, h.v AS h, h.ts FROM SEQ(many AS m, hot AS h) "
        "MODE CHRONICLE PARTITION BY k;"
        "CREATE QUERY early AS SELECT k, count(*) AS n FROM hot [RANGE 8 SECONDS] GROUP BY k "
        "EMIT EVERY 2 SECONDS"
    )
    engine = Engine(spark)
    engine.sql(text)
    engine.start()
    engine.finish()
    expected = by_local_engine(text)
    for name in ("grouped", "whole", "opened", "nothing", "beside"):
        assert same(engine.query(name).results(), expected.query(name).results()), name
    hot = rows(6_000, 50, 20, hot=0.95).with_columns(s=pl.col("ts") // 1_000_000 * 1_000_000)
    groups = hot.sort("ts", "v").group_by("k", "s").agg(f=pl.first("v"), l=pl.last("v"))
    opened = engine.query("opened").results().with_columns(pl.col("s").cast(pl.Int64))
    assert same(opened, groups)
    early, final = engine.query("early").results(), expected.query("early").results()
    assert same(early.filter("is_final"), final.filter("is_final"))
    # A revision never tells of more than there will be.
    revised = early.filter(~pl.col("is_final")).join(
        early.filter("is_final"), on=["k", "window_end"], suffix="_final"
    )
    assert revised.height > 0 and (revised["n"] <= revised["n_final"]).all()
    assert engine.query("grouped").results().height > 20_000


def test_a_row_from_the_future_closes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    frame = rows(100, 2, 10)
    ahead = pl.DataFrame({"k": [0], "v": [1], "ts": [START + (1 << 52)]})
    write(tmp_path / "s", pl.concat([frame[:50], ahead, frame[50:]]), 51, 50)
    engine = Engine(spark)
    engine.sql(
        STREAM.format(name="s", folder=tmp_path).replace(";", " MAX AHEAD 1 MINUTE;")
        # Without that, no row may lie more than max_jump ahead of the clock.
        + STREAM.format(name="s", folder=tmp_path).replace("STREAM s", "STREAM t")
        + "CREATE QUERY q AS SELECT count(*) AS n FROM s [RANGE 100 SECONDS];"
        + "CREATE QUERY r AS SELECT count(*) AS n FROM t [RANGE 100 SECONDS]"
    )
    engine.start()
    engine.finish()
    for query, stream in (("q", "s"), ("r", "t")):
        assert int(engine.query(query).results()["n"].sum()) == 100
        counts = engine.counts(stream)
        assert (counts.rows, counts.late, counts.malformed) == (100, 0, 1)
    assert "max_jump" in str(engine.counts("t").reasons)


@pytest.mark.slow
def test_two_million_rows_in_one_batch(spark: SparkSession, tmp_path: Path) -> None:
    frame = rows(2_000_000, 1_000, 60, hot=0.3)
    write(tmp_path / "s", frame, 2_000_000)
    engine = Engine(spark)
    engine.sql(
        STREAM.format(name="s", folder=tmp_path)
        + f"CREATE QUERY q AS SELECT k, count(*) AS n, sum(v) AS t FROM s {SLIDING}"
    )
    engine.start()
    engine.finish()
    local = LocalEngine()
    local.sql(
        "CREATE STREAM s (k BIGINT, v BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;"
        f"CREATE QUERY q AS SELECT k, count(*) AS n, sum(v) AS t FROM s {SLIDING}"
    )
    local.push("s", frame)
    local.finish()
    ours, expected = (each.query("q").results().sort("window_end", "k") for each in (engine, local))
    assert ours.equals(expected)
    by_hand = frame.filter(pl.col("ts") < START + 4_000_000)["v"].sum()
    first = ours.filter(pl.col("window_end").dt.epoch("us") == START + 4_000_000)
    assert int(first["t"].sum()) == by_hand
