"""Sessions in other zones: the same answers, but for what is read off a calendar or a clock."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.errors import BadSetting
from penstock.kernel.conform import conform_values
from penstock.local.engine import LocalEngine
from penstock.model.types import Type
from penstock.oracle.evaluate import evaluate, same_rows
from penstock.verification.case import rows_of

#: Around the nights in which clocks in Zurich and New York are put forward and back.
MOMENTS = [
    *("2026-03-29 00:30:00", "2026-03-29 01:00:00", "2026-03-29 02:30:00", "2026-03-29 22:30:00"),
    *("2026-10-25 00:15:00", "2026-10-25 00:45:00", "2026-10-25 01:15:00", "2026-10-25 23:30:00"),
    *("2026-11-01 05:30:00", "2026-11-01 06:30:00", "2026-12-31 23:59:59.5"),
]
ZONES = ("UTC", "Europe/Zurich", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe")

CALENDAR = """SELECT ts, year(ts) AS y, dayofmonth(ts) AS d, hour(ts) AS h, minute(ts) AS m,
  CAST(ts AS STRING) AS text, CAST(ts AS DATE) AS day, CAST(ts AS TIMESTAMP_NTZ) AS shown,
  CAST(CAST(ts AS TIMESTAMP_NTZ) AS TIMESTAMP) AS again, to_timestamp(CAST(ts AS STRING)) AS reread,
  date_trunc('hour', ts) AS hr, date_trunc('day', ts) AS dt, date_trunc('month', ts) AS mo,
  ts >= DATE '2026-10-25' AS late, ts >= TIMESTAMP '2026-10-25 02:30:00' AS later,
  concat('at ', ts) AS said, hour(shown) AS own FROM s"""
ABSOLUTE = "SELECT count(*) AS n, max(v) AS v FROM s [RANGE 1 HOUR]"


def answers(zone: str, select: str) -> tuple[Any, list[dict[str, Any]]]:
    engine = LocalEngine()
    engine.sql(
        f"SET TIME ZONE '{zone}'; CREATE STREAM s (v INT, shown TIMESTAMP_NTZ, ts TIMESTAMP) "
        "TIMESTAMP BY ts"
    )
    query = engine.sql(select)
    rows = [{"v": n, "shown": text, "ts": text} for n, text in enumerate(MOMENTS)]
    engine.push("s", rows)
    engine.finish()
    return query, query.results().to_dicts()


@pytest.mark.parametrize("zone", ZONES)
def test_calendar_functions_are_in_the_zone_of_the_session(zone: str) -> None:
    query, _ = answers(zone, CALENDAR)
    ticks = conform_values(MOMENTS, Type.TIMESTAMP).to_list()
    inputs = {"s": [{"v": n, "shown": t, "ts": t} for n, t in enumerate(ticks)]}
    ours, expected = rows_of(query.to_polars()), evaluate(query.plan, inputs)
    assert same_rows(ours, expected), f"ours: {ours}\noracle: {expected}"


def test_what_a_clock_in_zurich_shows() -> None:
    _, rows = answers("Europe/Zurich", CALENDAR)
    assert [row["h"] for row in rows] == [1, 3, 4, 0, 2, 2, 2, 0, 6, 7, 0]
    assert rows[5]["text"] == "2026-10-25 02:45:00"
    assert str(rows[6]["hr"]) == "2026-10-25 01:00:00"  # the second of both hours of that name
    assert str(rows[7]["dt"]) == "2026-10-25 23:00:00"


def test_windows_and_times_are_the_same_in_every_zone() -> None:
    first, *others = [answers(zone, ABSOLUTE)[1] for zone in ZONES]
    assert all(other == first for other in others)


def test_days_of_a_zone_are_windows() -> None:
    select = "SELECT date_trunc('day', ts) AS day, count(*) AS n FROM s GROUP BY 1"
    _, rows = answers("Europe/Zurich", select)
    assert [(str(row["day"]), row["n"]) for row in rows][:3] == [
        ("2026-03-28 23:00:00", 3),
        ("2026-03-29 22:00:00", 1),
        ("2026-10-24 22:00:00", 3),
    ]


def test_a_zone_that_does_not_exist_is_refused() -> None:
    with pytest.raises(BadSetting, match="no time zone `Zurich`") as refused:
        LocalEngine().sql("SET TIME ZONE 'Zurich'")
    assert "Europe/Zurich" in str(refused.value)
