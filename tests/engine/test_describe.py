"""Describe: bounds that tell nobody anything do not travel, and answers stay what they are."""

from __future__ import annotations

from collections import Counter
from unittest.mock import patch

import pytest

from penstock import LocalEngine
from penstock.kernel.buffer import Buffer
from penstock.model.punctuation import Punctuation
from penstock.model.timestamps import MINUTE, SECOND
from penstock.runtime.clock import VirtualClock
from tests.engine.draw import Seeded, seeds
from tests.engine.random_queries import queries
from tests.engine.random_streams import arrivals, declarations, pushed
from tests.engine.running import assert_right, feed, how, started
from tests.ticks import push_ticks

STREAM = "CREATE STREAM s (k INT, ts TIMESTAMP) TIMESTAMP BY ts;"


def punctuation_from(query: str, *, settings: str = "", seconds: int = 240) -> list[Punctuation]:
    """What leaves the source while a row comes every second."""
    engine = LocalEngine(clock=VirtualClock())
    engine.sql(f"{settings}{STREAM}{query}")
    said: list[Punctuation] = []
    source = engine._host.source("s").output
    append = source.append_as_is

    def noted(punctuation: Punctuation) -> None:
        said.append(punctuation)
        append(punctuation)

    with patch.object(source, "append_as_is", noted):
        for second in range(seconds):
            push_ticks(engine, "s", [{"k": 1, "ts": second * SECOND}])
    return said


@pytest.mark.parametrize("aggregation", ["wid", "paned"])
def test_a_bound_a_slide_is_enough(aggregation: str) -> None:
    said = punctuation_from(
        "SELECT count(*) AS n FROM s [RANGE 10 MINUTES SLIDE 1 MINUTE]",
        settings=f"SET aggregation = {aggregation};",
    )
    assert said == [Punctuation("ts", minute * MINUTE) for minute in range(4)]


def test_the_smallest_slide_in_use_counts_and_no_finer_pane() -> None:
    both = (
        "CREATE QUERY a AS SELECT count(*) AS n FROM s [RANGE 9 SECONDS SLIDE 6 SECONDS];"
        "CREATE QUERY b AS SELECT count(*) AS n FROM s [RANGE 1 MINUTE];"
    )
    said = punctuation_from(both, seconds=120)
    assert [p.bound // SECOND for p in said] == list(range(0, 120, 6))  # not 3, the common pane


def test_two_slides_are_served_at_the_ends_of_each() -> None:
    both = (
        "CREATE QUERY a AS SELECT max(k) AS n FROM s [RANGE 10 SECONDS];"
        "CREATE QUERY b AS SELECT count(*) AS n FROM s [RANGE 15 SECONDS];"
    )
    said = punctuation_from("SET aggregation = wid;" + both, seconds=60)
    assert [p.bound // SECOND for p in said] == [0, 10, 15, 20, 30, 40, 45, 50]


def test_windows_of_rows_hear_of_row_numbers_only() -> None:
    said = punctuation_from(
        "SELECT count(*) AS n FROM s [RANGE 100 ROWS SLIDE 50 ROWS]", seconds=200
    )
    assert {p.on for p in said} == {"row_num"}
    # For each step that its windows may close, and that the first row of the next one is there.
    assert len(said) == 2 * (200 // 50)


def test_a_union_hears_no_more_than_what_stands_behind_it() -> None:
    query = "SELECT k, count(*) AS n FROM (s UNION ALL SELECT * FROM s) [RANGE 1 MINUTE] GROUP BY k"
    for aggregation in ("wid", "adapt", "two_level"):
        said = punctuation_from(query, settings=f"SET aggregation = {aggregation};", seconds=61)
        assert [p.bound // SECOND for p in said] == [0, 60]


def test_whoever_sorts_needs_every_bound() -> None:
    ordered = "SELECT k, ts FROM s ORDER BY ts"
    engine_stream = STREAM.replace("BY ts;", "BY ts SLACK 1 SECOND;")
    with patch("tests.engine.test_describe.STREAM", engine_stream):
        assert len(punctuation_from(ordered, seconds=60)) == 60


def test_a_bound_on_one_key_is_rolled_up_too() -> None:
    engine = LocalEngine(clock=VirtualClock())
    engine.sql(
        "CREATE STREAM s (k INT, ts TIMESTAMP) TIMESTAMP BY ts PUNCTUATED;"
        "SET aggregation = wid;"
        "CREATE QUERY q AS SELECT k, count(*) AS n FROM s [RANGE 1 MINUTE] GROUP BY k"
    )
    source = engine._host.source("s").output
    push_ticks(engine, "s", [{"k": k, "ts": 0} for k in (1, 2)])
    with patch.object(source, "append_as_is", wraps=source.append_as_is) as append:
        for second in range(0, 121, 10):
            engine.punctuate("s", second * SECOND, {"k": 1})
    assert [call.args[0].bound // SECOND for call in append.call_args_list] == [0, 60, 120]
    assert engine.query("q").results()["k"].to_list() == [1]


def test_explain_says_what_is_used() -> None:
    engine = LocalEngine()
    engine.sql(STREAM + "CREATE STREAM t (k INT, ts TIMESTAMP) TIMESTAMP BY ts SLACK 1 SECOND;")

    def used(query: str) -> list[str]:
        return [
            line for line in str(engine.sql(f"EXPLAIN {query}")).splitlines() if "Bounds" in line
        ]

    assert used("SELECT count(*) AS n FROM s [RANGE 5 MINUTES SLIDE 1 MINUTE]") == [
        "Bounds of s: on ts every 1 minute"
    ]
    assert used("SELECT k FROM s") == ["Bounds of s: none are used"]
    assert used("SELECT k, ts FROM t ORDER BY ts") == ["Bounds of t: all on ts"]
    assert used("SELECT count(*) AS n FROM s [RANGE 7 ROWS SLIDE 3 ROWS]") == [
        "Bounds of s: on row_num every 3"
    ]


@pytest.mark.parametrize("seed", seeds(8, slow=40))
def test_answers_are_the_oracles_and_fewer_bounds_travel(seed: int) -> None:
    draw = Seeded(seed)
    declared = declarations(draw)
    text, settings = queries(draw, declared[0].time), how(draw)
    events = arrivals(draw, declared)

    def sent(described: bool) -> int:
        travelled: Counter[str] = Counter()

        def count(buffer: Buffer, punctuation: Punctuation) -> None:
            travelled["all"] += 1
            plain(buffer, punctuation)

        plain = Buffer.append_as_is
        undescribed = patch("penstock.runtime.enabling.describe", lambda graph: None)
        with patch.object(Buffer, "append_as_is", count):
            if not described:
                undescribed.start()
            try:
                engine = started(declared, *settings)
                query = engine.sql(text)
                feed(engine, events)
                engine.finish()
            finally:
                if not described:
                    undescribed.stop()
        assert_right(query, pushed(declared, events), text)
        return travelled["all"]

    assert sent(described=True) <= sent(described=False)
