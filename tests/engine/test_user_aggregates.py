"""Aggregates of users give what those give that are built in, however windows are computed."""

from __future__ import annotations

import random
from typing import Any

import polars as pl
import pytest

from penstock import LocalEngine
from penstock.catalog.settings import SETTINGS
from penstock.errors import DuplicateName, NotExecutable, SyntaxFault, TypeMismatch, UnknownName
from penstock.spark.placement.pipeline_groups import PipelineGroup
from penstock.verification.case import Batch, VerificationCase
from penstock.verification.run_groups import run_groups
from penstock.verification.script import Planned, Script
from penstock.verification.ways import Way
from tests.engine.baselines import BaselineEngine
from tests.engine.running import AGGREGATIONS
from tests.engine.user_aggregates import SAME_AS, Sum, declare
from tests.ticks import push_ticks

#: Those that have `merge`.
MERGED = [name for name in SAME_AS if not name.startswith("o_")]
STREAM = "CREATE STREAM s (k STRING, v INT, ts BIGINT) TIMESTAMP BY ts SLACK 5"
WINDOWS = (
    "s [RANGE 12, SLIDE 4]",
    "s [RANGE 7]",
    "s [RANGE ALL, SLIDE 5]",
    "s [RANGE 6 ROWS, SLIDE 2 ROWS, PA k]",
    "SESSION(TABLE s PARTITION BY k, DESCRIPTOR(ts), 3)",
)


def rows_of(seed: int, batches: int = 6) -> list[list[dict[str, Any]]]:
    draw = random.Random(seed)
    found = []
    for batch in range(batches):
        rows = []
        for place in range(draw.randint(1, 40)):
            v = draw.choice([None, None, *range(-5, 20)])
            ts = batch * 12 + place // 3 + draw.randint(0, 4)
            rows.append({"k": draw.choice("abcde"), "v": v, "ts": ts})
        found.append(rows)
    return found


def check(answers: pl.DataFrame) -> None:
    assert answers.height
    for name in SAME_AS:
        assert answers[name].to_list() == answers[f"b_{name}"].to_list(), name


def query(window: str, names: list[str]) -> str:
    pairs = ", ".join(f"{n}(v) AS {n}, {SAME_AS[n]} AS b_{n}" for n in names)
    ends = ", window_start, window_end" if "TABLE" in window else ""
    return f"SELECT k, {pairs} FROM {window} GROUP BY k{ends}"


@pytest.mark.parametrize("window", WINDOWS)
def test_they_give_what_is_built_in_by_every_algorithm(window: str) -> None:
    names = list(SAME_AS)
    sliding = window in WINDOWS[:2]
    engine = BaselineEngine()
    engine.sql(STREAM)
    declare(engine)
    for number, how in enumerate(AGGREGATIONS if sliding else ["auto"]):
        engine.choose(how)
        engine.sql(f"CREATE QUERY all_{number} AS {query(window, names)}")
        # Without those that only add, windows follow from each other where all can subtract.
        engine.sql(f"CREATE QUERY some_{number} AS {query(window, ['u_sum', 'v_sum'])}")
        engine.sql(f"CREATE QUERY merge_{number} AS {query(window, ['u_avg', 'v_min'])}")
    for rows in rows_of(len(window), batches=4):
        push_ticks(engine, "s", rows)
    engine.finish()
    for each in engine.catalog.queries:
        answers = engine.query(each.name).results()
        assert answers.height
        for name in SAME_AS:
            if name in answers.columns:
                same = answers[name].to_list() == answers[f"b_{name}"].to_list()
                assert same, (each.name, name, answers)


def test_a_plan_change_keeps_what_they_have_seen() -> None:
    engine = LocalEngine()
    engine.sql(STREAM)
    declare(engine)
    engine.sql(f"CREATE QUERY q AS {query(WINDOWS[0], list(SAME_AS))}")
    changes = {1: "wid", 4: "paned"}
    for number, rows in enumerate(rows_of(3)):
        push_ticks(engine, "s", rows)
        if number in changes:
            engine.sql(f"ALTER QUERY q SET (aggregation = {changes[number]})")
    engine.finish()
    check(engine.query("q").results())


def test_every_plan_change_keeps_what_they_have_seen() -> None:
    engine = LocalEngine()
    engine.sql(STREAM)
    declare(engine)
    ways = [how for how in SETTINGS["aggregation"].words if how != "auto"]
    for how in ways:
        engine.sql(f"SET aggregation = wid; CREATE QUERY q_{how} AS {query(WINDOWS[0], MERGED)}")
    for number, rows in enumerate(rows_of(4)):
        push_ticks(engine, "s", rows)
        for how in ways if number in (1, 3) else ():
            engine.sql(f"ALTER QUERY q_{how} SET (aggregation = {how if number == 3 else 'paned'})")
    engine.finish()
    for how in ways:
        answers = engine.query(f"q_{how}").results()
        assert answers.height
        for name in MERGED:
            assert answers[name].to_list() == answers[f"b_{name}"].to_list(), (how, name)


