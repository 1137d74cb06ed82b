"""Punctuation for some rows only, from the program and in the data."""

from __future__ import annotations

import random
from typing import Any

import pytest

from penstock import LocalEngine
from penstock.errors import BadPunctuation, CannotWindow, StreamError
from penstock.kernel.rejected import Reason
from penstock.model.timestamps import SECOND
from penstock.runtime.clock import VirtualClock
from tests.engine.draw import seeds
from tests.ticks import push_ticks

STREAMS = """
CREATE STREAM a (k STRING, x INT, ts TIMESTAMP) TIMESTAMP BY ts PUNCTUATED;
CREATE STREAM b (k STRING, x INT, ts TIMESTAMP) TIMESTAMP BY ts PUNCTUATED;
CREATE STREAM marked (k STRING, x INT, over BOOLEAN, ts TIMESTAMP)
  TIMESTAMP BY ts PUNCTUATED BY over;
"""
COUNT = "SELECT k, count(*) AS n FROM {} [RANGE 10 SECONDS] GROUP BY k"


def engine_with(query: str) -> LocalEngine:
    engine = LocalEngine(clock=VirtualClock())
    engine.sql(f"{STREAMS} CREATE QUERY q AS {query}")
    return engine


def row(k: str | None, second: int, x: int | None = 0, **more: Any) -> dict[str, Any]:
    return {"k": k, "x": x, "ts": second * SECOND, **more}


def counts(engine: LocalEngine) -> list[tuple[str, int]]:
    return sorted((r["k"], r["n"]) for r in engine.query("q").fetch().to_dicts())


def test_a_group_that_is_over_is_answered_before_the_others() -> None:
    engine = engine_with(COUNT.format("a"))
    push_ticks(engine, "a", [row("u", 1), row("v", 2), row("u", 12), row("v", 13)])
    engine.punctuate("a", 10 * SECOND, {"k": "u"})
    assert counts(engine) == [("u", 1)]
    engine.punctuate("a", 20 * SECOND)
    assert counts(engine) == [("u", 1), ("v", 1), ("v", 1)]


def test_a_range_means_every_group_in_it() -> None:
    engine = engine_with(
        "SELECT x, count(*) AS k, count(*) AS n FROM a [RANGE 10 SECONDS] GROUP BY x"
    )
    push_ticks(engine, "a", [row("u", 1, x) for x in (1, 2, 3)])
    engine.punctuate("a", 10 * SECOND, {"x": (None, 3)})
    assert sorted(engine.query("q").fetch()["x"]) == [1, 2]


def test_patterns_go_through_selections_projections_and_unions() -> None:
    engine = engine_with(
        "SELECT key AS k, count(*) AS n FROM (SELECT k AS key, ts FROM a WHERE x = 0 "
        "UNION ALL SELECT k AS key, ts FROM b) [RANGE 10 SECONDS] GROUP BY key"
    )
    push_ticks(engine, "a", [row("u", 1), row("v", 1)])
    push_ticks(engine, "b", [row("u", 2)])
    engine.punctuate("a", 10 * SECOND, {"k": "u"})
    assert counts(engine) == []  # b may still bring some
    engine.punctuate("b", 10 * SECOND)
    assert counts(engine) == [("u", 2)]
    engine.punctuate("a", 10 * SECOND)
    assert counts(engine) == [("v", 1)]


def test_a_pattern_about_a_column_that_is_gone_or_no_group_says_nothing() -> None:
    for query in (COUNT.format("(SELECT k, ts FROM a)"), COUNT.format("a")):
        engine = engine_with(query)
        push_ticks(engine, "a", [row("u", 1, x=5)])
        engine.punctuate("a", 10 * SECOND, {"x": 5})
        assert counts(engine) == []


def test_a_row_below_such_a_bound_is_late_and_others_are_not() -> None:
    engine = engine_with(COUNT.format("a"))
    engine.punctuate("a", 10 * SECOND, {"k": "u"})
    engine.punctuate("a", 5 * SECOND, {"k": "w", "x": (0, 3)})
    push_ticks(
        engine, "a", [row("u", 9), row("u", 10), row("v", 1), row("w", 4, 2), row("w", 4, 3)]
    )
    assert engine.counts("a").late == 2
    [aside] = engine.rejected_rows
    assert aside.reason is Reason.LATE
    assert aside.rows["k"].to_list() == ["u", "w"]


