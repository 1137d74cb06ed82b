"""MJoin: all inputs of a join at once.

By which edge an input finds the others is a choice: by the one that shares most keys with it. Keys
that are equal to a third are equal to each other; and where two inputs have no band of their own,
the bands on the way between them add up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

from penstock.kernel.joins.mjoin import MEdge, MJoinSpec, equality
from penstock.kernel.joins.reach import Reach
from penstock.kernel.joins.spec import CarriedSpec, SideSpec
from penstock.model.distances import within
from penstock.model.expressions import Ref
from penstock.model.joins import qualified
from penstock.optimizer.joins.nearness import Nearness, width
from penstock.plan import nodes
from penstock.windows import Band, JoinBand


def mjoin_spec(join: nodes.Join) -> MJoinSpec:
    """What MJoin is asked for."""
    found = _Edges(join)
    said = [found.of(edge) for edge in join.edges]
    edges = [found.best(edge) for edge in said]
    further = [*dict.fromkeys(found.further(edges))]
    equalities = [(found.refs[left], found.refs[right]) for left, right in join.equalities]
    conditions = [*map(equality, equalities), *join.conditions]
    for edge, best, (left, right) in zip(said, edges, found.times, strict=True):
        # Where there are more edges than it takes, rows may come by others.
        if (further or best.ends != edge.ends) and isinstance(edge.band, Band):
            refs = (found.refs[left], found.refs[right])
            conditions += within(*refs, edge.band.low, edge.band.high)
    return MJoinSpec(
        side_specs(join),
        (*edges, *further),
        tuple(conditions),
        join.schema.names,
        join.times,
        tuple(MEdge(ends, band) for ends, band in found.bands),
        join.orders,
    )


def reach_of(join: nodes.Join) -> Reach:
    """How far apart rows of its inputs can lie, as its operator has it."""
    if len(join.inputs) == 2:
        return Reach(2, [((0, 1), join.edges[0].band)])
    return Reach(len(join.inputs), _Edges(join).bands)


def side_specs(join: nodes.Join) -> tuple[SideSpec, ...]:
    """The inputs of a join, in the kernel's words."""
    carried: list[list[CarriedSpec]] = [[] for _ in join.inputs]
    for column, way in join.carried.items():
        child, own = join.origin(column)
        carried[child].append(CarriedSpec(own, way))
    return tuple(
        SideSpec(name, child.schema.columns, on, tuple(further))
        for name, child, on, further in zip(join.names, join.inputs, join.on, carried, strict=True)
    )


class _Edges:
    """The edges between inputs of a join."""

    def __init__(self, join: nodes.Join) -> None:
        self._join = join
        self._near = Nearness(join)
        self.refs = {column.name: Ref(column.name, column.type) for column in join.schema}

    @property
    def times(self) -> Iterator[tuple[str, str]]:
        return ((edge.left, edge.right) for edge in self._join.edges)

    @property
    def bands(self) -> list[tuple[tuple[int, int], JoinBand]]:
        """How far apart the times of any two inputs can lie."""
        times = self._join.times
        pairs = combinations(range(len(times)), 2)
        return [((i, j), self._near.band(times[i], times[j])) for i, j in pairs]

    def of(self, edge: nodes.Edge) -> MEdge:
        """The kernel's word for an edge, without keys."""
        ends = (self._owner(edge.left), self._owner(edge.right))
        own = tuple(self._join.times[end] for end in ends)
        times = () if own == (edge.left, edge.right) else (edge.left, edge.right)
        return MEdge(ends, edge.band, (), times)

    def best(self, edge: MEdge) -> MEdge:
        """The edge by which its second input is found: its own, or one that shares more keys."""
        first, last = edge.ends
        best = replace(edge, keys=self._keys(first, last))
        for other in range(last):
            keys = self._keys(other, last)
            if len(keys) > len(best.keys):
                best = replace(self._nearest(other, last), keys=keys)
        return best

    def further(self, edges: list[MEdge]) -> Iterator[MEdge]:
        """What is missing for inputs to meet others in a given order: most keys, then nearest."""
        there = {(start, goal) for edge in edges for start, goal in (edge.ends, edge.ends[::-1])}
        for port, order in enumerate(self._join.orders):
            for place, goal in enumerate(order):
                seen = (port, *order[:place])
                if any((start, goal) in there for start in seen):
                    continue
                ends = (tuple(sorted((start, goal))) for start in seen)
                made = (replace(self._nearest(*e), keys=self._keys(*e)) for e in ends)
                yield min(made, key=lambda edge: (-len(edge.keys), width(edge.band)))

    def _nearest(self, left: int, right: int) -> MEdge:
        times = self._near.times
        return self.of(self._near.nearest(times[left], times[right]))

    def _owner(self, column: str) -> int:
        return self._join.origin(column).child

    def _keys(self, left: int, right: int) -> tuple[tuple[Ref, Ref], ...]:
        """The columns of two inputs that must be equal, directly or through others."""
        ends = (left, right)
        join, refs, found = self._join, self.refs, []
        for pair in join.equalities:
            one, other = (refs[column] for column in pair)
            if one.type is not other.type and tuple(map(self._owner, pair)) == ends:
                found.append((one, other))
        for group in join.keys:
            mine, theirs = (
                sorted(qualified(join.names[end], c.column) for c in group if c.child == end)
                for end in ends
            )
            if mine and theirs:
                found.append((refs[mine[0]], refs[theirs[0]]))
        return tuple(found)
