"""Shape: a join of several inputs as joins of any shape, with the same rows.

    Join a, b, c, d         ((a, b), c, d)         Join (a, b), c, d
                                                     Join a, b

Every condition is tested as soon as its columns are there, and so is every band: one pair of times
times an input of an operator, the others are conditions. Where two inputs have no band of their
own, the one that follows from others bounds them, and columns that are equal to a third are equal
to each other. Joins that begin alike share that.  Spec: dynamic-optimization 1.3, 2.1, 8.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from penstock.model.distances import Distance, bound_of, within
from penstock.model.expressions import Expression, Ref
from penstock.model.joins import qualified
from penstock.optimizer.joins.join_tree import Branch, JoinTree, leaves_of, left_deep
from penstock.optimizer.joins.nearness import Nearness, mirrored, width
from penstock.optimizer.joins.outer_last import with_columns_of
from penstock.plan.nodes import Edge, Join, Node
from penstock.windows import Band


def shaped(join: Join, tree: JoinTree, notes: Mapping[Branch, str] | None = None) -> Node:
    """The same rows from joins in the shape of a tree over the numbers of the inputs.

    `notes` say why, by operator.
    """
    assert sorted(leaves_of(tree)) == [*range(len(join.inputs))], f"{tree} is not over all inputs"
    assert isinstance(tree, Branch)
    return with_columns_of(join, _Shaping(join, notes or {}).joined(tree))


def two_by_two(join: Join) -> Join:
    """The same rows from joins of two inputs each, in the order in which they are written."""
    made = shaped(join, left_deep(len(join.inputs)))
    assert isinstance(made, Join)
    return made


Group = frozenset[int]
"""Inputs that are one input of an operator."""


class _Shaping:
    """What of a join is still to be said, while joins are made of it from below."""

    def __init__(self, join: Join, notes: Mapping[Branch, str]) -> None:
        self._join = join
        self._notes = notes
        self._near = Nearness(join)
        self._edges = [(self._owner(e.left), self._owner(e.right), e) for e in join.edges]
        self._conditions = [(self._inputs_of(each.refs), each) for each in join.conditions]

    def joined(self, branch: Branch) -> Join:
        join = self._join
        # From below: what is said there need not be said again.
        inputs = [
            join.inputs[each] if isinstance(each, int) else self.joined(each)
            for each in branch.inputs
        ]
        groups = [frozenset(leaves_of(each)) for each in branch.inputs]
        edges = [
            self._edge(frozenset[int]().union(*groups[:place]), groups[place])
            for place in range(1, len(groups))
        ]
        return Join(
            tuple(inputs),
            tuple(join.names[each] if isinstance(each, int) else "" for each in branch.inputs),
            tuple(edges),
            tuple(self._equalities(groups)),
            (*self._tested(groups, edges), *self._bands(groups)),
            join.kind,
            branch.orders,
            self._notes.get(branch, ""),
        )

    def _owner(self, column: str) -> int:
        return self._join.origin(column).child

    def _inputs_of(self, columns: frozenset[str]) -> Group:
        return frozenset(map(self._owner, columns))

    # -- time ---------------------------------------------------------------------------------

    def _edge(self, seen: Group, group: Group) -> Edge:
        """The band by which an operator brings in its next input."""
        ahead = [edge for left, right, edge in self._edges if left in seen and right in group]
        behind = [edge for left, right, edge in self._edges if right in seen and left in group]
        if ahead or behind:
            best = min([*ahead, *behind], key=lambda edge: width(edge.band))
            self._edges = [each for each in self._edges if each[-1] is not best]
            return best if best in ahead else _turned(best)
        times = self._near.times
        lefts, rights = (
            [column for each in sorted(some) for column in times[each]] for some in (seen, group)
        )
        return self._near.nearest(lefts, rights)

    def _bands(self, groups: Sequence[Group]) -> Iterator[Expression]:
        """Bands that are of no operator's inputs, as conditions."""
        there = frozenset[int]().union(*groups)
        for left, right, edge in [*self._edges]:
            if {left, right} <= there:
                self._edges.remove((left, right, edge))
                # Times of one window are there with a third that lies in it.
                if isinstance(edge.band, Band):
                    first, second = (
                        Ref(c, self._join.schema[c].type) for c in (edge.left, edge.right)
                    )
                    yield from within(first, second, edge.band.low, edge.band.high)

    # -- keys and conditions ------------------------------------------------------------------

    def _equalities(self, groups: Sequence[Group]) -> Iterator[tuple[str, str]]:
        """What must be equal of two inputs of an operator: as said, then what follows from that."""
        place = {each: number for number, group in enumerate(groups) for each in group}
        said = []
        for pair in self._join.equalities:
            ends = [place.get(self._owner(column), -1) for column in pair]
            if min(ends) >= 0 and ends[0] != ends[1]:
                said.append(pair if ends[0] < ends[1] else (pair[1], pair[0]))
        yield from said
        for key in self._join.keys:
            columns = [qualified(self._join.names[each.child], each.column) for each in key]
            there = {
                column: place[self._owner(column)]
                for column in columns
                if self._owner(column) in place
            }
            yield from _connecting(there, [pair for pair in said if {*pair} <= there.keys()])

    def _tested(self, groups: Sequence[Group], edges: Sequence[Edge]) -> Iterator[Expression]:
        """The conditions whose columns are there, but for what bands say."""
        there = frozenset[int]().union(*groups)
        ready = [condition for of, condition in self._conditions if of <= there]
        self._conditions = [each for each in self._conditions if not each[0] <= there]
        for condition in ready:
            distance = bound_of(condition)
            if distance is None or not any(_says(edge, distance) for edge in edges):
                yield condition


def _turned(edge: Edge) -> Edge:
    return Edge(edge.right, edge.left, mirrored(edge.band))


def _says(edge: Edge, distance: Distance) -> bool:
    """Whether times that lie within a band lie within a distance."""
    if (distance.second, distance.first) == (edge.left, edge.right):
        distance = distance.mirrored()
    if (distance.first, distance.second) != (edge.left, edge.right):
        return False
    band = edge.band
    return isinstance(band, Band) and not (
        (distance.low is not None and distance.low > band.low)
        or (distance.high is not None and distance.high < band.high)
    )


def _connecting(
    columns: dict[str, int], said: Sequence[tuple[str, str]]
) -> Iterator[tuple[str, str]]:
    """Pairs of equal columns that connect the inputs they are of, where what is said does not.

    >>> list(_connecting({"a.k": 0, "b.k": 1, "c.k": 2}, [("b.k", "c.k")]))
    [('a.k', 'b.k')]
    """
    parts = {place: {place} for place in columns.values()}

    def connect(one: int, other: int) -> None:
        both = parts[one] | parts[other]
        parts.update(dict.fromkeys(both, both))

    for one, other in said:
        connect(columns[one], columns[other])
    ordered = sorted(columns, key=lambda column: columns[column])
    for column in ordered[1:]:
        first = ordered[0]
        if columns[column] not in parts[columns[first]]:
            yield first, column
            connect(columns[first], columns[column])
