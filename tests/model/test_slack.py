"""The SLACK that is suggested after a run: with it, no row is late."""

from __future__ import annotations

import pytest

from penstock.local.engine import LocalEngine
from penstock.model.slack import lateness_in_words, suggested_slack
from penstock.model.timestamps import SECOND
from tests.engine.draw import Draw, check_seeds
from tests.engine.random_streams import Push, careless_arrivals, declarations
from tests.ticks import push_ticks


def declared(slack: str, time: str) -> LocalEngine:
    engine = LocalEngine()
    engine.sql(f"CREATE STREAM s (k STRING, v INT, d DOUBLE, ts {time}) TIMESTAMP BY ts {slack}")
    engine.sql("CREATE QUERY q AS SELECT count(*) AS n FROM s [RANGE 5 ROWS]")
    return engine


def with_the_suggested_slack_nothing_is_late(draw: Draw) -> None:
    streams = declarations(draw)
    pushes = [e.rows for e in careless_arrivals(draw, streams) if isinstance(e, Push)]
    unit = draw.choose([1, 700, SECOND])
    first = min((row["ts"] for rows in pushes for row in rows if row["ts"] is not None), default=0)
    blocks = [
        [{**row, "ts": None if row["ts"] is None else (row["ts"] - first) * unit} for row in rows]
        for rows in pushes
    ]
    engine = declared("", streams[0].time)
    for rows in blocks:
        push_ticks(engine, "s", rows)
    counts = engine.counts("s")
    stream = engine.declared_stream("s").stream
    slack = suggested_slack(stream, counts.lateness)
    assert (slack is not None) is (counts.late > 0)
    if slack is None:
        return
    assert f"SLACK {slack} would have accepted all of them" in str(engine.query("q").why())
    again = declared(f"SLACK {slack}", streams[0].time)
    for rows in blocks:
        push_ticks(again, "s", rows)
    assert again.counts("s").late == 0
    assert again.counts("s").rows == counts.rows + counts.late


def test_with_the_suggested_slack_nothing_is_late() -> None:
    check_seeds(40, with_the_suggested_slack_nothing_is_late)


@pytest.mark.parametrize("order", ["PUNCTUATED", "SLACK 3 ROWS"])
def test_where_no_slack_would_help_none_is_suggested(order: str) -> None:
    engine = declared(order, "TIMESTAMP")
    push_ticks(
        engine, "s", [{"k": "a", "v": 1, "d": 0.0, "ts": second * SECOND} for second in range(9)]
    )
    engine.punctuate("s", 20 * SECOND)
    push_ticks(engine, "s", [{"k": "a", "v": 1, "d": 0.0, "ts": 5 * SECOND}])
    counts, stream = engine.counts("s"), engine.declared_stream("s").stream
    assert counts.late == 1
    assert suggested_slack(stream, counts.lateness) is None
    assert lateness_in_words(stream, counts.lateness) == (
        "up to 3 seconds behind the newest before them"
    )