@pytest.mark.parametrize("how", AGGREGATIONS)
def test_groups_that_move_and_start_anew_give_what_is_built_in(
    how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On Spark's host without Spark: batches are repeated, and state is read from its store."""
    engine = BaselineEngine()
    engine.sql(STREAM)
    declare(engine)
    engine.choose(how)
    if engine.baseline is not None:
        program, baseline = PipelineGroup.program, engine.baseline
        monkeypatch.setattr(PipelineGroup, "program", lambda group: baseline(program(group)))
    engine.sql(f"CREATE QUERY q AS {query(WINDOWS[0], MERGED)}")
    engine.sql(f"CREATE QUERY kept AS {query(WINDOWS[0], list(SAME_AS))}")
    planned = [
        Planned(entry.name, entry.plan, engine.catalog.options_of(entry))
        for entry in engine.catalog.queries
    ]
    script = Script(())
    script._declared[(), None] = planned
    case = VerificationCase(tuple(Batch({"s": tuple(rows)}) for rows in rows_of(5, batches=4)))
    way = Way("groups", seed=len(how), groups=2, loses_workers=True)
    for name, found in run_groups(script, case, way).items():
        assert found
        for row in found:
            for each in SAME_AS:
                assert each not in row or row[each] == row[f"b_{each}"], (how, name, each)


def test_windows_side_by_side_and_filters() -> None:
    engine = LocalEngine()
    engine.sql(STREAM)
    declare(engine)
    engine.sql(
        "CREATE QUERY q AS SELECT k, v_count(v) [RANGE 12, SLIDE 4] AS a, "
        "count(v) [RANGE 12, SLIDE 4] AS b, v_count(v) [RANGE 4, SLIDE 4] AS c, "
        "count(v) [RANGE 4, SLIDE 4] AS d FROM s GROUP BY k;"
        "CREATE QUERY f AS SELECT k, v_sum(v) FILTER (WHERE v > 3) AS a, "
        "sum(v) FILTER (WHERE v > 3) AS b FROM s [RANGE 12, SLIDE 4] GROUP BY k"
    )
    for rows in rows_of(5):
        push_ticks(engine, "s", rows)
    engine.finish()
    q, f = (engine.query(name).results() for name in "qf")
    assert q["a"].equals(q["b"])
    assert q["c"].equals(q["d"])
    assert f["a"].equals(f["b"])


def test_several_arguments_and_times() -> None:
    engine = LocalEngine()
    engine.sql("CREATE STREAM s (k INT, v DOUBLE, ts TIMESTAMP) TIMESTAMP BY ts")
    engine.aggregate(
        "last_of",
        empty=lambda: [None, None],
        add=lambda state, v, at: [v, at.isoformat()],
        result=lambda state: f"{state[0]} at {state[1]}",
        arguments="v DOUBLE, at TIMESTAMP",
        returns="STRING",
    )
    q = engine.sql("SELECT last_of(v, ts) AS x FROM s [RANGE 1 MINUTE]")
    push_ticks(engine, "s", [{"k": 1, "v": n, "ts": n * 1_000_000} for n in (1, 3, 2)])
    engine.finish()
    assert q.results()["x"].to_list() == ["3.0 at 1970-01-01T00:00:03"]


def test_what_spark_has_and_penstock_lacks_can_be_defined() -> None:
    engine = LocalEngine()
    engine.sql(STREAM)
    engine.aggregate(
        "bit_or", empty=int, add=int.__or__, result=int, arguments="x INT", returns="INT"
    )
    q = engine.sql("SELECT bit_or(v) AS x FROM s [RANGE 10]")
    push_ticks(engine, "s", [{"k": "a", "v": v, "ts": 1} for v in (1, 4)])
    engine.finish()
    assert q.results()["x"].to_list() == [5]


def test_explain_tells_why_rows_are_kept() -> None:
    engine = LocalEngine()
    engine.sql(STREAM)
    declare(engine)
    text = engine.sql("EXPLAIN SELECT k, o_sum(v) AS x FROM s [RANGE 12, SLIDE 4] GROUP BY k")
    assert "`o_sum` has no merge: rows are kept, and added in the order of ts" in text
    text = engine.sql("EXPLAIN SELECT k, v_sum(v) AS x FROM s [RANGE 12, SLIDE 4] GROUP BY k")
    assert "no merge" not in text


def test_what_cannot_be_declared_is_said() -> None:
    engine = LocalEngine()
    engine.sql(STREAM)
    with pytest.raises(DuplicateName, match="`sum` is built in"):
        engine.aggregate("sum", Sum, arguments="x BIGINT", returns="BIGINT")
    with pytest.raises(SyntaxFault, match="has no `result`"):
        engine.aggregate("a", arguments="x INT", returns="INT", empty=int, add=max)
    with pytest.raises(SyntaxFault, match="has `subtract`, and no `merge`"):
        engine.aggregate(
            "a", arguments="x INT", returns="INT", empty=int, add=max, result=abs, subtract=min
        )
    engine.aggregate("a", Sum, arguments="x BIGINT", returns="BIGINT")
    with pytest.raises(DuplicateName, match="aggregate `a` exists already"):
        engine.aggregate("A", Sum, arguments="x BIGINT", returns="BIGINT")
    engine.aggregate("A", Sum, arguments="x BIGINT", returns="BIGINT", replace=True)
    with pytest.raises(TypeMismatch, match="`A` cannot take STRING"):
        engine.sql("SELECT a(k) AS x FROM s [RANGE 5]")
    with pytest.raises(NotExecutable, match="DISTINCT"):
        engine.sql("SELECT a(DISTINCT v) AS x FROM s [RANGE 5]")
    assert "A         aggregate" in engine.sql("SHOW FUNCTIONS")
    engine.sql("DROP AGGREGATE a")
    with pytest.raises(UnknownName, match=r"no aggregate `a`(.|\n)*declared before the queries"):
        engine.sql("SELECT a(v) [RANGE 5] AS x FROM s")
    assert "no function is declared" in engine.sql("SHOW FUNCTIONS")
