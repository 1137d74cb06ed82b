"""What happens to late rows: kept, dropped, refused, or used where they are not too late."""

from __future__ import annotations

import itertools
import random

import pytest

from penstock import LocalEngine
from penstock.errors import LateRow, NotExecutable
from penstock.model.timestamps import SECOND
from penstock.optimizer.rules.late_rows import TAKE_LATE_ROWS
from tests.engine.draw import seeds
from tests.ticks import push_ticks

STREAM = "CREATE STREAM s (ts TIMESTAMP) TIMESTAMP BY ts;"
COUNT = "CREATE QUERY q AS SELECT count(*) AS n FROM s [RANGE 4 SECONDS SLIDE 1 SECOND]"


def engine_with(late: str, query: str = COUNT, aggregation: str = "auto") -> LocalEngine:
    engine = LocalEngine()
    engine.sql(f"SET aggregation = {aggregation}; SET late = {late}; {STREAM} {query}")
    return engine


def push(engine: LocalEngine, *seconds: int) -> None:
    for second in seconds:
        push_ticks(engine, "s", [{"ts": second * SECOND}])


def counts(engine: LocalEngine) -> dict[int, int]:
    engine.finish()
    return {end.second: n for n, _, end in engine.query("q").results().rows()}


@pytest.mark.parametrize(("late", "aside"), [("keep", 1), ("drop", 0)])
def test_a_late_row_is_counted_and_kept_or_dropped(late: str, aside: int) -> None:
    engine = engine_with(late)
    push(engine, 10, 9)
    assert (engine.counts("s").late, len(engine.rejected_rows)) == (1, aside)


def test_a_late_row_may_be_an_error() -> None:
    engine = engine_with("fail")
    with pytest.raises(LateRow):
        push(engine, 10, 9)


def test_generous_uses_a_row_where_it_is_not_too_late_and_consistent_everywhere_or_nowhere() -> (
    None
):
    # At 10, windows that end at 10 or before are closed; the row at 9 is in those ending 10 to 13.
    assert counts(after("generous")) == {11: 2, 12: 2, 13: 2, 14: 1}
    assert counts(after("consistent")) == {11: 1, 12: 1, 13: 1, 14: 1}


def after(late: str) -> LocalEngine:
    engine = engine_with(late)
    push(engine, 10, 9)
    assert engine.counts("s").late == 1
    return engine


@pytest.mark.parametrize("late", ["generous", "consistent"])
@pytest.mark.parametrize("aggregation", TAKE_LATE_ROWS)
@pytest.mark.parametrize("seed", seeds(2, slow=4))
def test_they_are_what_the_definition_says(late: str, aggregation: str, seed: int) -> None:
    draw = random.Random(seed)
    engine = engine_with(late, aggregation=aggregation)
    wanted: dict[int, int] = {}
    newest, now = 0, 10
    for _ in range(25):
        now += draw.choice([0, 1, 2])
        second = now - draw.choice([0, 0, 1, 2, 5])
        ends = range(second + 1, second + 5)
        is_open = [end for end in ends if end > newest]
        if late == "generous" or len(is_open) == len(ends):
            for end in is_open:
                wanted[end % 60] = wanted.get(end % 60, 0) + 1
        newest = max(newest, second)
        push(engine, second)
    assert counts(engine) == wanted


WINDOWS = ["RANGE 4 SECONDS SLIDE 1 SECOND", "RANGE 10 SECONDS SLIDE 5 SECONDS", "RANGE 3 SECONDS"]
DISORDER = ["", "SLACK 1 SECOND", "SLACK 3 SECONDS", "SLACK 2 ROWS"]
FROM = ["s", "(SELECT * FROM s WHERE n > 2)", "(s UNION other)"]


@pytest.mark.parametrize("late", ["keep", "generous", "consistent"])
@pytest.mark.parametrize("seed", seeds(10, slow=1000))
def test_results_do_not_depend_on_how_rows_are_cut_into_blocks(late: str, seed: int) -> None:
    draw = random.Random(f"{late} {seed}")
    disorder, source = draw.choice(DISORDER), draw.choice(FROM)
    grouped = draw.choice(["", " GROUP BY k"])
    script = (
        f"SET late = {late}; CREATE STREAM other (n INT, k INT, ts TIMESTAMP) TIMESTAMP BY ts;"
        f"CREATE STREAM s (n INT, k INT, ts TIMESTAMP) TIMESTAMP BY ts {disorder};"
        f"CREATE QUERY q AS SELECT count(*) AS c, sum(n) AS s, max(n) AS m, collect_list(n) AS l"
        f"{', k' if grouped else ''} FROM {source} [{draw.choice(WINDOWS)}]{grouped}"
    )
    rows, now = [], 10
    for n in range(40):
        now += draw.choice([0, 0, 1, 1, 2])
        back = draw.choice([0, 0, 1, 2, 3, 6])
        rows.append({"n": n, "k": draw.randrange(2), "ts": (now - back) * SECOND + 100})
    others = [{"n": 100, "k": 0, "ts": second * SECOND} for second in (12, 20, 50)]
    answers = []
    for sizes in ([1], [len(rows)], [2, 3, 7], [5, 1]):
        engine = LocalEngine()
        engine.sql(script)
        push_ticks(engine, "other", others)
        left, blocks = list(rows), itertools.cycle(sizes)
        while left:
            size = next(blocks)
            push_ticks(engine, "s", left[:size])
            left = left[size:]
        engine.finish()
        counts = engine.counts("s")
        answers.append((sorted(engine.query("q").results().rows(), key=str), counts.late))
    assert all(answer == answers[0] for answer in answers)


@pytest.mark.parametrize(("late", "n"), [("generous", 3), ("consistent", 2)])
def test_a_row_is_late_for_windows_that_an_earlier_row_of_its_block_has_closed(
    late: str, n: int
) -> None:
    engine = LocalEngine()
    engine.sql(f"SET late = {late}; {STREAM[:-1]} SLACK 1 SECOND")
    query = engine.sql("SELECT count(*) AS n FROM s [RANGE 10 SECONDS SLIDE 5 SECONDS]")
    # Before the row at 4 the watermark is 6: of its windows, [-5, 5) is over and [0, 10) is open.
    push_ticks(engine, "s", [{"ts": second * SECOND} for second in (1, 7, 4)])
    engine.finish()
    found = [(start.second, n) for n, start, _ in query.results().rows()]
    assert found == [(55, 1), (0, n), (5, 1)]


@pytest.mark.parametrize(
    "query",
    [
        "CREATE QUERY q AS SELECT ts FROM s ORDER BY ts",
        "CREATE QUERY q AS SELECT count(*) AS n FROM s [RANGE ALL, SLIDE 1 SECOND]",
    ],
)
def test_what_late_rows_would_break_is_refused(query: str) -> None:
    with pytest.raises(NotExecutable, match="late = generous is not possible here"):
        engine_with("generous", query)
    engine = engine_with("keep", query)
    with pytest.raises(NotExecutable, match="late = consistent is not possible here"):
        engine.sql("SET late = consistent")


def test_queries_that_run_already_cannot_be_made_to_use_late_rows() -> None:
    engine = engine_with("keep")
    with pytest.raises(NotExecutable, match="query `q` is running"):
        engine.sql("SET late = generous")
