"""Cases: rows that keep above their bounds, and few that do not."""

from __future__ import annotations

import random

from penstock.model.streams import TimestampKind
from penstock.oracle.lateness import StreamStep, Verdict, judge
from penstock.verification.arrivals import Trouble, arrange, spoil
from penstock.verification.case import VerificationCase
from penstock.verification.generated import generate
from penstock.verification.lengths import WindowGrid, grids
from penstock.verification.script import Script

TEXT = """
    CREATE STREAM a (k STRING, v INT, d DATE, ts TIMESTAMP) TIMESTAMP BY ts SLACK 5 SECONDS;
    CREATE STREAM b (k STRING, x DOUBLE, ts TIMESTAMP) TIMESTAMP BY ts SLACK 4 ROWS;
    CREATE STREAM c (k STRING, ts TIMESTAMP) TIMESTAMP BY ts PUNCTUATED;
    CREATE STREAM e (k STRING) TIMESTAMP INTERNAL AS seen;
    SELECT k, count(*) AS n FROM a [RANGE 10 SECONDS SLIDE 4 SECONDS] WHERE v > 77 GROUP BY k;
    SELECT a.k FROM a [RANGE 1 SECOND], b [RANGE 3 SECONDS] WHERE a.k = b.k AND b.x < 1.5;
    SELECT k, seen FROM e; SELECT k FROM c;
"""
SCRIPT = Script.of(TEXT)
PLANS = [each.plan for each in SCRIPT.declared()]
STREAMS = {each.stream.name: each.stream for each in SCRIPT.streams()}


def case(seed: int, late: float) -> VerificationCase:
    chance = random.Random(seed)
    rows = {n: generate(chance, s, 40, PLANS, grids(PLANS)) for n, s in STREAMS.items()}
    trouble = Trouble(on_the_grid=seed % 2 == 0)
    bad = {n: spoil(chance, STREAMS[n], mine, grids(PLANS), trouble) for n, mine in rows.items()}
    return arrange(chance, STREAMS, bad, late=late)


def late_rows(made: VerificationCase, *, by_batch: bool) -> int:
    found = 0
    for name, stream in STREAMS.items():
        steps = [StreamStep(batch.of(stream), batch.bounds.get(name)) for batch in made.batches]
        judged = judge(stream, steps, by_batch=by_batch)
        found += sum(verdict is Verdict.LATE for step in judged for verdict, _ in step)
    return found


def test_rows_keep_above_their_bounds_unless_they_are_to_be_late() -> None:
    for seed in range(60):
        made = case(seed, late=0.0)
        assert late_rows(made, by_batch=False) == late_rows(made, by_batch=True) == 0
    assert sum(late_rows(case(seed, late=0.1), by_batch=False) for seed in range(20)) > 20


def test_a_case_follows_from_its_seed() -> None:
    assert case(3, late=0.1) == case(3, late=0.1) != case(4, late=0.1)


def test_values_that_queries_name_are_among_those_of_columns() -> None:
    rows = generate(random.Random(1), STREAMS["a"], 300, PLANS, grids(PLANS))
    assert {76, 77, 78} <= {row["v"] for row in rows}
    rows = generate(random.Random(1), STREAMS["b"], 300, PLANS, grids(PLANS))
    assert {1.25, 1.5, 1.75} <= {row["x"] for row in rows}


def test_rows_lie_on_the_edges_of_windows() -> None:
    assert {WindowGrid(4_000_000), WindowGrid(10_000_000), WindowGrid(5_000_000)} <= set(
        grids(PLANS)
    )
    times = [row["ts"] for row in generate(random.Random(2), STREAMS["a"], 99, PLANS, grids(PLANS))]
    assert any(time % 4_000_000 == 0 for time in times)


def test_what_is_stamped_has_the_time_of_its_batch() -> None:
    made = case(1, late=0.0)
    stamped = [(b.clock, row["seen"]) for b in made.batches for row in b.of(STREAMS["e"])]
    assert stamped and all(clock == seen for clock, seen in stamped)
    assert STREAMS["e"].kind is TimestampKind.INTERNAL
