"""Joins that run as one give each query its own answer, while queries come and go."""

from __future__ import annotations

import pytest

from penstock.model.timestamps import END
from penstock.optimizer.physical import walk
from penstock.optimizer.specs import WindowJoinSpec
from penstock.oracle.evaluate import same_rows
from penstock.spark.in_memory.micro_batches import MicroBatch
from tests.engine.draw import seeds
from tests.spark.placement.plans import plan
from tests.spark.test_living_programs import Living, expected

PAIRS = "{columns} FROM a l JOIN b r ON l.k = r.k WITHIN 3 SECONDS WHERE {where}"
COLUMNS = [
    "SELECT l.k, l.v AS v, r.v AS w",
    "SELECT l.k, l.ts AS t, r.d AS d",
    "SELECT l.k, r.v AS w, l.v + r.v AS s",
]
CONDITIONS = [
    *(f"l.v = {number}" for number in range(7)),
    *("l.v > 2", "l.v BETWEEN 2 AND 4", "l.v IN (1, 5)", "l.v > 4 OR l.v = 0", "l.k <> 'x'"),
    *("r.v > 2", "r.v < 4", "l.v > 2 AND r.v < 3", "l.v < 3 AND r.v < 3", "l.d > 1.0", "TRUE"),
]


def drawn(living: Living) -> str:
    return PAIRS.format(
        columns=living.chance.choice(COLUMNS), where=living.chance.choice(CONDITIONS)
    )


@pytest.mark.parametrize("seed", seeds(3, slow=100))
def test_every_query_gives_the_answer_over_its_life(seed: int) -> None:
    living = Living(seed)
    for _ in range(8):
        if living.chance.random() < 0.5:
            here = [name for name in living.program.queries if name != "stays"]
            dropped = [name for name in here if living.chance.random() < 0.3]
            replaced = [n for n in here if n not in dropped and living.chance.random() < 0.3]
            new = [f"q{len(living.lives) + n}" for n in range(living.chance.randrange(12))]
            living._changes += 1
            plans = {name: plan(drawn(living)) for name in (*replaced, *new)}
            living._swap(dropped, replaced, plans, dict.fromkeys(plans, living._changes))
        living.batch()
    living.run(MicroBatch(bounds={"a": END, "b": END}))
    for name, lives in living.lives.items():
        for life in lives:
            assert same_rows(life.results, expected(living, life)), (seed, name, life.first)


def test_what_replaces_the_last_of_those_that_shared_a_join_goes_on_with_its_rows() -> None:
    living = Living(1)
    texts = {n: PAIRS.format(columns=COLUMNS[0], where=f"l.v > {n}") for n in (1, 2)}
    plans = {f"q{n}": plan(text) for n, text in texts.items()}
    living._swap([], [], plans, dict.fromkeys(plans, 1))
    [shared] = [
        p for p in walk(living.program.plans.values()) if isinstance(p.spec, WindowJoinSpec)
    ]
    for _ in range(4):
        living.batch()
    before = len(living.batches)
    again = plan(PAIRS.format(columns=COLUMNS[2], where="l.v > 2"))
    living._swap(["q1"], ["q2"], {"q2": again}, {"q2": 1})
    assert shared in walk(living.program.plans.values())
    for _ in range(4):
        living.batch()
    living.run(MicroBatch(bounds={"a": END, "b": END}))
    old, new = living.lives["q2"]
    new.first = 0  # it sees what the join has kept
    seen = living.rows(0, before)
    whole = expected(living, new)
    new.last = before
    out_before = expected(living, new)
    assert seen["a"]
    assert old.results
    assert same_rows(new.results + out_before, whole)
