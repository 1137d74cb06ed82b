"""Columns of streams that are derived from others as rows come in, and times made of numbers."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from penstock import LocalEngine
from penstock.errors import CannotWindow, DuplicateName, QueryError, SyntaxFault, UnknownName

START = datetime(2026, 1, 1, 10)
MILLIS = int(START.replace(tzinfo=timezone.utc).timestamp() * 1000)

SPELLINGS = [
    "(ms BIGINT, v INT, ts AS timestamp_millis(ms)) TIMESTAMP BY ts SLACK 5 SECONDS",
    "(ms BIGINT, v INT, ts AS TO_TIMESTAMP_LTZ(ms, 3), "
    "WATERMARK FOR ts AS ts - INTERVAL '5' SECOND)",
    "(ms BIGINT, v INT) TIMESTAMP BY timestamp_millis(ms) AS ts SLACK 5 SECONDS",
]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_time_is_derived_from_milliseconds(spelling: str) -> None:
    engine = LocalEngine()
    engine.sql(f"CREATE STREAM s {spelling}")
    query = engine.sql("SELECT count(*) AS n, max(ts) AS last FROM s [RANGE 10 SECONDS]")
    engine.push("s", [{"ms": MILLIS + 1000 * n, "v": n} for n in (0, 9, 4, 12)])
    assert query.results().height == 0
    engine.push("s", [{"ms": MILLIS + 15_000, "v": 1}])
    ten = timedelta(seconds=10)
    assert query.results().rows() == [(3, START + timedelta(seconds=9), START, START + ten)]
    engine.push("s", [{"ms": MILLIS + 9000, "v": 1}])
    assert engine.counts("s").late == 1


def test_a_time_that_is_not_named_is_called_event_ts() -> None:
    engine = LocalEngine()
    engine.sql("CREATE STREAM s (secs BIGINT) TIMESTAMP BY timestamp_seconds(secs)")
    query = engine.sql("SELECT * FROM s")
    engine.push("s", [{"secs": MILLIS // 1000}])
    assert query.results().to_dicts() == [{"secs": MILLIS // 1000, "event_ts": START}]


def test_any_column_can_be_derived_from_those_that_rows_bring_along() -> None:
    engine = LocalEngine()
    engine.sql(
        "CREATE STREAM s (item STRUCT<name: STRING>, price DOUBLE, n INT, name AS item.name, "
        "total AS price * n, ts TIMESTAMP) TIMESTAMP BY ts"
    )
    query = engine.sql("SELECT name, sum(total) AS total FROM s [RANGE 1 HOUR] GROUP BY name")
    engine.push("s", [{"item": {"name": "lamp"}, "price": 2.5, "n": 2, "ts": START}] * 2)
    engine.finish()
    assert query.results().select("name", "total").rows() == [("lamp", 10.0)]
    assert "total   DOUBLE                AS price * n" in str(engine.sql("DESCRIBE s"))


def test_derived_columns_follow_the_time_zone_of_the_session() -> None:
    engine = LocalEngine()
    engine.sql(
        "SET TIME ZONE 'Europe/Zurich';"
        "CREATE STREAM s (at STRING, ts AS to_timestamp(at)) TIMESTAMP BY ts"
    )
    query = engine.sql("SELECT ts FROM s")
    engine.push("s", [{"at": "2026-01-01 11:00:00"}])
    assert query.results().rows() == [(START,)]


def test_a_row_whose_time_cannot_be_derived_is_malformed() -> None:
    engine = LocalEngine()
    engine.sql(f"CREATE STREAM s {SPELLINGS[0]}")
    query = engine.sql("SELECT v FROM s")
    engine.push("s", [{"ms": None, "v": 1}, {"ms": 1 << 62, "v": 2}, {"ms": MILLIS, "v": 3}])
    assert query.results().rows() == [(3,)]
    counts = engine.counts("s")
    assert (counts.malformed, counts.reasons) == (2, {"ts is not a valid time": 2})


@pytest.mark.parametrize(
    ("columns", "error", "words"),
    [
        ("ms BIGINT, ts AS nothing(ms)", UnknownName, "no function `nothing`"),
        ("ms BIGINT, ts AS timestamp_millis(other)", UnknownName, "other"),
        ("ms BIGINT, ts AS sum(ms)", SyntaxFault, "aggregate"),
        ("ms BIGINT, ts AS", SyntaxFault, "expected an expression"),
        ("ms BIGINT, MS AS ms + 1", DuplicateName, "MS"),
        ("ms BIGINT, a AS ms + 1, b AS a + 1", UnknownName, "`a`"),
        ("ms BIGINT, ts AS CAST(ms AS STRING)", CannotWindow, "TIMESTAMP or an integer"),
    ],
)
def test_what_cannot_be_derived_is_refused_with_its_place(
    columns: str, error: type[QueryError], words: str
) -> None:
    with pytest.raises(error, match=words) as refused:
        LocalEngine().sql(f"CREATE STREAM s ({columns}) TIMESTAMP BY ts")
    assert refused.value.position is not None


NUMBERS: list[Any] = [MILLIS, float(MILLIS), Decimal(MILLIS), 0]


@pytest.mark.parametrize("number", NUMBERS)
def test_a_number_is_no_time_because_it_has_no_unit(number: Any) -> None:
    engine = LocalEngine()
    engine.sql("CREATE STREAM s (ts TIMESTAMP, v INT) TIMESTAMP BY ts")
    query = engine.sql("SELECT v FROM s")
    engine.push("s", [{"ts": number, "v": 1}, {"ts": START, "v": 2}])
    engine.push("s", pl.DataFrame({"ts": [number], "v": [3]}))
    assert query.results().rows() == [(2,)]
    [sample, _] = engine.counts("s").samples
    assert sample["reason"].endswith(
        "is not a valid TIMESTAMP: a number may count milliseconds or anything else; declare "
        "ts BIGINT, and event_ts AS timestamp_millis(ts)"
    )
    # The hint is a way out.
    engine.sql("CREATE STREAM t (ts BIGINT, v INT, event_ts AS timestamp_millis(ts))")


def test_numbers_of_json_and_parquet_are_no_times_and_timestamps_keep_their_unit(
    tmp_path: Path,
) -> None:
    for kind in ("json", "parquet"):
        (tmp_path / kind).mkdir()
    rows = [{"ts": MILLIS, "v": 1}, {"ts": "2026-01-01T10:00:00Z", "v": 2}]
    (tmp_path / "json" / "1.json").write_text("\n".join(map(json.dumps, rows)))
    numbers = pl.DataFrame({"ts": [MILLIS], "v": [1]})
    numbers.write_parquet(tmp_path / "parquet" / "1.parquet")
    for unit in ("ms", "us", "ns"):
        times = pl.DataFrame({"ts": [START], "v": [2]}).cast({"ts": pl.Datetime(unit)})
        times.write_parquet(tmp_path / "parquet" / f"{unit}.parquet")
    for kind, count in (("json", 1), ("parquet", 3)):
        engine = LocalEngine()
        engine.sql(
            f"CREATE STREAM s (ts TIMESTAMP, v INT) FROM {kind} '{tmp_path / kind}' TIMESTAMP BY ts"
        )
        query = engine.sql("SELECT ts, v FROM s")
        engine.finish()
        assert query.results().rows() == [(START, 2)] * count
        assert engine.counts("s").malformed == 1
