"""Bounds on single keys, through every operator: the oracle's answers, some of them earlier.

Two engines get the same rows and the same bounds on all rows; one hears besides when single
keys are over. Its answers are the oracle's, each once; it is never behind the other, and where keys
are of use it is ahead at times.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from penstock import LocalEngine
from penstock.model.timestamps import SECOND
from penstock.oracle.evaluate import evaluate, same_rows
from penstock.runtime.clock import VirtualClock
from tests.engine.baselines import BaselineEngine
from tests.engine.running import rows_of
from tests.ticks import push_ticks

STREAMS = """
CREATE STREAM a (k STRING, x INT, ts TIMESTAMP) TIMESTAMP BY ts PUNCTUATED;
CREATE STREAM b (k STRING, x INT, ts TIMESTAMP) TIMESTAMP BY ts PUNCTUATED;
"""
KEYS = "uvw"
JOIN = "FROM a [RANGE 5 SECONDS, WA ts] {} JOIN b [RANGE 3 SECONDS, WA ts] ON a.k = b.k"
#: Queries, and whether bounds on keys can bring answers earlier.
QUERIES = {
    "tumbling": ("SELECT k, count(*) AS n FROM a [RANGE 10 SECONDS] GROUP BY k", True),
    "two levels": ("SELECT k, count(*) AS n FROM a [RANGE 10 SECONDS] GROUP BY k", True),
    "adapt": ("SELECT k, count(*) AS n FROM a [RANGE 10 SECONDS] GROUP BY k", True),
    "buffering": ("SELECT k, count(*) AS n FROM a [RANGE 10 SECONDS] GROUP BY k", False),
    "union": (
        "SELECT key, count(*) AS n FROM (SELECT k AS key, ts FROM a WHERE x > 2 UNION ALL "
        "SELECT k AS key, ts FROM b) [RANGE 10 SECONDS] GROUP BY key",
        True,
    ),
    "landmark": ("SELECT k, count(*) AS n FROM a [RANGE ALL, SLIDE 10 SECONDS] GROUP BY k", True),
    "session": (
        "SELECT k, count(*) AS n FROM SESSION(TABLE a PARTITION BY k, DESCRIPTOR(ts), "
        "INTERVAL 4 SECONDS) GROUP BY k, window_start, window_end",
        True,
    ),
    "session by function": (
        "SELECT k, count(*) AS n FROM a GROUP BY k, session_window(ts, '1 seconds')",
        True,
    ),
    "bins": (
        "SELECT k, count(*) AS n FROM a [RANGE 5 SECONDS, RATTR ts, SLIDE 2 ROWS, SATTR rank(ts)] "
        "GROUP BY k",
        False,
    ),
    "partitioned": ("SELECT k, count(*) AS n FROM a [RANGE 4 ROWS, SLIDE 2 ROWS, PA k]", False),
    "panes": (
        "SELECT k, count(*) AS n, sum(x) AS s FROM a [RANGE 20 SECONDS SLIDE 5 SECONDS] GROUP BY k",
        True,
    ),
    "adapted panes": (
        "SELECT k, count(*) AS n, max(x) AS m FROM a [RANGE 20 SECONDS SLIDE 5 SECONDS] GROUP BY k",
        True,
    ),
    "merged panes": (
        "SELECT k, max(x) AS m FROM a [RANGE 9 SECONDS SLIDE 6 SECONDS] GROUP BY k",
        True,
    ),
    "holistic panes": (
        "SELECT k, median(x) AS m FROM a [RANGE 9 SECONDS SLIDE 3 SECONDS] GROUP BY k",
        True,
    ),
    "nested": (
        "SELECT k, max(n) AS m FROM (SELECT k, count(*) AS n FROM a [RANGE 5 SECONDS] GROUP BY k) "
        "[RANGE 10 SECONDS, WA window_end] GROUP BY k",
        True,
    ),
    "join": (f"SELECT a.k AS k, a.ts AS t, b.ts AS u {JOIN.format('')}", False),
    "left join": (f"SELECT a.k AS k, a.ts AS t, b.ts AS u {JOIN.format('LEFT')}", True),
    "full join": (f"SELECT a.k AS k, a.ts AS t, b.k AS l, b.ts AS u {JOIN.format('FULL')}", True),
    "anti join": (f"SELECT a.k AS k, a.ts AS t {JOIN.format('LEFT ANTI')}", True),
    "semi join": (f"SELECT a.k AS k, a.ts AS t {JOIN.format('LEFT SEMI')}", False),
    "count of a join": (
        "SELECT key, count(*) AS n FROM (SELECT b.k AS key, a.ts AS t "
        f"{JOIN.format('')}) [RANGE 10 SECONDS, WA t] GROUP BY key",
        True,
    ),
    "ordered": ("SELECT k, ts FROM a ORDER BY ts", False),
}
AGGREGATIONS = {
    "two levels": "two_level",
    "adapt": "adapt",
    "adapted panes": "adapt_paned",
    "buffering": "buffering",
}


def engine_with(name: str) -> LocalEngine:
    engine = BaselineEngine(clock=VirtualClock())
    engine.choose(AGGREGATIONS.get(name, "auto"))
    table = "SET table_size = 2;" if name == "two levels" else ""
    engine.sql(f"{table} {STREAMS} CREATE QUERY q AS {QUERIES[name][0]}")
    return engine


Step = tuple[str, list[dict[str, Any]], Mapping[str, int], int | None]


def steps(draw: random.Random) -> Iterator[Step]:
    """A stream, rows of it, bounds on keys (in ticks), and one on all rows."""
    bounds = {name: dict.fromkeys(KEYS, 0) for name in "ab"}
    for _ in range(30):
        name = draw.choice("ab")
        mine = bounds[name]
        rows = []
        for key in draw.choices(KEYS, k=draw.randint(0, 3)):
            time = (mine[key] + draw.randint(0, 12)) * SECOND
            rows.append({"k": key, "x": draw.randint(0, 9), "ts": time})
        over = {}
        for key in KEYS:
            if draw.random() < 0.3:
                mine[key] += draw.randint(1, 9)
                over[key] = mine[key] * SECOND
        everything = min(mine.values()) * SECOND if draw.random() < 0.15 else None
        yield name, rows, over, everything


def numbered(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**row, "row_num": number} for number, row in enumerate(rows, 1)]


@pytest.mark.parametrize("name", QUERIES)
def test_answers_are_the_oracles_and_never_later(name: str) -> None:
    ahead = 0
    for seed in range(2):
        plain, finer = engine_with(name), engine_with(name)
        inputs: dict[str, list[dict[str, Any]]] = {"a": [], "b": []}
        for stream, rows, over, everything in steps(random.Random(seed)):
            inputs[stream] += rows
            for engine in (plain, finer):
                push_ticks(engine, stream, rows)
            for key, bound in over.items():
                finer.punctuate(stream, bound, {"k": key})
            if everything is not None:
                for engine in (plain, finer):
                    engine.punctuate(stream, everything)
            assert finer.query("q").rows >= plain.query("q").rows
            ahead += finer.query("q").rows > plain.query("q").rows
        finer.finish()
        expected = evaluate(finer.query("q").plan, {n: numbered(r) for n, r in inputs.items()})
        ours = rows_of(finer.query("q").to_polars())
        assert same_rows(ours, expected), (name, seed)
        assert not [size for *_, size, _ in finer.state() if size]
    assert (ahead > 0) == QUERIES[name][1]


# -- what becomes smaller --------------------------------------------------------------------------


def stored(engine: LocalEngine) -> dict[str, int]:
    return {table: rows for name, table, rows, _ in engine.state() if name.startswith("OAJoin")}


def row(key: str, second: int) -> dict[str, Any]:
    return {"k": key, "x": 0, "ts": second * SECOND}


def test_a_join_forgets_the_rows_of_a_key_that_is_over() -> None:
    engine = engine_with("join")
    push_ticks(engine, "a", [row(key, second) for key in KEYS for second in range(10)])
    engine.punctuate("b", 8 * SECOND, {"k": "u"})
    assert stored(engine)["left"] == 30 - 3  # those of u whose partners lie below 8
    push_ticks(engine, "a", [row("u", 1), row("v", 1), row("u", 9)])
    assert stored(engine)["left"] == 27 + 2  # the first of them can find nobody any more
    engine.punctuate("b", 100 * SECOND, {"k": "v"})
    assert stored(engine)["left"] == 27 + 2 - 11


def test_a_pattern_about_more_than_keys_changes_nothing_in_a_join() -> None:
    engine = engine_with("left join")
    push_ticks(engine, "a", [row("u", 1)])
    engine.punctuate("b", 50 * SECOND, {"k": "u", "x": 3})
    assert stored(engine)["left"] == 1
    assert engine.query("q").rows == 0
    engine.punctuate("b", 50 * SECOND, {"k": ("t", "v")})  # a range of keys
    assert stored(engine)["left"] == 0
    assert engine.query("q").rows == 1


def test_bounds_on_keys_are_forgotten_when_all_rows_are_that_far() -> None:
    engine = engine_with("join")
    for key in KEYS:
        engine.punctuate("a", 10 * SECOND, {"k": key})
    [join] = [n.operator for n in engine._host.graph.nodes.values() if n.name.startswith("OAJoin")]
    assert join is not None
    assert len(join.state.keyed[0]) == 3  # type: ignore[attr-defined]
    engine.punctuate("a", 10 * SECOND)
    assert join.state.keyed == [{}, {}]  # type: ignore[attr-defined]


def test_many_keys_that_are_over_are_swept_together() -> None:
    engine = engine_with("join")
    push_ticks(engine, "a", [row(f"k{n}", n % 7) for n in range(6000)])
    for n in range(40):
        engine.punctuate("b", 100 * SECOND, {"k": f"k{n}"})
    assert 6000 - 40 <= stored(engine)["left"] <= 6000 - 32
