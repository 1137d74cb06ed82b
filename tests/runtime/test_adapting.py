"""Joins that get other plans by themselves, in this process: when, which, and how it is told."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np
import polars as pl
import pytest

from penstock.local.engine import LocalEngine
from penstock.model.timestamps import SECOND
from penstock.optimizer.adaptation import watching
from penstock.optimizer.adaptation.plan_memory import plans_as_json, plans_from_json
from penstock.optimizer.joins.join_tree import left_deep
from penstock.runtime.clock import VirtualClock
from tests.ticks import push_ticks

STREAMS = "".join(
    f"CREATE STREAM {name} (k BIGINT, v BIGINT, id BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;"
    for name in "abc"
)
QUERY = """CREATE QUERY q AS SELECT a.id AS a, b.id AS b, c.id AS c FROM a
    JOIN b ON a.k = b.k AND b.ts BETWEEN a.ts - INTERVAL 5 SECONDS AND a.ts + INTERVAL 5 SECONDS
    JOIN c ON b.v = c.v AND c.ts BETWEEN b.ts - INTERVAL 5 SECONDS AND b.ts + INTERVAL 5 SECONDS;"""
RATE, EVERY, FEW, MANY = 100, 2, 40, 5000
WRITTEN, OTHER = "OAJoin(OAJoin(a, b), c)", "OAJoin(a, OAJoin(b, c))"


def load(seconds: int, swaps: tuple[int, ...]) -> Iterator[tuple[str, pl.DataFrame]]:
    """Rows of all streams, two seconds at a time; `k` and `v` swap how selective they are."""
    random = np.random.default_rng(1)
    for begin in range(0, seconds, EVERY):
        is_swapped = sum(begin >= swap for swap in swaps) % 2 == 1
        keys = (FEW, MANY) if is_swapped else (MANY, FEW)
        for name in "abc":
            count = RATE * EVERY
            times = np.sort(random.integers(0, EVERY * SECOND, count)) + begin * SECOND
            drawn = {n: random.integers(0, k, count) for n, k in zip("kv", keys, strict=True)}
            numbers = np.arange(count) + begin * RATE
            yield name, pl.DataFrame({**drawn, "id": numbers, "ts": times})


def run(adapt: str, seconds: int = 120, swaps: tuple[int, ...] = (60,)) -> LocalEngine:
    engine = LocalEngine(clock=VirtualClock())
    engine.sql(f"{STREAMS} SET adapt = {adapt}; {QUERY}")
    for name, rows in load(seconds, swaps):
        push_ticks(engine, name, rows)
    return engine


def answers(engine: LocalEngine) -> pl.DataFrame:
    engine.finish()
    return pl.DataFrame(engine.query("q").results()).sort("a", "b", "c")


@pytest.fixture(scope="module")
def expected() -> pl.DataFrame:
    rows: dict[str, list[pl.DataFrame]] = {name: [] for name in "abc"}
    for name, some in load(120, (60,)):
        rows[name].append(some)
    return meaning({name: pl.concat(each) for name, each in rows.items()})


def meaning(rows: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """What the query means, by Polars."""
    named = (each.rename({"id": name, "ts": f"{name}_ts"}) for name, each in rows.items())
    a, b, c = named

    def near(one: str, other: str) -> pl.Expr:
        return (pl.col(f"{one}_ts") - pl.col(f"{other}_ts")).abs() <= 5 * SECOND

    pairs = b.join(c.drop("k"), on="v").filter(near("b", "c"))
    found = a.drop("v").join(pairs, on="k").filter(near("a", "b"))
    return found.select("a", "b", "c").sort("a", "b", "c")


def test_selectivities_that_swap_bring_another_plan_once(expected: pl.DataFrame) -> None:
    engine = run("on")
    [change] = engine.status().migrations
    assert (change.before, change.after) == (WRITTEN, OTHER)
    assert "adapt: (a, (b, c)): rates or selectivities have changed by a factor of" in change.reason
    assert "% of a core instead of" in change.reason and change.is_over
    live = str(engine.sql("EXPLAIN LIVE q"))
    assert f"{WRITTEN} → {OTHER} by moving state" in live and "would be better" not in live
    assert answers(engine).equals(expected)


def test_it_is_done_within_four_windows_of_the_swap() -> None:
    assert run("on", 60).status().migrations == ()
    [change] = run("on", 60 + 4 * 10).status().migrations  # a window is 5 s to either side
    assert change.after == OTHER


def test_a_query_that_may_not_pause_runs_both_plans_for_a_while(expected: pl.DataFrame) -> None:
    engine = run("on; SET migration = pt")
    [change] = engine.status().migrations
    assert (change.how, change.after, change.is_over) == ("parallel track", OTHER, True)
    assert "by Parallel Track" in change.reason
    assert answers(engine).equals(expected)


def test_a_load_that_comes_back_gets_its_plan_back() -> None:
    engine = run("on", 240, (60, 120, 180))
    changes = engine.status().migrations
    assert [each.after for each in changes] == [OTHER, WRITTEN, OTHER]


def test_an_engine_that_begins_later_finds_no_plan_but_that_of_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = run("on")
    plans = before._adapting.plans_of(["q", "gone"], {})
    text = json.dumps(plans_as_json(plans, 64))
    assert len(text) < 4000
    later = LocalEngine(clock=VirtualClock())
    later.sql(f"{STREAMS} SET adapt = on; {QUERY}")
    look = partial(later._adapting.look, remembered=plans_from_json(json.loads(text)))
    monkeypatch.setattr(later._adapting, "look", look)
    # A search, which there is while figures change, finds that nothing is better.
    monkeypatch.setattr(watching, "_search", lambda units, limits: lambda of: left_deep(3))
    for name, rows in load(120, (60,)):
        push_ticks(later, name, rows)
    assert [each.after for each in later.status().migrations] == [OTHER]


def test_a_query_that_is_altered_keeps_the_plans_that_served_it() -> None:
    engine = run("on", 100)
    [before] = engine._adapting.plans_of(["q"], {})["q"].values()
    engine.sql("ALTER QUERY q SET (migration = pt)")
    for name, rows in load(140, (60,)):
        push_ticks(engine, name, rows.filter(pl.col("ts") >= 100 * SECOND))
    [after] = engine._adapting.plans_of(["q"], {})["q"].values()
    assert after == before and len(after.plans) == 2
    engine.sql("ALTER QUERY q SET (memory_limit = '1 GB')")  # other plans may be better now
    for name, rows in load(180, (60,)):
        push_ticks(engine, name, rows.filter(pl.col("ts") >= 140 * SECOND))
    [limited] = engine._adapting.plans_of(["q"], {})["q"].values()
    assert limited.limits != after.limits
    assert not any(each in after.plans for each in limited.plans)


def test_a_load_that_stays_changes_nothing() -> None:
    engine = run("on", 120, ())
    assert engine.status().migrations == ()


def test_advice_says_the_same_and_does_nothing(
    expected: pl.DataFrame, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "penstock"):
        engine = run("advise")
    assert engine.status().migrations == ()
    live = str(engine.sql("EXPLAIN LIVE q"))
    assert "joins that would be better:\n  (a, (b, c)): rates or selectivities have changed" in live
    [told] = [each for each in caplog.messages if "better off as (a, (b, c))" in each]
    assert told.startswith("q: its joins would be better off as") and "Moving State" in told
    assert answers(engine).equals(expected)


def test_off_is_silent(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "penstock"):
        engine = run("off")
    assert "better" not in str(engine.sql("EXPLAIN LIVE q")) and not caplog.messages


def test_an_order_that_is_set_is_kept() -> None:
    engine = run("on; SET join_order = '((a, b), c)'")
    assert engine.status().migrations == ()
    engine.sql("ALTER QUERY q SET (join_order = auto)")
    assert [each.after for each in engine.status().migrations] == [OTHER]


@pytest.mark.parametrize("migration", ["auto", "pt"])
def test_queries_that_share_a_join_change_together(expected: pl.DataFrame, migration: str) -> None:
    engine = LocalEngine(clock=VirtualClock())
    engine.sql(f"{STREAMS} SET adapt = on; SET migration = {migration}; {QUERY}")
    engine.sql(QUERY.replace("QUERY q", "QUERY other"))
    for name, rows in load(120, (60,)):
        push_ticks(engine, name, rows)
    assert {each.query: each.after for each in engine.status().migrations} == {
        "q": OTHER,
        "other": OTHER,
    }
    answer = answers(engine)
    assert answer.equals(expected)
    assert pl.DataFrame(engine.query("other").results()).sort("a", "b", "c").equals(answer)
    assert all(each.is_over for each in engine.status().migrations)


def test_so_do_queries_that_read_other_columns_of_it(expected: pl.DataFrame) -> None:
    engine = LocalEngine(clock=VirtualClock())
    other = QUERY.replace("QUERY q", "QUERY other").replace("c.id AS c", "c.ts AS t")
    engine.sql(f"{STREAMS} SET adapt = on; {QUERY} {other}")
    for name, rows in load(120, (60,)):
        push_ticks(engine, name, rows)
    changes = {each.query: each.after for each in engine.status().migrations}
    assert changes == {"q": OTHER, "other": OTHER}
    assert answers(engine).equals(expected)
    assert engine.query("other").results().height == expected.height
