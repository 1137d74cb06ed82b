"""Random joins, outer joins, early results and late rows on Spark, against the oracle.

Starting a Spark query takes seconds, so all queries of a seed run together over the same rows. The
few that run every time can be spread by one key and are a single pipeline; the slow campaign takes
whatever comes, with fresh seeds, and starts every pipeline again from its checkpoint half-way.

A difference is looked for without Spark as well and made smaller there, if it shows.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from random import SystemRandom

import pytest
from pyspark.sql import SparkSession

from penstock.oracle.lateness import StreamStep, Verdict, judge
from penstock.spark.engine import Engine
from penstock.spark.placement.partitioning import partitioning
from penstock.verification.case import Batch, Row, VerificationCase
from penstock.verification.report import lines
from penstock.verification.run_spark import OnSpark
from penstock.verification.script import Script
from penstock.verification.verify import Verification
from penstock.verification.ways import Way
from tests.engine.draw import Draw, Seeded
from tests.engine.random_joins import (
    aggregated_joins,
    join_queries,
    joined_aggregates,
    joins_of_several,
    joins_of_three,
    pair_counts,
)
from tests.engine.random_queries import window_queries
from tests.engine.random_streams import (
    UNITS,
    Declared,
    Punctuate,
    Push,
    careless_arrivals,
    declarations,
)

MAKERS: tuple[Callable[[Draw, str], str], ...] = (
    join_queries,
    join_queries,
    join_queries,
    joins_of_three,
    joins_of_several,
    aggregated_joins,
    pair_counts,
    joined_aggregates,
)
#: Seeds that the slow campaign tries; PENSTOCK_SEED begins with another one, to see it again.
CAMPAIGN = 20


def early(draw: Draw, unit: str) -> str:
    """An aggregate that tells what it knows so far."""
    slide, steps = draw.between(1, 6), draw.between(1, 3)
    emit = draw.choose(["EMIT CHANGES", f"EMIT EVERY {draw.between(1, 9)}{unit}"])
    return (
        f"SELECT k, count(*) AS n, sum(v) AS s FROM {draw.choose(['a', 'b', 'c'])} "
        f"[RANGE {slide * steps}{unit}, SLIDE {slide}{unit}, WA ts] GROUP BY k {emit}"
    )


def some_queries(draw: Draw, declared: list[Declared], count: int, *, spread: bool) -> list[str]:
    """Texts of queries, a third of them with early results or plain windows.

    `spread`: only such as can be spread by `k`, so that one pipeline suits them all.
    """
    unit = UNITS[declared[0].time]
    streams = "; ".join(each.sql for each in declared)
    window = f"[RANGE 9{unit}, SLIDE 4{unit}, WA ts]"
    # It reads all streams, so whatever can be spread alike joins its pipeline.
    found = [f"SELECT k, count(*) AS n FROM a UNION b UNION c {window} GROUP BY k"]
    while len(found) < count:
        make = draw.choose([*MAKERS, early, early, window_queries])
        text = make(draw, unit)
        [planned] = Script.of(f"{streams}; {text}").declared()
        keys = partitioning(planned.plan).values()
        if not spread or all(key is not None and "k" in key for key in keys):
            found.append(text)
    return found


def cut(draw: Draw, declared: list[Declared], batches: int) -> VerificationCase:
    """Rows in that many batches, some of them late, some without a time."""
    events = [e for _ in range(3) for e in careless_arrivals(draw, declared)]
    rows: list[dict[str, list[Row]]] = [{} for _ in range(batches)]
    for number, event in enumerate(events):
        if isinstance(event, Push):
            place = number * batches // len(events)
            rows[place].setdefault(event.stream, []).extend(event.rows)
        else:
            assert isinstance(event, Punctuate)  # there is none from outside on Spark
    return VerificationCase(
        tuple(Batch({n: tuple(mine) for n, mine in each.items()}) for each in rows)
    )


def late_rows(declared: list[Declared], case: VerificationCase) -> int:
    found = 0
    for each in declared:
        steps = [StreamStep(batch.rows.get(each.name, ())) for batch in case.batches]
        judged = judge(each.stream, steps, by_batch=True)
        found += sum(verdict is Verdict.LATE for step in judged for verdict, _ in step)
    return found


def check(
    spark: SparkSession, seed: int, count: int, *, spread: bool = False, restarts: bool = False
) -> int:
    """Queries of a seed; gives how many rows were late."""
    draw = Seeded(seed)
    declared = declarations(draw)
    if spread:  # something must be late
        slacks = zip(declared, (5, 0, 3), strict=True)
        declared = [Declared(each.name, slack, each.time) for each, slack in slacks]
    texts = some_queries(draw, declared, count, spread=spread)
    case = cut(draw, declared, batches=3)
    done = Verification(";\n".join([*(each.sql for each in declared), *texts]))
    done.runs["spark"] = OnSpark(lambda place: Engine(spark, checkpoint=place))
    for _ in done.tried(seed, Way("spark", seed=seed, restarts=restarts), case):
        pass
    assert done.outcome.found is None, "\n".join([*texts, *lines(done)])
    assert len(done.outcome.compared) == count
    return late_rows(declared, case)


def test_random_joins_and_early_results_have_the_oracles_answers(spark: SparkSession) -> None:
    assert check(spark, seed=2, count=12, spread=True) > 0


@pytest.mark.slow
def test_many_random_joins_and_early_results_have_the_oracles_answers(spark: SparkSession) -> None:
    first = int(os.environ.get("PENSTOCK_SEED", SystemRandom().randrange(1 << 20)))
    late = 0
    for seed in range(first, first + CAMPAIGN):
        print(f"PENSTOCK_SEED={seed}", flush=True)
        late += check(spark, seed, count=12, restarts=seed % 2 == 0)
    assert late > 0
