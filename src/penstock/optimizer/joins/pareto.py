"""Pareto: which of several plans are worth keeping when processor time and memory both count.

A plan *dominates* another that takes more memory and more processor time. Those that nothing
dominates are the Pareto front: each takes less of one resource than any other that takes no more of
the other.  Spec: dynamic-optimization 2.8.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from penstock.optimizer.cost.joins import JoinCost
from penstock.optimizer.joins.ordered_trees import Shape


class CostedShape(NamedTuple):
    """A shape, and what it takes."""

    shape: Shape
    cost: JoinCost


@dataclass(frozen=True)
class Limits:
    """What there is of processor time a second and of memory, in the unit of the costs."""

    processor: float = float("inf")
    memory: float = float("inf")

    def allow(self, cost: JoinCost) -> bool:
        """Whether a plan is *qualified*: below both."""
        return cost.processor < self.processor and cost.memory < self.memory

    def overload(self, cost: JoinCost) -> float:
        """The share that is taken of the resource that is taken more of; below 1: qualified."""
        return max(cost.processor / self.processor, cost.memory / self.memory)


def dominates(one: JoinCost, other: JoinCost) -> bool:
    """Whether one plan takes no more of either than the other, and less of one."""
    no_more = one.memory <= other.memory and one.processor <= other.processor
    return no_more and (one.memory < other.memory or one.processor < other.processor)


def pareto_front(plans: Iterable[CostedShape]) -> list[CostedShape]:
    """The plans that no other dominates, by rising memory; of equal ones the first."""
    front: list[CostedShape] = []
    for plan in sorted(plans, key=lambda each: (each.cost.memory, each.cost.processor)):
        if not front or plan.cost.processor < front[-1].cost.processor:
            front.append(plan)
    return front
