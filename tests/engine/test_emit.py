"""EMIT: early results, told from those that stand by `is_final`."""

from __future__ import annotations

from typing import Any

import pytest

from penstock import LocalEngine
from penstock.errors import PenstockError
from penstock.model.schema import IS_FINAL, WINDOW_END, WINDOW_START
from penstock.model.timestamps import SECOND
from penstock.oracle.evaluate import evaluate, same_rows
from tests.engine.draw import Draw, check_seeds, many_seeds
from tests.engine.random_streams import UNITS, arrivals, declarations, pushed
from tests.engine.running import feed, how, rows_of, started
from tests.ticks import push_ticks

STREAM = "CREATE STREAM s (k STRING, v INT, ts TIMESTAMP) TIMESTAMP BY ts;"
COUNT = "SELECT k, count(*) AS n FROM s [RANGE 10 SECONDS] GROUP BY k"

WINDOWS = (
    "[RANGE {range}{unit}, SLIDE {slide}{unit}, WA ts]",
    "[RANGE ALL, SLIDE {slide}000000{unit}, WA ts]",
    "[RANGE {range} ROWS, SLIDE {slide} ROWS, WA row_num]",
)
EVERY = ("{length}{unit}", "{length}{unit}", "{length} ROWS")


def engine_of(query: str) -> LocalEngine:
    engine = LocalEngine()
    engine.sql(f"{STREAM} CREATE QUERY q AS {query}")
    return engine


def shown(engine: LocalEngine) -> list[tuple[Any, ...]]:
    rows = engine.query("q").results().rows(named=True)
    return [(row["k"], row["n"], row[WINDOW_END].second, row[IS_FINAL]) for row in rows]


def push(engine: LocalEngine, *seconds: int) -> None:
    push_ticks(engine, "s", [{"k": "x", "v": 1, "ts": second * SECOND} for second in seconds])


def test_every_change_of_an_open_window_is_shown_and_its_result_is_final() -> None:
    engine = engine_of(f"{COUNT} EMIT CHANGES")
    push(engine, 1, 2)
    push(engine, 3)
    engine.finish()
    assert shown(engine) == [("x", 2, 10, False), ("x", 3, 10, False), ("x", 3, 10, True)]


def test_changes_are_shown_when_time_has_passed_a_multiple() -> None:
    engine = engine_of(f"{COUNT} EMIT EVERY 5 SECONDS")
    push(engine, 1)
    push(engine, 2)
    push(engine, 6)
    push(engine, 7)
    engine.finish()
    assert shown(engine) == [("x", 1, 10, False), ("x", 3, 10, False), ("x", 4, 10, True)]


@pytest.mark.parametrize("query", [COUNT, f"{COUNT} EMIT ON WINDOW CLOSE"])
def test_results_come_on_window_close_if_nothing_else_is_said(query: str) -> None:
    engine = engine_of(query)
    push(engine, 1, 2)
    assert engine.query("q").results().is_empty()
    engine.finish()
    assert IS_FINAL not in engine.query("q").results().columns
    assert engine.query("q").rows == 1


def test_a_stream_may_be_called_emit() -> None:
    engine = LocalEngine()
    engine.sql("CREATE STREAM emit (v INT, ts TIMESTAMP) TIMESTAMP BY ts")
    engine.sql(
        "CREATE QUERY q AS SELECT count(*) AS n FROM emit emit [RANGE 1 MINUTE] EMIT CHANGES"
    )
    assert engine.query("q").plan.schema.names[-1] == IS_FINAL


def the_newest_rows_are_the_answer(draw: Draw) -> None:
    declared = declarations(draw)
    unit = UNITS[declared[0].time]
    kind = draw.between(0, 2)
    window = WINDOWS[kind].format(range=draw.between(1, 20), slide=draw.between(1, 9), unit=unit)
    every = EVERY[kind].format(length=draw.between(1, 30), unit=unit)
    emit = draw.choose(["CHANGES", f"EVERY {every}"])
    group = draw.choose(["", "GROUP BY k", "GROUP BY v % 3, k"])
    keys = {"": "", "GROUP BY k": "k, ", "GROUP BY v % 3, k": "v % 3 AS m, k, "}[group]
    text = f"SELECT {keys}count(*) AS n, max(d) - min(d) AS width FROM a {window} {group}"
    engine = started(declared, *how(draw))
    query = engine.sql(f"{text} EMIT {emit}")
    events = arrivals(draw, declared)
    feed(engine, events)
    engine.finish()
    rows = rows_of(query.to_polars())
    names = [name for name in ("m", "k") if f"{name}, " in keys]
    newest: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        key = tuple(row[name] for name in (*names, WINDOW_START, WINDOW_END))
        assert key not in newest or not newest[key][IS_FINAL], "something follows a final result"
        newest[key] = row
    expected = evaluate(query.plan, pushed(declared, events))
    assert same_rows(list(newest.values()), expected), (text, emit, rows, expected)


@many_seeds(12, slow=60)
def test_the_newest_rows_are_the_answer(count: int) -> None:
    check_seeds(count, the_newest_rows_are_the_answer)


REFUSED = {
    f"{COUNT} HAVING count(*) > 1 EMIT CHANGES": "HAVING cannot be combined with early results",
    f"{COUNT} ORDER BY window_end EMIT CHANGES": "early results cannot be ordered",
    "SELECT k FROM s EMIT CHANGES": "EMIT needs a window aggregate",
    f"{COUNT} UNION ALL {COUNT} EMIT CHANGES": "EMIT needs a window aggregate",
    f"{COUNT} EMIT": "expected ON WINDOW CLOSE, EVERY or CHANGES after EMIT",
    f"{COUNT} EMIT EVERY 0 SECONDS": "EMIT EVERY 0 seconds: the period must be positive",
    f"{COUNT} EMIT EVERY 5 ROWS": "one counts rows, the other time",
    "SELECT k, count(*) AS is_final FROM s [RANGE 1 MINUTE] GROUP BY k EMIT CHANGES": (
        "`is_final` is reserved"
    ),
    "SELECT k, count(*) AS n FROM s GROUP BY k, session_window(ts, '5 minutes') EMIT CHANGES": (
        "EMIT CHANGES is not supported for"
    ),
    "SELECT k, count(*) AS n FROM s [RANGE 5 ROWS, PA k] GROUP BY k EMIT CHANGES": (
        "EMIT CHANGES is not supported for"
    ),
    "SELECT count(*) AS n FROM early [RANGE 1 MINUTE, WA window_end]": "cannot be read from",
}


@pytest.mark.parametrize("query", REFUSED)
def test_what_would_keep_the_last_word_back_is_refused(query: str) -> None:
    engine = LocalEngine()
    engine.sql(f"{STREAM} CREATE QUERY early AS {COUNT} EMIT CHANGES")
    with pytest.raises(PenstockError) as error:
        engine.sql(f"CREATE QUERY q AS {query}")
    assert REFUSED[query] in error.value.message
    assert error.value.hint


def test_a_view_cannot_emit() -> None:
    engine = LocalEngine()
    with pytest.raises(PenstockError, match="a view cannot EMIT"):
        engine.sql(f"{STREAM} CREATE VIEW early AS {COUNT} EMIT CHANGES")
