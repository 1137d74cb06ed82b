"""A file of statements on any engine, under any settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.errors import QueryError
from penstock.local.engine import LocalEngine
from penstock.verification.script import Script
from tests.ticks import push_ticks

TEXT = """
    SET aggregation = paned;
    CREATE STREAM s (k STRING, v INT, ts TIMESTAMP) FROM csv '{place}/in' TIMESTAMP BY ts
      LATE INTO csv '{place}/late';
    CREATE QUERY counted INTO csv '{place}/out' AS
      SELECT k, count(*) AS n FROM s [RANGE 10 SECONDS SLIDE 5 SECONDS] GROUP BY k;
    CREATE QUERY united AS SELECT k FROM s UNION ALL SELECT k FROM s;
    SELECT v FROM s;
    EXPLAIN counted;
"""


def test_settings_of_ours_hold_where_a_query_takes_them(tmp_path: Path) -> None:
    script = Script.of(TEXT.format(place=tmp_path))
    written = {each.name: each.options for each in script.declared()}
    assert written["counted"].aggregation == "paned"
    other = {each.name: each.options for each in script.declared({"aggregation": "wid"})}
    assert other["counted"].aggregation == "wid"
    merged = {each.name: each.options for each in script.declared({"union": "merge"})}
    assert merged["united"].union == "auto"  # its inputs have no time any more: refused
    assert merged["counted"].union == "merge"
    assert list(merged) == ["counted", "united", "query_1"]


def test_nothing_is_read_or_written(tmp_path: Path) -> None:
    engine = LocalEngine()
    Script.of(TEXT.format(place=tmp_path)).on(engine, {})
    push_ticks(engine, "s", [{"k": "x", "v": 1, "ts": 5}])
    engine.finish()
    assert engine.query("counted").results().height == 2
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_wrong_by_itself_is_refused() -> None:
    with pytest.raises(QueryError, match="no column `w`"):
        Script.of("CREATE STREAM s (v INT); SELECT w FROM s").declared({"union": "merge"})


def test_a_query_is_altered_as_the_file_says_unless_a_way_sets_it_otherwise() -> None:
    text = (
        "CREATE STREAM s (v INT, ts TIMESTAMP) TIMESTAMP BY ts;"
        "CREATE QUERY q AS SELECT max(v) AS m FROM s [RANGE 10 SECONDS, SLIDE 5 SECONDS];"
        "ALTER QUERY q SET (aggregation = two_level, table_size = 16);"
        "SHOW QUERIES; DESCRIBE q"
    )
    [written] = Script.of(text).declared()
    assert (written.options.aggregation, written.options.table_size) == ("two_level", 16)
    [other] = Script.of(text).declared({"aggregation": "wid"})
    assert (other.options.aggregation, other.options.table_size) == ("wid", 4096)
    assert Script.of(text).declared(queries=["other"]) == []
