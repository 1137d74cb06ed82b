"""Box: joins of a graph that hang together, from one that others read down to their leaves.

A leaf is an input that is no inner join: a stream, an aggregate, an outer join. Columns of all have
names of their own, `name.column`, from the leaf to the result, so a leaf is called by the column
that carries its time, whatever the shape of the joins is; and what an operator stores of an input
is called by the leaves that its rows are made of.

                    d                 the upper join stores {a, b, c} and {d},
             c     /                  the one in the middle {a, b} and {c},
       a  b /     /                   the lower one {a} and {b}
       (OAJoin)  /
          (OAJoin)
             (OAJoin)

Between joins stand projections that leave out columns. Below a leaf conditions may be tested that
another box tests above its joins: they are part of what is stored (`tested`).
Spec: dynamic-optimization 3.1, 3.2, 3.5.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import polars as pl

from penstock.kernel.graph import GraphNode
from penstock.kernel.joins.mjoin import MJoinSpec, equality
from penstock.kernel.joins.partners import widest
from penstock.kernel.joins.reach import Reach
from penstock.kernel.joins.spec import JoinSpec, SideSpec
from penstock.kernel.joins.window_join import WindowJoin
from penstock.kernel.operators.project import Project
from penstock.kernel.operators.select import Select
from penstock.model.distances import Distance, bound_of
from penstock.model.expressions import Call, Expression, Ref, conjuncts, substituted
from penstock.model.joins import JoinKind
from penstock.windows import Band, JoinBand


@dataclass(frozen=True, eq=False)
class BoxInput:
    """An input of a join; `child` is the join whose results it gets, through `between`."""

    node: GraphNode
    port: int
    on: str  # the column that carries its time, as results call it
    leaves: frozenset[str]
    child: GraphNode | None = None
    between: tuple[GraphNode, ...] = ()  # the lowest first
    tested: Mapping[str, Expression] = field(default_factory=dict)  # of a leaf, by their text

    @property
    def join(self) -> WindowJoin:
        return join_at(self.node)

    @property
    def columns(self) -> set[str]:
        """Its columns as they come."""
        return {column.name for column in sides_of(self.join.spec)[self.port].columns}

    def stored(self) -> Iterator[pl.DataFrame]:
        """Its rows that the join keeps."""
        index = next(each for each in self.join.inputs.indexes if each.port == self.port)
        return iter(self.join.state.table(index.table))


@dataclass(frozen=True, eq=False)
class Box:
    """Joins below a node, those whose results others read first."""

    root: GraphNode
    above: tuple[GraphNode, ...]  # from the topmost join to the root, a row at a time
    joins: tuple[GraphNode, ...]
    inputs: Mapping[tuple[GraphNode, int], BoxInput]
    _bands: tuple[tuple[str, str, JoinBand], ...] = field(default=())

    @cached_property
    def leaves(self) -> dict[str, BoxInput]:
        """The inputs that are no joins, by what they are called."""
        return {each.on: each for each in self.inputs.values() if each.child is None}

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {leaf: number for number, leaf in enumerate(self.leaves)}

    @cached_property
    def _reach(self) -> Reach:
        number = self._numbers
        edges = [((number[one], number[other]), band) for one, other, band in self._bands]
        return Reach(len(number), edges)

    @cached_property
    def by_leaves(self) -> dict[frozenset[str], BoxInput]:
        """The inputs of its joins by what their rows are made of."""
        return {each.leaves: each for each in self.inputs.values()}

    def inputs_of(self, node: GraphNode) -> Iterator[BoxInput]:
        return (self.inputs[node, port] for port in range(join_at(node).ports))

    def bound(self, leaf: str) -> int:
        """Nothing of a leaf below is joined any more."""
        at = self.leaves[leaf]
        return at.join.state.bounds[at.port]

    def keep_from(self, on: str, leaves: Collection[str]) -> int:
        """The first time of rows that can be in a result with a row to come of other leaves.

        `on` carries the time of the rows, `leaves` are those that they are made of.
        """
        first, number = self._reach.first, self._numbers
        others = (leaf for leaf in self.leaves if leaf not in leaves)
        return min(first(number[on], number[leaf], self.bound(leaf)) for leaf in others)

    def tested(self, leaves: Collection[str]) -> dict[str, Expression]:
        """What is asked of single rows of these leaves before they are stored, by its text."""
        found: dict[str, Expression] = {}
        for leaf in sorted(leaves):
            found |= self.leaves[leaf].tested
        return found

    def conditions(self, node: GraphNode) -> frozenset[str]:
        """All that a join and those below it ask of rows that belong together."""
        found = _conditions(join_at(node).spec)
        for each in self.inputs_of(node):
            found |= self.conditions(each.child) if each.child is not None else frozenset()
        return found


def join_at(node: GraphNode) -> WindowJoin:
    """The join that a node runs."""
    assert isinstance(node.operator, WindowJoin)
    return node.operator


def is_inner(node: GraphNode) -> bool:
    """Whether a node is a join that can be part of a box."""
    operator = node.operator
    if not isinstance(operator, WindowJoin):
        return False
    return isinstance(operator.spec, MJoinSpec) or operator.spec.kind is JoinKind.INNER


def box_of(root: GraphNode) -> Box | None:
    """The joins below a node; None: it is none, or an input is timed by several columns."""
    top, above = _topmost(root)
    if not is_inner(top):
        return None
    joins: list[GraphNode] = []
    inputs: dict[tuple[GraphNode, int], BoxInput] = {}

    def collect(node: GraphNode) -> frozenset[str]:
        join, all_leaves = join_at(node), frozenset[str]()
        for port, producer in enumerate(producers_of(node)):
            on = join.inputs.times[port]
            child, between = _below(producer)
            tested = _tested(producer, sides_of(join.spec)[port])
            found = BoxInput(node, port, on, frozenset((on,)), tested=tested)
            if is_inner(child):
                found = BoxInput(node, port, on, collect(child), child, between)
            inputs[node, port] = found
            all_leaves |= found.leaves
        joins.append(node)
        return all_leaves

    collect(top)
    bands = [band for node in joins for band in bands_of(join_at(node).spec)]
    times = {*(each.on for each in inputs.values()), *(time for band in bands for time in band[:2])}
    leaves = {each.on for each in inputs.values() if each.child is None}
    if not times <= leaves:
        return None
    bands += [band for node in joins for band in _said(join_at(node).spec) if {*band[:2]} <= leaves]
    # Of several between two leaves, the narrowest counts.
    bands.sort(key=lambda band: widest(band[2]))
    return Box(root, above, tuple(joins), inputs, tuple(bands))


def inputs_at(node: GraphNode) -> Iterator[BoxInput]:
    """The inputs of one join."""
    box = box_of(node)
    return iter(()) if box is None else box.inputs_of(node)


def producers_of(node: GraphNode) -> list[GraphNode]:
    """The nodes whose results a node reads, one for each input."""
    return [p.producers[0] if p.is_fork else p for p in node.producers]


def _below(node: GraphNode) -> tuple[GraphNode, tuple[GraphNode, ...]]:
    """The node whose rows come through projections that only drop columns; and these."""
    passed: list[GraphNode] = []
    at = node
    while isinstance(at.operator, Project) and at.operator.only_drops:
        passed.insert(0, at)
        [at] = producers_of(at)
    return (at, tuple(passed)) if is_inner(at) else (node, ())


def _topmost(root: GraphNode) -> tuple[GraphNode, tuple[GraphNode, ...]]:
    """The join whose rows come to a node one by one, through conditions and projections."""
    at, passed = _below(root)
    while not is_inner(at) and isinstance(at.operator, Select | Project):
        [below] = producers_of(at)
        between = (at, *passed)
        at, passed = _below(below)
        passed = (*passed, *between)
    return (at, passed) if is_inner(at) else (root, ())


def _tested(leaf: GraphNode, side: SideSpec) -> dict[str, Expression]:
    """The conditions that rows of a leaf have met on their way, under the names of its join."""
    found: dict[str, Expression] = {}
    at = leaf
    while isinstance(at.operator, Select | Project):
        if isinstance(at.operator, Select):
            for each in conjuncts(at.operator.condition.expression):
                named = substituted(each, side.qualified)
                found[_text(named)] = named
        elif not at.operator.only_drops:
            break
        [at] = producers_of(at)
    return found


def bands_of(spec: JoinSpec | MJoinSpec) -> Iterator[tuple[str, str, JoinBand]]:
    """The pairs of times that lie within bands of each other."""
    times = [side.column(side.on) for side in sides_of(spec)]
    if isinstance(spec, JoinSpec):
        yield times[0], times[1], spec.band
        return
    for edge in spec.bands or spec.edges:
        one, other = edge.times or (times[end] for end in edge.ends)
        yield one, other, edge.band


def sides_of(spec: JoinSpec | MJoinSpec) -> Sequence[SideSpec]:
    """The inputs of a join."""
    return spec.inputs if isinstance(spec, MJoinSpec) else spec.sides


def _said(spec: JoinSpec | MJoinSpec) -> Iterator[tuple[str, str, JoinBand]]:
    """The bands that conditions say."""
    found: dict[tuple[str, str], Distance] = {}
    for condition in _all_conditions(spec):
        said = bound_of(condition)
        if said is not None:
            said = said if said.first < said.second else said.mirrored()
            pair = said.first, said.second
            found[pair] = said.narrowed(found.get(pair, said))
    for (one, other), said in found.items():
        if said.low is not None and said.high is not None and said.low <= said.high:
            yield one, other, Band(said.low, said.high)


def _all_conditions(spec: JoinSpec | MJoinSpec) -> list[Expression]:
    if isinstance(spec, MJoinSpec):
        return [part for each in spec.conditions for part in conjuncts(each)]
    return list(conjuncts(spec.residual))


def _conditions(spec: JoinSpec | MJoinSpec) -> frozenset[str]:
    found = [_band(*each) for each in bands_of(spec)] + [*map(_text, _all_conditions(spec))]
    if isinstance(spec, JoinSpec):
        left, right = spec.sides
        pairs = (equality((left.ref(one), right.ref(other))) for one, other in spec.equalities)
        found += map(_text, pairs)
    return frozenset(found)


def _band(one: str, other: str, band: JoinBand) -> str:
    return f"{one} {other} {band!r}"


def _text(condition: Expression) -> str:
    """A condition; of one that columns are equal there is one text."""
    match condition:
        case Call("=", (Ref(one), Ref(other))):
            return " = ".join(sorted((one, other)))
    return str(condition)
