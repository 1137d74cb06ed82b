"""What a join of many inputs costs in the shape of a given tree: processor time and memory.

For an operator with inputs X1..Xk, each a set of inputs of the join, and for each of them an order
of the others, per second:

    memory        Σ size(Xi)
    maintenance   Σ rate(Xi) (insert + delete)
    join          Σ_i rate(Xi) Σ_m Π_{j<m} [size(X_oj) σ(before, X_oj)] (lookup + pair · tried_m)

`tried` is what an arriving row, or what has been found for it so far, is compared with: in a hash
join only what matches, `size(X_om) σ(before, X_om)` (mode `match`); in a nested loop all that is
stored, `size(X_om)` (mode `probe`). A tree costs what its operators cost; the results of its root
are not stored. Equations (4.1) to (4.5) are cases of this.  Spec: dynamic-optimization 2.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

import numpy as np

from penstock.optimizer.cost.costs import JOIN, Costs
from penstock.optimizer.joins.inputs import Inputs, inputs_of
from penstock.optimizer.joins.join_graph import JoinGraph
from penstock.optimizer.joins.join_tree import Branch, JoinTree, branches_of, leaves_of

Orders: TypeAlias = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class JoinUnits:
    """What a unit of a join's work costs: of processor time, whatever it is measured in."""

    insert: float = 0.0  # one row into a state
    delete: float = 0.0
    pair: float = 1.0  # compare a pair, or make one that matches
    lookup: float = 0.0  # ask a state for partners of one row
    mode: Literal["match", "probe"] = "match"

    @classmethod
    def of(cls, costs: Costs) -> JoinUnits:
        """What our joins take on a machine, in seconds: they look partners up by keys."""
        insert, delete, pair, lookup = (cost / 1e6 for cost in costs.units[JOIN])
        return cls(insert, delete, pair, lookup)


@dataclass(frozen=True)
class JoinCost:
    """What joining takes: processor time a second, and memory, as rows and in the graph's unit."""

    processor: float
    memory: float
    rows: float

    def __add__(self, other: JoinCost) -> JoinCost:
        return JoinCost(
            self.processor + other.processor, self.memory + other.memory, self.rows + other.rows
        )

    def __sub__(self, other: JoinCost) -> JoinCost:
        return JoinCost(
            self.processor - other.processor, self.memory - other.memory, self.rows - other.rows
        )


NOTHING = JoinCost(0.0, 0.0, 0.0)


@dataclass(frozen=True)
class OperatorLoad:
    """What one operator has to do with, by its inputs or by two of them."""

    sizes: np.ndarray  # of what can have partners …
    stored: np.ndarray  # … and of all that is there
    rates: np.ndarray
    selectivities: np.ndarray
    independent: np.ndarray  # selectivities of predicates of no class …
    by_class: tuple[np.ndarray, ...]  # … and of those of each
    links: np.ndarray  # whether there is a predicate
    widths: np.ndarray

    @classmethod
    def of(cls, graph: JoinGraph, inputs: Sequence[Inputs]) -> OperatorLoad:
        everything = 0
        for each in inputs:
            everything |= each
        belongs = np.array(inputs)[:, None] >> np.arange(graph.count) & 1
        # A product over all predicates between two sets is a sum of logarithms.
        independent = np.exp(belongs @ np.log(graph.independent) @ belongs.T)
        by_class = tuple(_least_between(each, belongs) for each in graph.by_class)
        selectivities = independent.copy()
        for of_class in by_class:
            selectivities *= of_class
        others = [[other for other in inputs if other != each] for each in inputs]
        copies = [1] * len(inputs)
        if len(inputs) > 2 and graph.keyed:
            copies = [*map(graph.copies, inputs, others)]
        return cls(
            np.array([graph.size(each, everything & ~each) for each in inputs]),
            np.array([*map(graph.stored, inputs, others)]) * copies,
            np.array([graph.rate(each) for each in inputs]),
            selectivities,
            independent,
            by_class,
            belongs @ graph.links @ belongs.T > 0,
            np.array([graph.width(each) for each in inputs]),
        )

    @property
    def weights(self) -> np.ndarray:
        """Of two inputs, how many pairs of what is stored match."""
        return np.asarray(self.sizes[:, None] * self.sizes[None, :] * self.selectivities)

    def cost(self, work: np.ndarray, units: JoinUnits) -> JoinCost:
        """What the operator takes, by the work of one row of each input."""
        maintenance = float(self.rates.sum()) * (units.insert + units.delete)
        return JoinCost(
            maintenance + float(self.rates @ work),
            float(self.stored @ self.widths),
            float(self.stored.sum()),
        )

    def work(self, sequences: np.ndarray, units: JoinUnits) -> np.ndarray:
        """What one row of the first input of each sequence takes to meet the rest in its order."""
        pairs, before = (sequences[:, :, None], sequences[:, None, :]), _before(sequences.shape[1])
        matching = np.where(before, self.independent[pairs], 1.0).prod(axis=2)[:, 1:]
        for each in self.by_class:
            matching *= np.where(before, each[pairs], 1.0).min(axis=2)[:, 1:]
        stored = self.sizes[sequences[:, 1:]]
        found = matching * stored
        asking = np.ones_like(found)
        np.cumprod(found[:, :-1], axis=1, out=asking[:, 1:])
        tried = stored if units.mode == "probe" else found
        return np.asarray((asking * (units.lookup + units.pair * tried)).sum(axis=1))

    def smallest_first(self) -> Orders:
        """Orders of an operator that has none: it asks the smallest store first."""
        by_size = np.argsort(self.sizes, kind="stable").tolist()
        return tuple(
            tuple(other for other in by_size if other != each) for each in range(len(by_size))
        )


def _least_between(selectivities: np.ndarray, belongs: np.ndarray) -> np.ndarray:
    """By two sets, the least selectivity between members of both."""
    sets = [np.flatnonzero(each) for each in belongs]
    return np.array([[selectivities[np.ix_(one, other)].min() for other in sets] for one in sets])


@lru_cache(maxsize=64)
def _before(count: int) -> np.ndarray:
    """By two places of a sequence, whether the second comes before the first."""
    return np.tril(np.ones((count, count), dtype=bool), -1)


def operator_cost(
    graph: JoinGraph, inputs: Sequence[Inputs], orders: Orders, units: JoinUnits
) -> JoinCost:
    """What one operator over sets of inputs takes."""
    load = OperatorLoad.of(graph, inputs)
    sequences = [(n, *order) for n, order in enumerate(orders or load.smallest_first())]
    return load.cost(load.work(np.array(sequences), units), units)


def costs_by_operator(
    graph: JoinGraph, tree: JoinTree, units: JoinUnits
) -> list[tuple[Branch, JoinCost]]:
    """What each operator of a tree takes, those whose results others read first."""
    return [
        (
            branch,
            operator_cost(
                graph, [inputs_of(leaves_of(each)) for each in branch.inputs], branch.orders, units
            ),
        )
        for branch in branches_of(tree)
    ]


def tree_cost(graph: JoinGraph, tree: JoinTree, units: JoinUnits) -> JoinCost:
    """What joining in the shape of a tree takes."""
    return sum((cost for _, cost in costs_by_operator(graph, tree, units)), NOTHING)
