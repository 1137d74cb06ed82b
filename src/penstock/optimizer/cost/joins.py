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

Our joins do more than that for each of these, which counts where it is known how rows come and go
(`JoinGraph.blocks`, `JoinWindows.whole_runs`):

    block     a block asks one input after the other, as long as something is found, and that costs
              something before it has any row
    lookup    a row is looked up in each run of a store (`runs.py`)
    run       rows are taken out of each run in which a block finds partners, by a call of its own
    sort      rows that were found are put into the order of the next keys, to be looked up by them;
              new ones are in order, as they are stored so
    test      pairs that must lie in further bands than that by which they were found are tested,
              and those that do not are left out
    tried     partners are found by keys and one band; what other conditions and bands forbid has
              been put together by then
    pair      columns of both rows are put side by side: by their bytes
    insert    once for each set of keys by which an input is asked, and once more whenever runs are
              merged
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Literal, TypeAlias

import numpy as np

from penstock.optimizer.cost.costs import JOIN, Costs
from penstock.optimizer.joins.inputs import Inputs, inputs_of
from penstock.optimizer.joins.join_graph import JoinGraph
from penstock.optimizer.joins.join_tree import Branch, JoinTree, branches_of, leaves_of

Orders: TypeAlias = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class JoinUnits:
    """What a unit of a join's work costs: of processor time, whatever it is measured in."""

    #: How many are measured; their order is that of `of_kinds`, and of `Costs`.
    KINDS: ClassVar = 7

    insert: float = 0.0  # one row into a state
    delete: float = 0.0
    pair: float = 1.0  # compare a pair, or make one that matches
    lookup: float = 0.0  # ask a state, or a run of it, for partners of one row
    mode: Literal["match", "probe"] = "match"
    block: float = 0.0  # ask one input for partners of a block
    run: float = 0.0  # take the partners of a block out of one run
    sort: float = 0.0  # have one row that was found look for more
    test: float = 0.0  # test one pair by further bands

    @classmethod
    def of(cls, costs: Costs) -> JoinUnits:
        """What our joins take on a machine, in seconds: they look partners up by keys.

        Rows go in whole runs, so forgetting one costs nothing.
        """
        return cls.of_kinds(cost / 1e6 for cost in costs.units[JOIN])

    @classmethod
    def of_kinds(cls, costs: Iterable[float]) -> JoinUnits:
        block, insert, lookup, pair, run, sort, test = costs
        return cls(insert, 0.0, pair, lookup, block=block, run=run, sort=sort, test=test)


