"""Min-state: a tree of joins of two that stores few intermediate results.

Again and again the two parts are joined whose results would be the fewest to store, until one part
is left; pairs without a predicate count as well (σ = 1), unless told otherwise. Without them it is
optimal for stars, where every join makes all the others smaller alike; not in general. What it
misses is missed for good, but what it finds is what it says.
Weights are sizes, which compare sets of different numbers of inputs.  Spec: dynamic-optimization
2.6, 8.2.
"""

from __future__ import annotations

import itertools

from penstock.optimizer.joins.ordered_trees import OrderedTrees, Shape, joining


def min_state(trees: OrderedTrees, *, cartesian: bool = True) -> Shape:
    """Joins of two over all inputs."""
    parts: list[Shape] = list(range(trees.graph.count))
    while len(parts) > 1:
        one, other = min(
            _pairs(trees, parts, cartesian=cartesian),
            key=lambda pair: trees.graph.size(trees.inputs(pair[0]) | trees.inputs(pair[1])),
        )
        parts = [part for part in parts if part not in (one, other)] + [joining(one, other)]
    return parts[0]


def _pairs(
    trees: OrderedTrees, parts: list[Shape], *, cartesian: bool
) -> list[tuple[Shape, Shape]]:
    pairs = [*itertools.combinations(parts, 2)]
    if not cartesian:
        linked = [
            (one, other)
            for one, other in pairs
            if trees.graph.are_linked(trees.inputs(one), trees.inputs(other))
        ]
        return linked or pairs
    return pairs
