"""Queries on a real Spark session are shown while they run, and altered between two runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.errors import NotExecutable
from penstock.spark.engine import Engine

ROWS = "k,ts\n" + "".join(f"{n % 2},2026-01-01 00:00:{n:02}\n" for n in range(10))
SLIDING = "SELECT k, count(*) AS n FROM s [RANGE 4 SECONDS, SLIDE 1 SECOND] GROUP BY k"


def test_a_query_is_shown_while_it_runs_and_altered_when_it_does_not(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "rows.csv").write_text(ROWS)
    engine = Engine(spark)
    engine.sql(
        f"CREATE STREAM s (k INT, ts TIMESTAMP) FROM csv '{tmp_path}/in' TIMESTAMP BY ts;"
        f"SET aggregation = wid; CREATE QUERY q AS {SLIDING}"
    )
    engine.start()
    engine.process_available()
    shown = str(engine.sql("SHOW QUERIES")).splitlines()[1]
    assert shown.split()[:4] == ["q", "running", "s", "-"]
    described = str(engine.sql("DESCRIBE q"))
    assert "state     running: the next result waits for `s`\n" in described
    assert "settings  aggregation = wid\n" in described
    with pytest.raises(NotExecutable, match="query `q` has been started"):
        engine.sql("ALTER QUERY q SET (aggregation = paned)")
    engine.finish()
    results = engine.query("q").fetch().sort("window_end", "k")
    assert str(engine.sql("SHOW QUERIES")).splitlines()[1].split() == [
        *("q", "stopped", "s", "-", str(results.height)),
    ]
    counts = str(engine.sql("SHOW STREAMS")).splitlines()[1]
    assert "by ts, ordered    10     0          0  " in counts
    engine.sql("ALTER QUERY q SET (aggregation = paned)")
    assert "PanedWid" in engine.query("q").explain()
    engine.start()
    engine.finish()
    assert engine.query("q").results().sort("window_end", "k").equals(results)
