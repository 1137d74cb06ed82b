"""Dominance, and the plans that nothing dominates."""

from __future__ import annotations

import random

from penstock.optimizer.cost.joins import JoinCost
from penstock.optimizer.joins.pareto import CostedShape, Limits, dominates, pareto_front


def plan(processor: float, memory: float) -> CostedShape:
    return CostedShape(0, JoinCost(processor, memory, memory))


def test_less_of_both_dominates_and_one_each_way_does_not() -> None:
    cheap, dear, wide = JoinCost(1, 1, 0), JoinCost(2, 2, 0), JoinCost(0.5, 3, 0)
    assert dominates(cheap, dear)
    assert not dominates(dear, cheap)
    assert not dominates(cheap, wide)
    assert not dominates(wide, cheap)
    assert not dominates(cheap, cheap)


def test_the_front_is_what_nothing_dominates() -> None:
    rng = random.Random(1)
    for _ in range(50):
        plans = [plan(rng.randint(1, 12), rng.randint(1, 12)) for _ in range(30)]
        front = pareto_front(plans)
        alone = {
            (each.cost.memory, each.cost.processor)
            for each in plans
            if not any(dominates(other.cost, each.cost) for other in plans)
        }
        assert [(each.cost.memory, each.cost.processor) for each in front] == sorted(alone)


def test_by_how_much_a_plan_exceeds_its_limits() -> None:
    limits = Limits(processor=10, memory=100)
    assert limits.overload(JoinCost(5, 200, 0)) == 2
    assert limits.allow(JoinCost(9.9, 99, 0))
    assert not limits.allow(JoinCost(10, 1, 0))
