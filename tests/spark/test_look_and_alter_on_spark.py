"""Queries on a real Spark session are shown and altered while they run, and between two runs."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.errors import BadSetting
from penstock.local.engine import LocalEngine
from penstock.spark.engine import Engine
from tests.spark.packets import same

HEADER = "k,ts\n"
ROWS, MORE = (
    HEADER + "".join(f"{n % 2},2026-01-01 00:00:{n:02}\n" for n in numbers)
    for numbers in (range(10), range(10, 20))
)
STREAM = "CREATE STREAM s (k INT, ts TIMESTAMP) FROM csv '{}/in' TIMESTAMP BY ts;"
SLIDING = "SELECT k, count(*) AS n FROM s [RANGE 4 SECONDS, SLIDE 1 SECOND] GROUP BY k"


def check(engine: Engine, text: str) -> None:
    """Every window is there once, and whole."""
    local = LocalEngine()
    local.sql("CREATE STREAM s (k INT, ts TIMESTAMP) TIMESTAMP BY ts")
    query = local.sql(SLIDING)
    lines = [line.split(",") for line in text.replace(HEADER, "").splitlines()]
    rows = [{"k": int(k), "ts": datetime.fromisoformat(ts)} for k, ts in lines]
    local.push("s", rows)
    local.finish()
    assert same(engine.query("q").results(), query.results())


def test_a_query_is_shown_and_altered_while_it_runs_and_when_it_does_not(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "rows.csv").write_text(ROWS)
    engine = Engine(spark)
    engine.sql(STREAM.format(tmp_path) + f"SET aggregation = wid; CREATE QUERY q AS {SLIDING}")
    engine.start()
    engine.process_available()
    shown = str(engine.sql("SHOW QUERIES")).splitlines()[1]
    assert shown.split()[:4] == ["q", "running", "s", "-"]
    described = str(engine.sql("DESCRIBE q"))
    assert "state     running: the next result waits for `s`\n" in described
    assert "settings  aggregation = wid\n" in described
    with pytest.raises(BadSetting, match="the setting `lowering` was removed"):
        engine.sql("ALTER QUERY q SET (aggregation = auto, lowering = native)")
    engine.sql("ALTER QUERY q SET (join = oa)")
    [running] = engine._running
    assert not running.came, "nothing changes"
    engine.sql("ALTER QUERY q SET (aggregation = paned)")
    assert "q runs from batch" in engine.query("q").explain()
    assert (
        "by other operators, which take over with windows that have no rows yet"
        in (running.came["q"])
    )
    (tmp_path / "in" / "more.csv").write_text(MORE)
    engine.process_available()
    assert "PanedWid" in str([each.name for each in engine.status().operators])
    engine.finish()
    check(engine, ROWS + MORE)
    engine = Engine(spark)
    engine.sql(STREAM.format(tmp_path) + f"SET aggregation = wid; CREATE QUERY q AS {SLIDING}")
    engine.start()
    engine.finish()
    results = engine.query("q").fetch().sort("window_end", "k")
    assert str(engine.sql("SHOW QUERIES")).splitlines()[1].split() == [
        *("q", "stopped", "s", "-", str(results.height)),
    ]
    counts = str(engine.sql("SHOW STREAMS")).splitlines()[1]
    assert "by ts, ordered    20     0          0  " in counts
    engine.sql("ALTER QUERY q SET (aggregation = paned)")
    assert "PanedWid" in engine.query("q").explain()
    engine.start()
    engine.finish()
    assert engine.query("q").results().sort("window_end", "k").equals(results)


#: Of three streams, one comes later than the others.
JOINED = (
    "SELECT a.v AS av, b.v AS bv, c.v AS cv FROM a JOIN b ON a.k = b.k WITHIN 4 SECONDS "
    "JOIN c ON b.k = c.k WITHIN 4 SECONDS"
)
CHANGES = (
    "join = mjoin",
    "join = oa, join_order = '(a, (b, c))', migration = pt",
    "join = oa, join_order = auto, migration = ms",
)


def test_joins_change_their_shape_while_they_run(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    engine, local = Engine(spark), LocalEngine()
    for name in "abc":
        (tmp_path / name).mkdir()
        columns = f"CREATE STREAM {name} (k INT, v INT, ts TIMESTAMP)"
        engine.sql(f"{columns} FROM csv '{tmp_path}/{name}' TIMESTAMP BY ts")
        local.sql(f"{columns} TIMESTAMP BY ts")
    engine.sql(f"CREATE QUERY q AS {JOINED}")
    query = local.sql(JOINED)
    engine.start()
    for turn, change in enumerate(["", *CHANGES]):
        if change:
            engine.sql(f"ALTER QUERY q SET ({change})")
        for name in "abc":
            seconds = [4 * turn + n - 3 * (name == "c") for n in range(3, 7)]
            rows = [(n % 2, n, f"2026-01-01 00:00:{n:02}") for n in seconds]
            text = "k,v,ts\n" + "".join(f"{k},{v},{ts}\n" for k, v, ts in rows)
            (tmp_path / name / f"{turn}.csv").write_text(text)
            times = [datetime.fromisoformat(ts) for *_, ts in rows]
            local.push(
                name, [{"k": k, "v": v, "ts": t} for (k, v, _), t in zip(rows, times, strict=True)]
            )
        engine.process_available()
    hows = [each.how for each in engine.status().migrations if each.query == "q"]
    assert set(hows) == {"moving state", "parallel track"}
    engine.finish()
    local.finish()
    assert same(engine.query("q").results(), query.results())
