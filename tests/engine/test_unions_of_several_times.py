"""Unions of streams with several columns that progress, under all settings that keep order or not.

Whatever stands on any of these columns is answered, and is the oracle's answer.
"""

from __future__ import annotations

import pytest

from penstock.local.engine import LocalEngine
from penstock.oracle.evaluate import evaluate, same_rows
from tests.engine.draw import Draw, check_seeds
from tests.engine.random_streams import Row, numbered
from tests.engine.running import STEPS, STRATEGIES

STREAM = "CREATE STREAM {} (v INT, s BIGINT, e BIGINT) TIMESTAMP BY e {}, s SLACK 8"
UNITED = ("(f UNION g)", "(SELECT v, s, e FROM f WHERE v > 0 UNION ALL SELECT v, s, e FROM g)")
ABOVE = (
    "SELECT count(*) AS n FROM {} [RANGE 7, SLIDE 3, WA s]",
    "SELECT sum(v) AS n FROM {} [RANGE 7, SLIDE 3, WA e]",
    "SELECT v, s FROM {} ORDER BY s",
    "SELECT s, count(*) AS n FROM {} GROUP BY s",
    "SELECT count(*) AS n FROM (SELECT least(s, e) AS t FROM {}) [RANGE 5, WA t]",
    "SELECT count(*) AS n FROM (SELECT greatest(s, e - 3) AS t FROM {}) [RANGE 5, WA t]",
)
SETTINGS = ("union = meld", "union = merge", "mode = iop", "mode = iop")


def unions_are_answered_on_each_of_their_times(draw: Draw) -> None:
    setting = draw.choose(SETTINGS)
    ordered = "merge" in setting or draw.choose([True, False])
    engine = LocalEngine()
    for name in "fg":
        engine.sql(STREAM.format(name, "ORDERED" if ordered else "SLACK 3"))
    engine.sql(f"SET {setting}; SET strategy = {draw.choose(STRATEGIES)}")
    engine.sql(f"SET rows_per_step = {draw.choose(STEPS)}")
    text = draw.choose(ABOVE).format(draw.choose(UNITED))
    query = engine.sql(text)
    came: dict[str, list[Row]] = {"f": [], "g": []}
    now = {"f": 0, "g": 0}
    for _ in range(draw.between(1, 8)):
        name = draw.choose("ffg")
        block = []
        for _ in range(draw.between(1, 6)):
            now[name] += draw.between(0, 4)
            end = now[name] - (0 if ordered else draw.between(0, 3))
            begin = draw.choose([None, *range(now[name] - 5, now[name] + 1)])
            block.append({"v": draw.between(-5, 5), "s": begin, "e": end})
        engine.push(name, block)
        came[name] += block
        assert str(query.why())
    engine.finish()
    assert engine.counts("f").late == engine.counts("g").late == 0
    inputs = {n: numbered([r for r in rows if r["s"] is not None]) for n, rows in came.items()}
    assert same_rows(query.results().to_dicts(), evaluate(query.plan, inputs)), query.explain()
    if "ORDER BY" in text:
        assert query.results().get_column("s").is_sorted()
    assert [rows for *_, rows, _ in engine.state() if rows] == []


def test_unions_are_answered_on_each_of_their_times() -> None:
    check_seeds(36, unions_are_answered_on_each_of_their_times)


@pytest.mark.slow
def test_unions_are_answered_on_each_of_their_times_over_thousands_of_seeds() -> None:
    check_seeds(3000, unions_are_answered_on_each_of_their_times)
