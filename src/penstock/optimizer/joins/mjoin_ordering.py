"""Mjoin-ordering: in which order each input of one operator asks the others for partners.

The algorithm of Ibaraki and Kameda for acyclic join graphs, once for each input as the root. What a
sequence costs to meet, and by how much it multiplies what was found before it:

    one input R     T(R) = σ size(R)          C(R) = lookups + sort + pair · (what R is tried with)
    S1 then S2      T = T(S1) T(S2)           C = C(S1) + T(S1) C(S2)
    rank(S)         (T(S) - 1) / C(S)

Of two sequences that may come in either order the one of lower rank comes first. An input comes
behind its parent in the tree; where its rank is lower than the parent's, both become one group, so
that a cheap input can draw an expensive one forward. From the leaves up every branch is a list of
groups with rising ranks; branches that meet are merged by rank.

A cyclic graph is first cut down to a spanning tree of least weight `size · size · σ`. Pairs without
a predicate may be tried as well, with σ = 1 (Cartesian edges): sometimes that is cheaper and
sometimes not, so both are computed, and each input keeps its cheaper order.
Spec: dynamic-optimization 2.4, 8.2.
"""

from __future__ import annotations

from operator import attrgetter
from typing import NamedTuple, TypeAlias

import numpy as np

from penstock.optimizer.cost.joins import JoinUnits, OperatorLoad, Orders

Neighbours: TypeAlias = list[list[int]]

_RANK = attrgetter("rank")


class Group(NamedTuple):
    """Inputs that come one behind the other."""

    rank: float
    factor: float
    cost: float
    inputs: tuple[int, ...]

    def then(self, other: Group) -> Group:
        factor, cost = self.factor * other.factor, self.cost + self.factor * other.cost
        return Group((factor - 1) / cost, factor, cost, self.inputs + other.inputs)


class MJoinOrders(NamedTuple):
    """By input its order, the spanning tree that it follows, and the work of one row."""

    orders: Orders
    trees: tuple[Neighbours, ...]
    work: np.ndarray


def mjoin_ordering(load: OperatorLoad, units: JoinUnits) -> MJoinOrders:
    """The cheaper order for each input: with Cartesian edges or without."""
    if len(load.sizes) == 2:
        work = load.work(np.array([[0, 1], [1, 0]]), units)
        return MJoinOrders(((1,), (0,)), ([[1], [0]],) * 2, work)
    found = spanning_tree(load.weights, load.links), spanning_tree(load.weights)
    trees = [tree for n, tree in enumerate(found) if tree is not None and tree not in found[:n]]
    sequences = [each for tree in trees for each in ordered(load, tree, units)]
    work = load.work(np.array(sequences), units).reshape(len(trees), -1)
    best = work.argmin(axis=0)
    return MJoinOrders(
        tuple(sequences[which * len(best) + root][1:] for root, which in enumerate(best.tolist())),
        tuple(trees[which] for which in best),
        work.min(axis=0),
    )


def spanning_tree(weights: np.ndarray, links: np.ndarray | None = None) -> Neighbours | None:
    """Who is next to whom in the tree of least weight; None: links do not connect all.

    Prim's algorithm: inputs join the tree one by one, by the lightest edge.
    """
    rows = (weights if links is None else np.where(links, weights, np.inf)).tolist()
    near: Neighbours = [[] for _ in rows]
    lightest = {new: (weight, 0) for new, weight in enumerate(rows[0]) if new}
    while lightest:
        new = min(lightest, key=lightest.__getitem__)
        weight, of = lightest.pop(new)
        if weight == np.inf:
            return None
        near[of].append(new)
        near[new].append(of)
        for other, known in lightest.items():
            if rows[new][other] < known[0]:
                lightest[other] = rows[new][other], new
    return near


def ordered(load: OperatorLoad, tree: Neighbours, units: JoinUnits) -> list[tuple[int, ...]]:
    """By input the best sequence that it heads, each input behind its neighbour in the tree."""
    sizes, selectivities = load.sizes.tolist(), load.selectivities.tolist()
    runs, pair, keys = load.runs.tolist(), units.pair * load.pair_weight, load.keys.tolist()
    near = None if load.near is None else load.near[1].tolist()
    known: dict[tuple[int, int], list[Group]] = {}

    def single(parent: int, child: int) -> Group:
        factor = selectivities[parent][child] * sizes[child]
        tried = sizes[child] if units.mode == "probe" else factor
        if near is not None and units.mode == "match":
            tried = keys[parent][child] * near[parent][child]
        # Nothing is sorted for the first input that is asked, whichever it is.
        cost = units.lookup * runs[child] + units.sort + pair * tried or 1e-300
        return Group((factor - 1) / cost, factor, cost, (child,))

    def below(parent: int, child: int) -> list[Group]:
        """The groups of a branch, by rising ranks, the child in the first."""
        if (parent, child) not in known:
            first, rest = single(parent, child), merged(child, parent)
            taken = 0
            for group in rest:
                if first.rank <= group.rank:
                    break
                first, taken = first.then(group), taken + 1
            known[parent, child] = [first, *rest[taken:]]
        return known[parent, child]

    def merged(root: int, besides: int) -> list[Group]:
        groups = [group for near in tree[root] if near != besides for group in below(root, near)]
        # Sorting keeps equal ranks of a branch in their order.
        return sorted(groups, key=_RANK)

    return [
        (root, *(each for group in merged(root, -1) for each in group.inputs))
        for root in range(len(tree))
    ]
