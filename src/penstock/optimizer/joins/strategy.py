"""Strategy: how a plan is looked for, by the number of inputs and by what is scarcer.

    strategy      begins with         and goes on by                     finds plans of
    mjoin-init    mjoin-ordering      storing results: state-selection   less memory
    bjtree-init   min-state           removing states: state-removal     less processor time
    exhaustive    every tree          -                                  all there are

Few inputs have few trees, so all are looked at. For more, the strategy is the one whose plans spare
the resource that is scarcer: of which the plan that needs least of it takes the greater share; if
that is little, there is enough of both. If a strategy finds nothing, the other one may. As they
were published, both end with the first plan that qualifies; here they go on, and all that they find
are compared, for as long as there is time. Among qualified plans the one is taken that takes least
processor time, or, where memory is scarcer, least memory; if none qualifies, the one that exceeds
its limits least.
Spec: dynamic-optimization 2.1, 2.8, 5.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from penstock.optimizer.joins.exhaustive import whole_plans
from penstock.optimizer.joins.min_state import min_state
from penstock.optimizer.joins.ordered_trees import OrderedTrees
from penstock.optimizer.joins.pareto import CostedShape, Limits, pareto_front
from penstock.optimizer.joins.state_removal import state_removal
from penstock.optimizer.joins.state_selection import state_selection

#: Up to so many inputs all trees are looked at: 236 for 5.
FEW = 5
#: Plans whose processor time differs by less than this share are equal in it.
ALIKE = 0.02
#: Plans of more inputs that a search compares at most: queries wait for it when they are declared,
#: and batches on Spark. One strategy ends before over all inputs that a join can have (63), and
#: both over 32. That takes an ordinary core up to 0.2 s for 32 inputs and 0.4 s for 48.
MOST_PLANS = 64
#: Of a resource of which less than this share is needed there is enough.
ENOUGH = 0.25

EXHAUSTIVE = "exhaustive"
Resource = Literal["processor", "memory"]


@dataclass(frozen=True)
class ChosenShape:
    """The plan that was taken, and among which."""

    plan: CostedShape
    strategy: str
    scarcer: Resource | None  # None: there is enough of both
    needed: tuple[float, float]  # shares of both limits, see `needed_shares`
    qualifies: bool
    looked_at: tuple[CostedShape, ...]
    is_cut: bool = False  # the search ended because it had compared the most plans that it may


def mjoin_init(trees: OrderedTrees, limits: Limits) -> Iterator[CostedShape]:
    """Plans from the MJoin on, until one qualifies."""
    return state_selection(trees, limits)


def bjtree_init(trees: OrderedTrees, limits: Limits) -> Iterator[CostedShape]:
    """Plans from a tree of joins of two on, until one qualifies."""
    return state_removal(trees, min_state(trees), limits)


def choose_shape(trees: OrderedTrees, limits: Limits, most: int = MOST_PLANS) -> ChosenShape:
    """The plan to run; of more than `FEW` inputs at most so many plans are compared."""
    needed = needed_shares(trees, limits)
    scarcer = _scarcer(needed)
    if trees.graph.count <= FEW:
        return _chosen([*whole_plans(trees, Limits())], EXHAUSTIVE, needed, limits)
    # To their ends, and not to the first plan that qualifies: later ones may be better.
    ways = [
        ("bjtree-init", bjtree_init(trees, Limits(0.0, 0.0))),
        ("mjoin-init", mjoin_init(trees, Limits(0.0, limits.memory))),
    ]
    if scarcer == "memory":
        ways.reverse()
    looked_at: list[CostedShape] = []
    for name, way in ways:
        looked_at += islice(way, most - len(looked_at))
        is_cut = len(looked_at) == most
        if is_cut or any(limits.allow(plan.cost) for plan in looked_at):
            return _chosen(looked_at, name, needed, limits, is_cut)
    return _chosen(looked_at, " and ".join(name for name, _ in ways), needed, limits)


def scarcer_resource(trees: OrderedTrees, limits: Limits) -> Resource | None:
    """The resource of which the plan that needs least of it takes the greater share.

    None: there is enough of both.
    """
    return _scarcer(needed_shares(trees, limits))


def needed_shares(trees: OrderedTrees, limits: Limits) -> tuple[float, float]:
    """Which share of its limit is taken of processor time, and of memory, by the plan that needs
    least of it, as far as one knows before looking at others."""
    processor = trees.cost(min_state(trees)).processor / limits.processor
    return processor, trees.cost(trees.at_once).memory / limits.memory


def _scarcer(needed: tuple[float, float]) -> Resource | None:
    processor, memory = needed
    if max(memory, processor) < ENOUGH:
        return None
    return "memory" if memory > processor else "processor"


def preferred(
    plans: Iterable[CostedShape], limits: Limits, scarcer: Resource | None
) -> CostedShape:
    """The plan to take among these."""
    plans = [*plans]
    front = pareto_front(plan for plan in plans if limits.allow(plan.cost))
    if not front:
        return min(plans, key=lambda plan: limits.overload(plan.cost))
    if scarcer == "memory":
        return front[0]
    enough = front[-1].cost.processor * (1 + ALIKE)
    return next(plan for plan in front if plan.cost.processor <= enough)


def _chosen(
    looked_at: list[CostedShape],
    strategy: str,
    needed: tuple[float, float],
    limits: Limits,
    is_cut: bool = False,
) -> ChosenShape:
    scarcer = _scarcer(needed)
    plan = preferred(looked_at, limits, scarcer)
    qualifies = limits.allow(plan.cost)
    return ChosenShape(plan, strategy, scarcer, needed, qualifies, tuple(looked_at), is_cut)