def test_a_bound_on_all_rows_makes_older_ones_on_some_superfluous() -> None:
    engine = engine_with(COUNT.format("a"))
    engine.punctuate("a", 10 * SECOND, {"k": "u"})
    engine.punctuate("a", 15 * SECOND)
    push_ticks(engine, "a", [row("u", 15)])
    assert engine.counts("a").rows == 1
    assert engine._host.inputs["a"].generator.state.patterns == []


def test_a_bound_on_a_group_may_not_go_back_or_name_what_is_not_there() -> None:
    engine = engine_with(COUNT.format("a"))
    engine.punctuate("a", 10 * SECOND, {"k": "u"})
    engine.punctuate("a", 3 * SECOND, {"k": "v"})
    with pytest.raises(BadPunctuation, match="cannot fall"):
        engine.punctuate("a", 9 * SECOND, {"k": "u"})
    with pytest.raises(StreamError, match="cannot be punctuated by `y`"):
        engine.punctuate("a", 9 * SECOND, {"y": 1})


# -- punctuation in the data ------------------------------------------------------------------


def test_marked_rows_are_punctuation_and_no_rows() -> None:
    engine = engine_with(COUNT.format("marked"))
    push_ticks(
        engine,
        "marked",
        [
            row("u", 1, over=False),
            row("v", 2, over=None),
            row("u", 10, x=None, over=True),  # u is over up to 10
            row("u", 3, over=False),  # late
            row("v", 3, over=False),
        ],
    )
    assert counts(engine) == [("u", 1)]
    assert (engine.counts("marked").rows, engine.counts("marked").late) == (3, 1)
    push_ticks(engine, "marked", [row(None, 10, x=None, over=True)])
    assert counts(engine) == [("v", 2)]


def test_a_marked_row_that_is_no_valid_punctuation_is_set_aside() -> None:
    engine = engine_with(COUNT.format("marked"))
    push_ticks(
        engine, "marked", [row(None, 10, x=None, over=True), row(None, 5, x=None, over=True)]
    )
    push_ticks(engine, "marked", [{"k": None, "x": None, "ts": None, "over": True}])
    assert engine.counts("marked").malformed == 2
    assert "cannot fall" in engine.rejected_rows[0].rows["reason"][0]


def test_what_marks_punctuation_is_a_boolean_column() -> None:
    with pytest.raises(CannotWindow, match="cannot be punctuated by `x`"):
        LocalEngine().sql("CREATE STREAM s (x INT, ts TIMESTAMP) TIMESTAMP BY ts PUNCTUATED BY x")


# -- equal answers, and none contradicted -----------------------------------------------------


@pytest.mark.parametrize("seed", seeds(3, slow=10))
def test_bounds_on_groups_bring_answers_earlier_and_change_none(seed: int) -> None:
    draw = random.Random(seed)
    keys = "uvw"
    bounds = dict.fromkeys(keys, 0)
    plain, finer = engine_with(COUNT.format("a")), engine_with(COUNT.format("a"))
    early = 0
    for _ in range(60):
        key = draw.choice(keys)
        rows = [row(key, bounds[key] + draw.randint(0, 15)) for _ in range(draw.randint(0, 3))]
        for engine in (plain, finer):
            push_ticks(engine, "a", rows)
        if draw.random() < 0.5:
            bounds[key] += draw.randint(1, 12)
            finer.punctuate("a", bounds[key] * SECOND, {"k": key})
        if draw.random() < 0.2:
            for engine in (plain, finer):
                engine.punctuate("a", min(bounds.values()) * SECOND)
        early += finer.query("q").rows > plain.query("q").rows
    plain.finish()
    finer.finish()
    answers = finer.query("q").results()
    assert answers.select("k", "window_end").is_unique().all()  # nothing is said twice
    assert sorted(answers.rows()) == sorted(plain.query("q").results().rows())
    assert early
