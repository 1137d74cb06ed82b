"""Join graphs to try optimisers on: the published settings, and random ones."""

from __future__ import annotations

import random

from penstock.optimizer.joins.join_graph import JoinGraph

#: Sets 1 to 4: rates a second, selectivities of the chain A-B-C(-D), window in seconds.
PUBLISHED = {
    1: JoinGraph.within((20, 20, 20), {(0, 1): 0.05, (1, 2): 0.5}, 5),
    2: JoinGraph.within((20, 20, 50), {(0, 1): 0.02, (1, 2): 0.5}, 15),
    3: JoinGraph.within((10, 10, 10, 10), {(0, 1): 0.1, (1, 2): 0.15, (2, 3): 0.1}, 15),
    4: JoinGraph.within((20, 20, 20, 20), {(0, 1): 0.02, (1, 2): 0.2, (2, 3): 0.05}, 50),
}

Edges = list[tuple[int, int]]


def chain(count: int) -> Edges:
    return [(each, each + 1) for each in range(count - 1)]


def star(count: int) -> Edges:
    return [(0, each) for each in range(1, count)]


def tree(count: int, rng: random.Random) -> Edges:
    return [(rng.randrange(each), each) for each in range(1, count)]


def with_cycles(count: int, rng: random.Random) -> Edges:
    """A tree, and as many pairs beside it as chance will have."""
    pairs = {(i, j) for j in range(count) for i in range(j) if rng.random() < 0.2}
    return [*{*tree(count, rng), *pairs}]


def random_graph(edges: Edges, rng: random.Random, window: float = 1.0) -> JoinGraph:
    """Rates in [1, 100] and selectivities in (0, 1)."""
    count = 1 + max(j for _, j in edges)
    rates = tuple(rng.uniform(1, 100) for _ in range(count))
    return JoinGraph.within(rates, {edge: rng.uniform(1e-3, 1) for edge in sorted(edges)}, window)
