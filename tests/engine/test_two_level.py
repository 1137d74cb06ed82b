"""Two-level aggregation by its settings: chosen, explained, refused where values make no sense."""

from __future__ import annotations

import pytest

from penstock import LocalEngine
from penstock.errors import BadSetting
from penstock.model.timestamps import SECOND
from tests.engine.baselines import BaselineEngine
from tests.ticks import push_ticks

STREAM = "CREATE STREAM s (k INT, v INT, ts TIMESTAMP) TIMESTAMP BY ts;"
QUERY = "CREATE QUERY q AS SELECT k, sum(v) AS s FROM s [RANGE 10 SECONDS] GROUP BY k"


def run(aggregation: str, settings: str = "") -> tuple[list[tuple[int, int]], int]:
    """The answers, and how many of them came before the stream ended."""
    engine = BaselineEngine()
    engine.choose(aggregation)
    engine.sql(f"{settings} {STREAM} {QUERY}")
    for second in range(100):
        push_ticks(engine, "s", [{"k": k, "v": 1, "ts": second * SECOND} for k in range(20)])
    early = engine.query("q").results().height
    engine.finish()
    rows = engine.query("q").results()
    assert rows["s"].sum() == 100 * 20
    return sorted(rows.select("k", "s").iter_rows()), early


def test_answers_are_those_of_wid_and_come_at_most_m_windows_later() -> None:
    wanted, at_once = run("wid")
    assert at_once == 9 * 20
    table = "SET table_size = 1000; SET flush_windows = 3;"
    for aggregation, flush in (
        ("two_level", "slow"),
        ("two_level", "lazy"),
        ("ordered_flush", "slow"),  # which the baseline replaces
    ):
        answers, early = run(aggregation, f"{table} SET flush = {flush};")
        assert answers == wanted
        assert 6 * 20 <= early <= 9 * 20


def test_explain_shows_the_parameters() -> None:
    engine = LocalEngine()
    engine.sql("SET aggregation = two_level; SET table_size = 64; SET flush = slow;" + STREAM)
    text = engine.sql("EXPLAIN " + QUERY)
    assert "Bucket > LowLevel > HighLevel: as set; a table of 64 slots" in text
    assert "one closed entry per 160 rows" in text
    landmark = "EXPLAIN SELECT count(*) AS n FROM s [RANGE ALL, SLIDE 1 MINUTE]"
    assert "LandmarkAggregate" in engine.sql(landmark)


@pytest.mark.parametrize("setting", ["table_size = 0", "flush = eager", "flush_rows = slow"])
def test_values_that_make_no_sense_are_refused(setting: str) -> None:
    with pytest.raises(BadSetting, match="cannot be"):
        LocalEngine().sql(f"SET {setting}")
