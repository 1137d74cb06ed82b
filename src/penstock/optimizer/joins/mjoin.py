"""MJoin: all inputs of a join at once.

By which edge an input finds the others is a choice: by the one that shares most keys with it. Keys
that are equal to a third are equal to each other; and where two inputs have no band of their own,
the bands on the way between them add up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from penstock.kernel.joins.mjoin import MEdge, MJoinSpec, equality
from penstock.kernel.joins.spec import CarriedSpec, SideSpec
from penstock.model.expressions import Call, Expression, Literal, Ref
from penstock.model.joins import qualified
from penstock.model.types import Type
from penstock.plan import nodes
from penstock.windows import Band, JoinBand, TumblingBand


def mjoin_spec(join: nodes.Join) -> MJoinSpec | None:
    """What MJoin is asked for; None: an input is timed by two columns, which it cannot do."""
    times = [qualified(name, on) for name, on in zip(join.names, join.on, strict=True)]
    if any(edge.left not in times for edge in join.edges):
        return None
    refs = {column.name: Ref(column.name, column.type) for column in join.schema}
    ends = ((_owner(join, edge.left), _owner(join, edge.right)) for edge in join.edges)
    bands = [MEdge(each, edge.band) for each, edge in zip(ends, join.edges, strict=True)]
    equalities = [(refs[left], refs[right]) for left, right in join.equalities]
    edges, conditions = [], [*map(equality, equalities), *join.conditions]
    for edge in bands:
        best = _best(join, refs, edge, bands)
        edges.append(best)
        if best.ends != edge.ends and isinstance(edge.band, Band):
            left, right = (refs[times[end]] for end in edge.ends)
            conditions += _within(left, right, edge.band)
    output, inputs = join.schema.names, side_specs(join)
    return MJoinSpec(inputs, tuple(edges), tuple(conditions), output, join.times, tuple(bands))


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


def _owner(join: nodes.Join, column: str) -> int:
    return join.origin(column).child


def _best(join: nodes.Join, refs: Mapping[str, Ref], edge: MEdge, bands: list[MEdge]) -> MEdge:
    """The edge by which its second input is found: its own, or one that shares more keys."""
    first, last = edge.ends
    best = replace(edge, keys=_keys(join, refs, first, last))
    for other in range(last):
        keys = _keys(join, refs, other, last)
        band = _added_up(other, last, bands) if len(keys) > len(best.keys) else None
        if band is not None:
            best = MEdge((other, last), band, keys)
    return best


def _keys(
    join: nodes.Join, refs: Mapping[str, Ref], left: int, right: int
) -> tuple[tuple[Ref, Ref], ...]:
    """The columns of two inputs that must be equal, directly or through others."""
    found = []
    for pair in join.equalities:
        one, other = (refs[column] for column in pair)
        ends = tuple(_owner(join, column) for column in pair)
        if one.type is not other.type and ends == (left, right):
            found.append((one, other))
    for group in join.keys:
        mine, theirs = (
            sorted(qualified(join.names[end], each.column) for each in group if each.child == end)
            for end in (left, right)
        )
        if mine and theirs:
            found.append((refs[mine[0]], refs[theirs[0]]))
    return tuple(found)


def _added_up(start: int, goal: int, bands: list[MEdge]) -> JoinBand | None:
    """The band between two inputs that follows from those on the way; None: none does."""
    found: dict[int, JoinBand] = {start: Band(0, 0)}
    reached = [start]
    for at in reached:
        for edge in bands:
            for side in (0, 1):
                next_ = edge.ends[1 - side]
                if edge.ends[side] == at and next_ not in found:
                    band = _further(found[at], edge.band, side, is_first=at == start)
                    if band is not None:
                        found[next_] = band
                        reached.append(next_)
    return found.get(goal)


def _further(band: JoinBand, by: JoinBand, side: int, *, is_first: bool) -> JoinBand | None:
    if isinstance(by, TumblingBand):
        # Who shares a window with one shares it with all who do.
        return by if is_first or band == by else None
    if isinstance(band, TumblingBand):
        return None
    low, high = (by.low, by.high) if side == 0 else (-by.high, -by.low)
    return Band(band.low + low, band.high + high)


def _within(left: Ref, right: Ref, band: Band) -> list[Expression]:
    """The band of two timestamps as conditions."""
    of = Type.INTERVAL if left.type.is_time else Type.BIGINT
    low, high = (Call("+", (left, Literal(end, of))) for end in (band.low, band.high))
    return [Call(">=", (right, low)), Call("<=", (right, high))]
