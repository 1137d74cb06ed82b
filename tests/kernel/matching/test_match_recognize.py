"""The operator against the slow matcher: rows in any order, bounds anywhere, restarts in between.

Thousands of cases, because nothing but the operator runs: what a case can catch is a match that is
missed, found twice, cut short at the end of a block, or decided before later rows could change it;
state that is not saved, and bounds that are passed on too early.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import Any
from unittest.mock import patch

import polars as pl
import pytest

from penstock.errors import NotExecutable
from penstock.kernel.block import Block
from penstock.kernel.matching import match_recognize, scan, shared_attempts, threads
from penstock.kernel.matching.match_recognize import MatchRecognize
from penstock.kernel.matching.shared_attempts import SharedAttempts
from penstock.local.engine import LocalEngine
from penstock.model.match import MatchDefinition
from penstock.model.punctuation import Punctuation
from penstock.model.timestamps import BEGINNING, END
from penstock.oracle.evaluate import same_rows
from penstock.oracle.matching import matches
from penstock.plan.graph import walk
from penstock.plan.nodes import MatchRecognize as Node
from tests.engine.draw import Draw, Seeded
from tests.engine.laws import Law, checks_of
from tests.engine.random_matches import OF_MATCHES, OF_ROWS, match_clauses
from tests.kernel.moving import move

STREAM = "CREATE STREAM s (k STRING, v INT, d DOUBLE, ts BIGINT) TIMESTAMP BY ts PUNCTUATED"
SCHEMA = {"k": pl.String(), "v": pl.Int32(), "d": pl.Float64(), "ts": pl.Int64()}


@contextmanager
def few_rows_are_many() -> Iterator[None]:
    with (
        patch.multiple(scan, TOGETHER=2, MANY=3, FARTHEST=4, OVERLAP=0, MOST_OVERLAP=0, LONG=2),
        patch.multiple(scan, MOST_STATES=6, FREE=0),
        patch.multiple(shared_attempts, FEW=1),
        patch.multiple(match_recognize, MANY_ROWS=3),
    ):
        yield


@cache
def engine() -> LocalEngine:
    found = LocalEngine()
    found.sql(STREAM)
    return found


def match_of(clauses: str) -> MatchDefinition | None:
    """What a clause asks for; None where it cannot be run."""
    try:
        engine().sql(f"CREATE OR REPLACE VIEW m AS SELECT * FROM s MATCH_RECOGNIZE ({clauses})")
    except NotExecutable:
        return None
    plan = engine().catalog.relation("m")
    assert plan is not None
    [node] = [node for node in walk(plan) if isinstance(node, Node)]
    return node.match


class Output:
    """What came out: rows, and bounds, which later rows must keep."""

    def __init__(self, match: MatchDefinition) -> None:
        self.rows: list[dict[str, Any]] = []
        self.bounds = dict.fromkeys(match.times, BEGINNING)

    def batch(self, block: Block) -> None:
        for row in block.rows.to_dicts():
            assert all(row[name] >= bound for name, bound in self.bounds.items()), "below a bound"
            self.rows.append(row)

    def punctuation(self, punctuation: Punctuation) -> None:
        assert punctuation.bound > self.bounds[punctuation.on]
        self.bounds[punctuation.on] = punctuation.bound


def some_rows(draw: Draw, count: int) -> list[dict[str, Any]]:
    """Rows in the order of time, many of the same; few keys, small numbers."""
    rows, time = [], 0
    for _ in range(count):
        time += draw.choose([0, 1, 1, 2, 5])
        value = draw.choose([0, 1, 2, 3, 4, 5, -8, None])
        rows.append(
            {
                "k": draw.choose(["x", "x", "y", None]),
                "v": value,
                "d": draw.choose([None, 0.0, 0.5, 1.0, 3.0]),
                "ts": time,
            }
        )
    return rows


def in_blocks(
    draw: Draw, rows: Sequence[dict[str, Any]]
) -> list[tuple[list[dict[str, Any]], int | None]]:
    """The rows out of order, in blocks, each with the bound behind it, if there is one."""
    slack = draw.choose([0, 0, 2, 9])
    late = [(row["ts"] + draw.between(0, slack), number) for number, row in enumerate(rows)]
    arriving = [rows[number] for _, number in sorted(late)]
    blocks = []
    while arriving:
        size = draw.between(1, 6)
        block, arriving = arriving[:size], arriving[size:]
        least = min((row["ts"] for row in arriving), default=10**6)
        bound = draw.choose([None, least, least, max(0, least - 2)])
        blocks.append((block, bound))
    return blocks


def check(draw: Draw, match: MatchDefinition | None, rows: Sequence[dict[str, Any]]) -> None:
    if match is None:
        return
    try:
        expected = matches(match, rows)
    except NotExecutable:  # too many ways for the slow matcher
        return
    operator, out, reached = MatchRecognize(match), Output(match), BEGINNING
    for block, bound in in_blocks(draw, rows):
        operator.on_batch(0, Block(pl.DataFrame(block, schema=SCHEMA, orient="row")), out)
        if bound is not None and bound > reached:
            reached = bound
            operator.on_punctuation(0, Punctuation("ts", bound), out)
        if draw.choose([False, False, True]):
            before, operator = operator, MatchRecognize(match)
            move(before.state, operator.state)
    operator.on_punctuation(0, Punctuation("ts", END), out)
    assert same_rows(out.rows, expected), f"{match}\n{rows}\nours {out.rows}\noracle {expected}"
    assert not operator.state.holds_rows()
    assert set(out.bounds.values()) <= {END}


def matches_of_single_rows_are_the_oracles(draw: Draw) -> None:
    match = match_of(match_clauses(draw, "", kinds=OF_ROWS, times=True))
    check(draw, match, some_rows(draw, draw.between(0, 25)))


def matches_that_depend_on_themselves_are_the_oracles(draw: Draw) -> None:
    match = match_of(match_clauses(draw, "", kinds=(*OF_ROWS, *OF_MATCHES), times=True))
    check(draw, match, some_rows(draw, draw.between(0, 20)))


def matches_are_the_oracles_however_long_attempts_are(draw: Draw) -> None:
    """A few rows count as many: attempts go on at once, and rows of partitions are kept apart."""
    match = match_of(match_clauses(draw, "", kinds=OF_ROWS, times=True))
    with few_rows_are_many():
        check(draw, match, some_rows(draw, draw.between(0, 40)))


def attempts_are_ended_by_match_rows_as_the_oracles_are(draw: Draw) -> None:
    match = match_of(match_clauses(draw, "", kinds=(*OF_ROWS, *OF_MATCHES), times=True))
    if match is not None and match.most_rows is not None:
        check(draw, replace(match, most_rows=draw.between(1, 6)), some_rows(draw, 20))


#: Law -> how many seeds.
LAWS: dict[Law, int] = {
    matches_of_single_rows_are_the_oracles: 25,
    matches_that_depend_on_themselves_are_the_oracles: 25,
    matches_are_the_oracles_however_long_attempts_are: 40,
    attempts_are_ended_by_match_rows_as_the_oracles_are: 25,
}
(
    test_it_holds_over_many_seeds,
    test_it_holds_over_thousands_of_seeds,
    test_it_holds_for_hypothesis,
) = checks_of(LAWS)


def test_rows_that_look_back_to_one_alike_are_not_lost() -> None:
    # They are equal in all that rows are sorted by, and nothing may begin in one of them any more.
    match = match_of(
        "PARTITION BY v ORDER BY ts MEASURES PREV(FIRST(v)) AS p PATTERN (A B) DEFINE A AS v > 0"
    )
    assert match is not None
    rows = [row(v, 7) for v in range(1, 40) for _ in range(3)] + [row(v, 9) for v in range(1, 40)]
    operator, out = MatchRecognize(match), Output(match)
    for part, bound in ((rows[:-39], 8), (rows[-39:], END)):
        operator.on_batch(0, Block(pl.DataFrame(part, schema=SCHEMA)), out)
        operator.on_punctuation(0, Punctuation("ts", bound), out)
    assert same_rows(out.rows, matches(match, rows))


def test_a_pattern_that_never_ends_looks_at_each_row_once(monkeypatch: pytest.MonkeyPatch) -> None:
    fed: list[int] = []
    feed = SharedAttempts.feed

    def counted(attempts: SharedAttempts, masks: Any, times: Any) -> None:
        fed.append(len(masks))
        feed(attempts, masks, times)

    monkeypatch.setattr(SharedAttempts, "feed", counted)
    clauses = "PARTITION BY k ORDER BY ts MEASURES count(*) AS n PATTERN (A+ C) DEFINE C AS v < 0"
    clauses += ", A AS v > 0"
    blocks = [[(500 * block + at, 1) for at in range(500)] for block in range(40)]
    events = [each for block in blocks for each in (block, block[-1][0] + 1)]
    operator, out = run(clauses, *events)
    assert out.rows == []
    assert sum(fed) == 20_000
    assert operator.state.held.rows == 0
    assert operator.state.long.rows == 20_000
    # Segments are merged, so each row was written a logarithmic number of times.
    assert len(operator.state.long.segments) < 20
    operator.on_batch(0, Block(pl.DataFrame([row(-1, 20_000)], schema=SCHEMA)), out)
    operator.on_punctuation(0, Punctuation("ts", 20_001), out)
    assert out.rows == [{"k": "x", "n": 20_001}]
    assert not operator.state.holds_rows()


def test_rows_in_which_nothing_begins_any_more_leave_in_the_end() -> None:
    clauses = (
        "PARTITION BY k ORDER BY ts MEASURES FIRST(ts) AS t PATTERN (A+ C) WITHIN 5000 "
        "DEFINE C AS v < 0, A AS v > 0"
    )
    blocks = [[(500 * block + at, 1) for at in range(500)] for block in range(80)]
    events = [each for block in blocks for each in (block, block[-1][0] + 1)]
    operator, out = run(clauses, *events)
    assert operator.state.long.rows <= 11_000
    assert out.bounds == {"t": 40_000 - 5000}


@pytest.mark.parametrize("skip", ["PAST LAST ROW", "TO NEXT ROW"])
def test_attempts_that_are_long_go_on_row_by_row(
    skip: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scan, "TOGETHER", 2)
    monkeypatch.setattr(scan, "MANY", 3)
    monkeypatch.setattr(scan, "SHORT", 3)
    monkeypatch.setattr(scan, "MOST_STATES", 3)
    for seed in range(15):
        draw: Draw = Seeded(seed)
        clauses = match_clauses(draw, "", kinds=OF_ROWS, times=True)
        head, _, tail = clauses.partition("ONE ROW PER MATCH ")
        pattern = tail[tail.index("PATTERN") :]
        match = match_of(f"{head} AFTER MATCH SKIP {skip} {pattern}")
        check(draw, match, some_rows(draw, 25))


def test_attempts_that_depend_on_themselves_go_on_where_they_were(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(threads, "LONG", 1)
    for seed in range(20):
        matches_that_depend_on_themselves_are_the_oracles(Seeded(seed))


V_SHAPE = (
    "PARTITION BY k ORDER BY ts MEASURES FIRST(ts) AS begun, LAST(UP.ts) AS ended "
    "PATTERN (START DOWN+ UP+){} DEFINE DOWN AS v < PREV(v), UP AS v > PREV(v)"
)


def row(value: int, time: int) -> dict[str, Any]:
    return {"k": "x", "v": value, "d": 0.0, "ts": time}


def run(clauses: str, *events: list[tuple[int, int]] | int) -> tuple[MatchRecognize, Output]:
    """Rows (time, v), and bounds."""
    match = match_of(clauses)
    assert match is not None
    operator, out = MatchRecognize(match), Output(match)
    for event in events:
        if isinstance(event, int):
            operator.on_punctuation(0, Punctuation("ts", event), out)
        else:
            rows = [row(v, time) for time, v in event]
            operator.on_batch(0, Block(pl.DataFrame(rows, schema=SCHEMA)), out)
    return operator, out


def test_a_match_waits_while_a_row_could_make_it_longer() -> None:
    rows = [(1, 5), (2, 3), (3, 4)]
    operator, out = run(V_SHAPE.format(""), rows, 100)
    assert out.rows == []
    assert out.bounds == {"begun": 1, "ended": 1}
    _, out = run(V_SHAPE.format(""), rows, [(4, 4)], 100)
    assert out.rows == [{"k": "x", "begun": 1, "ended": 3}]
    assert out.bounds == {"begun": 4, "ended": 4}
    assert operator.state.held.rows == 3


def test_within_ends_a_match_and_purges_what_has_begun() -> None:
    rows = [(1, 5), (2, 3), (3, 4)]
    operator, out = run(V_SHAPE.format(" WITHIN 10"), rows, 11)
    assert out.rows == []
    operator, out = run(V_SHAPE.format(" WITHIN 10"), rows, 12)
    assert out.rows == [{"k": "x", "begun": 1, "ended": 3}]
    assert not operator.state.holds_rows()
    # Nothing came of it: forgotten as well.
    operator, out = run(V_SHAPE.format(" WITHIN 10"), rows[:2], 13)
    assert not operator.state.holds_rows()


def test_prev_keeps_as_many_rows_as_it_looks_back_from_the_first() -> None:
    clauses = "PARTITION BY k ORDER BY ts MEASURES A.v AS v PATTERN (A) DEFINE A AS v > PREV(v, 2)"
    operator, out = run(clauses, [(1, 5), (2, 3), (3, 9), (4, 1)], 100)
    assert [row["v"] for row in out.rows] == [9]
    assert operator.state.held.rows == 2
    operator, out = run(clauses, [(1, 5), (2, 3), (3, 9), (4, 1)], 100, [(101, 10), (102, 2)], 200)
    assert [row["v"] for row in out.rows] == [9, 10, 2]


def test_what_is_never_the_first_row_keeps_nothing_for_prev() -> None:
    operator, _ = run(V_SHAPE.format(" WITHIN 10"), [(1, 5), (2, 6), (3, 7)], 100)
    assert not operator.state.holds_rows()


def test_a_pattern_that_is_ambiguous_takes_no_longer() -> None:
    clauses = (
        "ORDER BY ts MEASURES count(*) AS n PATTERN ((A* B*)* C) "
        "DEFINE A AS v > 0, B AS v > 0, C AS v < 0"
    )
    _, out = run(clauses, [(n, 1) for n in range(300)], [(300, -1)], END)
    assert out.rows == [{"n": 301}]
    running = clauses.replace("B AS v > 0", "B AS v > 0 AND count(*) < 1000")
    _, out = run(running, [(n, 1) for n in range(200)], [(200, -1)], END)
    assert out.rows == [{"n": 201}]