#: The bytes of both rows of a pair that costs one `pair`.
PAIR_BYTES = 64.0


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
    keys: np.ndarray  # selectivities of predicates by which rows are looked up
    independent: np.ndarray  # selectivities of predicates of no class …
    by_class: tuple[np.ndarray, ...]  # … and of those of each
    links: np.ndarray  # whether there is a predicate
    bands: np.ndarray  # how many bands there are
    widths: np.ndarray  # of what is stored
    copies: np.ndarray
    blocks: np.ndarray  # a second
    runs: np.ndarray  # that are looked at for each row that is looked up
    merges: np.ndarray  # of each row
    pair_weight: float  # what a pair costs, by the bytes of both rows
    # By asking and asked input, how much of it lies in the band between them: for a row that has
    # just come, which lies at one end of it, and for what was found with such a row.
    near: tuple[np.ndarray, np.ndarray] | None

    @classmethod
    def of(cls, graph: JoinGraph, inputs: Sequence[Inputs]) -> OperatorLoad:
        everything = 0
        for each in inputs:
            everything |= each
        belongs = np.array(inputs)[:, None] >> np.arange(graph.count) & 1
        # A product over all predicates between two sets is a sum of logarithms.
        independent = np.exp(belongs @ np.log(graph.independent) @ belongs.T)
        by_class = tuple(_least_between(each, belongs) for each in graph.by_class)
        keys = np.exp(belongs @ np.log(graph.independent_keys) @ belongs.T)
        of_classes = np.ones_like(independent)
        for of_class in by_class:
            of_classes *= of_class
        stays = graph.windows.stays(inputs)
        copies = np.ones(len(inputs))
        if len(inputs) > 2 and graph.keyed:
            copies = np.array(graph.copies(inputs))
        rates = np.array([graph.rate(each) for each in inputs])
        near = None
        if graph.windows.whole_runs:
            widths = graph.windows.widths(inputs)
            near = rates * widths / 2, rates * np.minimum(stays, 0.75 * widths)
        return cls(
            np.array([graph.size(each, everything & ~each) for each in inputs]),
            graph.stored(inputs, stays) * copies,
            rates,
            independent * of_classes,
            keys * of_classes,
            independent,
            by_class,
            belongs @ graph.links @ belongs.T > 0,
            belongs @ graph.windows.banded @ belongs.T,
            np.array([graph.stored_width(each) for each in inputs]),
            copies,
            np.array([graph.blocks_of(each) for each in inputs]),
            graph.runs(inputs, stays),
            graph.merges(inputs, stays),
            sum(map(graph.width, inputs)) / PAIR_BYTES if graph.widths else 1.0,
            near,
        )

    @property
    def weights(self) -> np.ndarray:
        """Of two inputs, how many pairs of what is stored match."""
        return np.asarray(self.sizes[:, None] * self.sizes[None, :] * self.selectivities)

    def cost(self, work: np.ndarray, units: JoinUnits) -> JoinCost:
        """What the operator takes, by the work of one row of each input."""
        inserted = float(self.rates @ (self.copies * (1 + self.merges)))
        maintenance = inserted * units.insert + float(self.rates @ self.copies) * units.delete
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
        asked = sequences[:, 1:]
        stored = self.sizes[asked]
        found = matching * stored
        asking = np.ones_like(found)
        np.cumprod(found[:, :-1], axis=1, out=asking[:, 1:])
        if units.mode == "probe":
            tried = stored
        elif self.near is None:
            tried = found
        else:
            tried = self._tried(sequences, pairs, before)
        lookups = units.lookup * self.runs[asked]
        work = asking * (lookups + units.pair * self.pair_weight * tried)
        work[:, 1:] += units.sort * asking[:, 1:]
        if units.test:
            bands = np.where(before, self.bands[pairs], 0).sum(axis=2)[:, 1:]
            work += units.test * asking * tried * (bands > 1)
        if self.blocks.any() and (units.block or units.run):
            work += self._by_block(sequences, asking, tried, units)
        return np.asarray(work.sum(axis=1))

    def _by_block(
        self, sequences: np.ndarray, asking: np.ndarray, tried: np.ndarray, units: JoinUnits
    ) -> np.ndarray:
        """One row's share of what its block takes by itself. What is found falls on blocks and runs
        by chance: a block goes on as long as something was found for some of its rows, and takes
        rows out of those runs that have partners."""
        first, runs = sequences[:, :1], self.runs[sequences[:, 1:]]
        share = np.divide(
            self.blocks, self.rates, out=np.zeros_like(self.rates), where=self.rates > 0
        )[first]
        rows = np.divide(1.0, share, out=np.zeros_like(share), where=share > 0)  # of a block
        goes_on = -np.expm1(-rows * asking)
        goes_on[:, 0] = 1.0
        taken_from = -np.expm1(-rows * asking * tried / runs)
        return np.asarray(share * (units.block * goes_on + units.run * runs * taken_from))

    def _tried(
        self, sequences: np.ndarray, pairs: tuple[np.ndarray, np.ndarray], before: np.ndarray
    ) -> np.ndarray:
        """Partners by keys and one band: asked for by the input with which the least match."""
        assert self.near is not None
        matching = np.where(before, self.keys[pairs], np.inf)[:, 1:]
        asker = np.take_along_axis(sequences, matching.argmin(axis=2), axis=1)
        by_new, by_found = self.near
        offered = by_found[asker, sequences[:, 1:]]
        offered[:, 0] = by_new[sequences[:, 0], sequences[:, 1]]
        return np.asarray(matching.min(axis=2) * offered)

    def smallest_first(self) -> Orders:
        """Orders of an operator that has none: it asks the smallest store of a neighbour next."""
        return tuple(map(self._smallest_next, range(len(self.sizes))))

    def _smallest_next(self, first: int) -> tuple[int, ...]:
        seen, left = [first], [n for n in range(len(self.sizes)) if n != first]
        while left:
            near = [n for n in left if self.links[n, seen].any()] or left
            seen.append(min(near, key=lambda n: float(self.sizes[n])))
            left.remove(seen[-1])
        return tuple(seen[1:])


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
