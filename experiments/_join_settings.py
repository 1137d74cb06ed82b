"""Random settings for optimisers of joins: rates, join graph, selectivities, limits.

Published: N streams with rates in [1, 100] rows a second, a random join graph, selectivities in
(0, 1), 100 settings for each N. Not published, and chosen here: the window, 0.1 s; the graph, a
random tree and every other pair with a chance of 0.2; nested loops, where comparing a pair costs as
much as storing a row or deleting one; and the limits, which are drawn with each setting as
multiples of what its MJoin takes, so that they bind for few streams as for many.
Spec: dynamic-optimization 5.1.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from penstock.optimizer.cost.joins import JoinUnits
from penstock.optimizer.joins.join_graph import JoinGraph
from penstock.optimizer.joins.ordered_trees import OrderedTrees
from penstock.optimizer.joins.pareto import CostedShape, Limits

WINDOW = 0.1
UNITS = JoinUnits(insert=1.0, delete=1.0, pair=1.0, mode="probe")
#: Processor time and memory there is, in what the MJoin takes.
PROCESSOR, MEMORY = (0.1, 1.0), (1.0, 10.0)


@dataclass(frozen=True)
class Setting:
    """One join, and what there is to run it."""

    graph: JoinGraph
    limits: Limits

    @property
    def trees(self) -> OrderedTrees:
        """With nothing known from other searches."""
        return OrderedTrees(self.graph, UNITS)


def settings(
    streams: int,
    count: int,
    seed: int,
    processor: tuple[float, float] = PROCESSOR,
    memory: tuple[float, float] = MEMORY,
    window: float = WINDOW,
) -> Iterator[Setting]:
    """So many random settings."""
    for number in range(count):
        rng = random.Random(f"{seed} {streams} {number}")
        graph = random_graph(streams, rng, window)
        trees = OrderedTrees(graph, UNITS)
        mjoin = trees.cost(trees.at_once)
        limits = Limits(
            mjoin.processor * rng.uniform(*processor), mjoin.memory * rng.uniform(*memory)
        )
        yield Setting(graph, limits)


def random_graph(streams: int, rng: random.Random, window: float) -> JoinGraph:
    pairs = {(rng.randrange(each), each) for each in range(1, streams)}
    pairs |= {(i, j) for j in range(streams) for i in range(j) if rng.random() < 0.2}
    rates = tuple(rng.uniform(1, 100) for _ in range(streams))
    return JoinGraph.within(rates, {pair: 1 - rng.random() for pair in sorted(pairs)}, window)


def qualified(plans: Iterator[CostedShape], limits: Limits) -> CostedShape | None:
    """The plan at which a strategy ends, if it qualifies."""
    [*found] = plans
    return found[-1] if found and limits.allow(found[-1].cost) else None
