"""Min-state: a tree of joins of two that stores few intermediate results.

Again and again the two parts are joined whose results would be the fewest to store, until one part
is left; pairs without a predicate count as well (σ = 1), unless told otherwise. Without them it is
optimal for stars, where every join makes all the others smaller alike; not in general. What it
misses is missed for good, but what it finds is what it says.
Weights are sizes, which compare sets of different numbers of inputs.  Spec: dynamic-optimization
2.6, 8.2.
"""

from __future__ import annotations

import numpy as np

from penstock.optimizer.cost.joins import OperatorLoad
from penstock.optimizer.joins.ordered_trees import OrderedTrees, Shape, joining


def min_state(trees: OrderedTrees, *, cartesian: bool = True) -> Shape:
    """Joins of two over all inputs."""
    parts: list[Shape] = list(range(trees.graph.count))
    while len(parts) > 1:
        load = OperatorLoad.of(trees.graph, [*map(trees.inputs, parts)])
        may = np.triu(np.ones_like(load.links), 1)
        if not cartesian and load.links.any():
            may &= load.links
        one, other = np.unravel_index(
            np.where(may, load.weights, np.inf).argmin(), load.weights.shape
        )
        joined = joining(parts[one], parts[other])
        parts = [part for n, part in enumerate(parts) if n not in (one, other)] + [joined]
    return parts[0]
