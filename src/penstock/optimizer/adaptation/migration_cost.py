"""What it takes to get from one plan of a join to another while it runs, as the model has it.

    Moving State     states that the new plan has and the old one lacks are computed from those that
                     both have, at once: the query pauses meanwhile. It takes more than in
                     proportion to the window.
    Parallel Track   both plans run until no row of before can be in a result: about one window.
                     Nothing pauses, and everything is done twice.

Processor time in the unit of the costs.  Spec: dynamic-optimization 3.4, 8.2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from penstock.optimizer.cost.joins import JoinUnits, tree_cost
from penstock.optimizer.joins.inputs import Inputs, inputs_of
from penstock.optimizer.joins.join_graph import JoinGraph
from penstock.optimizer.joins.join_tree import Branch, JoinTree, branches_of, leaves_of

Method = Literal["ms", "pt"]


@dataclass(frozen=True)
class MigrationCost:
    """`processor` is what a migration takes besides the results, `pause` how much of it at once."""

    method: Method
    processor: float
    pause: float
    recomputed: float = 0.0  # rows


def stored_in(tree: JoinTree) -> set[Inputs]:
    """The sets of inputs whose results a plan stores."""
    return {inputs_of(leaves_of(part)) for branch in branches_of(tree) for part in branch.inputs}


def recomputed_in(old: JoinTree, new: JoinTree) -> Iterator[Branch]:
    """The operators of a new plan whose results it has to store and the old one did not.

    Those whose results others need come first. Below one that the old plan stored, nothing is
    computed: its rows move.

    >>> from penstock.optimizer.joins.join_tree import at_once, left_deep
    >>> [str(each) for each in recomputed_in(at_once(4), left_deep(4))]
    ['(0, 1)', '((0, 1), 2)']
    """
    known = stored_in(old)

    def missing(tree: JoinTree) -> Iterator[Branch]:
        if isinstance(tree, int) or inputs_of(leaves_of(tree)) in known:
            return
        for part in tree.inputs:
            yield from missing(part)
        yield tree

    assert isinstance(new, Branch)
    for part in new.inputs:
        yield from missing(part)


def moving_state(graph: JoinGraph, old: JoinTree, new: JoinTree, units: JoinUnits) -> MigrationCost:
    """What Moving State takes: joining what is stored, and storing what comes of it."""
    work = rows = 0.0
    for branch in recomputed_in(old, new):
        inputs = inputs_of(leaves_of(branch))
        size = graph.size(inputs)
        parts = [inputs_of(leaves_of(part)) for part in branch.inputs]
        tried = size
        if units.mode == "probe":
            tried = 1.0
            for part in parts:
                tried *= graph.size(part, graph.everything & ~part)
        asked = min(graph.size(part, graph.everything & ~part) for part in parts)
        work += units.lookup * asked + units.pair * tried + units.insert * size
        rows += size
    return MigrationCost("ms", work, work, rows)


def parallel_track(graph: JoinGraph, new: JoinTree, units: JoinUnits) -> MigrationCost:
    """What Parallel Track takes: the new plan beside the old one for as long as rows live."""
    seconds = float(graph.windows.reach.max())
    return MigrationCost("pt", tree_cost(graph, new, units).processor * seconds, 0.0)


def cheapest(
    graph: JoinGraph,
    old: JoinTree,
    new: JoinTree,
    units: JoinUnits,
    longest_pause: float = float("inf"),
) -> MigrationCost:
    """The method that takes less, among those that pause no longer than that."""
    moving, track = moving_state(graph, old, new, units), parallel_track(graph, new, units)
    if moving.pause > longest_pause:
        return track
    return min(moving, track, key=lambda each: each.processor)
