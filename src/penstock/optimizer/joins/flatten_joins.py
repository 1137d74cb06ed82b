"""Joins of several inputs as one: a tree of binary inner joins, taken apart for MJoin.

Binary joins nest: `(a, b), c` calls the columns of a `a_b.a.k`. Here every input gets all that
stands before its columns at once, and conditions of the inner joins are rewritten to the names that
the outermost has. Every binary join brings the band of two timestamps.

By which edge an input finds the others is a choice: by the one that shares most keys with it. Keys
that are equal to a third are equal to each other; and where two inputs have no band of their own,
the bands on the way between them add up.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

from penstock.errors import PenstockBug
from penstock.kernel.joins.mjoin import MEdge, MInput, MJoinSpec, equality
from penstock.model.expressions import Call, Expression, Literal, Named, Ref
from penstock.model.joins import JoinKind
from penstock.model.types import Type
from penstock.plan import nodes
from penstock.windows import Band, JoinBand, TumblingBand


@dataclass
class _Parts:
    inputs: list[tuple[nodes.Node, str]] = field(default_factory=list)  # with what stands before
    bands: list[tuple[str, str, JoinBand]] = field(default_factory=list)
    equalities: list[tuple[Ref, Ref]] = field(default_factory=list)
    conditions: list[tuple[Expression, str]] = field(default_factory=list)  # and what to prefix


@dataclass(frozen=True)
class FlatJoin:
    """A tree of joins as one: its inputs, and what is asked of them."""

    join: nodes.WindowJoin
    parts: _Parts
    owner: dict[str, int]  # column -> number of its input
    times: dict[int, str]  # number of an input -> the column that times it

    @property
    def inputs(self) -> tuple[nodes.Node, ...]:
        return tuple(node for node, _ in self.parts.inputs)

    @cached_property
    def spec(self) -> MJoinSpec:
        """What MJoin is asked for: of interest to whoever builds it, not to whoever only asks."""
        parts, owner, times = self.parts, self.owner, self.times
        bands = [MEdge((owner[left], owner[right]), band) for left, right, band in parts.bands]
        refs = {c: Ref(c, _type_of(c, parts)) for c in times.values()}
        alike = _alike(parts.equalities)
        edges, conditions = [], [*map(equality, parts.equalities)]
        conditions += (_prefixed(condition, prefix) for condition, prefix in parts.conditions)
        for edge in bands:
            best = _best(edge, bands, parts.equalities, alike, owner)
            edges.append(best)
            if best.ends != edge.ends and isinstance(edge.band, Band):
                left, right = (refs[times[end]] for end in edge.ends)
                conditions += _within(left, right, edge.band)
        inputs = tuple(
            MInput(prefix, node.schema.columns, times[number].removeprefix(prefix))
            for number, (node, prefix) in enumerate(parts.inputs)
        )
        promised = tuple(sorted(self.join.schema.progressing))
        output = self.join.schema.names
        return MJoinSpec(inputs, tuple(edges), tuple(conditions), output, promised, tuple(bands))


def flatten_joins(join: nodes.WindowJoin) -> FlatJoin | None:
    """The join with those below it as one, if it has three inputs or more."""
    if not joins_several(join):
        return None
    parts = _Parts()
    _collect(join, "", parts)
    owner = {
        f"{prefix}{column.name}": number
        for number, (node, prefix) in enumerate(parts.inputs)
        for column in node.schema
    }
    times: dict[int, str] = {}
    for pair in parts.bands:
        for time in pair[:2]:
            if times.setdefault(owner[time], time) != time:
                return None  # an input that is timed by two columns
    return FlatJoin(join, parts, owner, times)


def joins_several(join: nodes.WindowJoin) -> bool:
    """Whether three inputs or more are joined here; cheap, where all of `multiway` is not needed.

    Only the left side is taken apart, as joins are written.
    """
    return join.kind is JoinKind.INNER and _has_join(join.left)


def _best(
    edge: MEdge,
    bands: list[MEdge],
    equalities: list[tuple[Ref, Ref]],
    alike: list[set[Ref]],
    owner: dict[str, int],
) -> MEdge:
    """The edge by which its second input is found: its own, or one that shares more keys."""
    first, last = edge.ends
    best = replace(edge, keys=_keys(first, last, equalities, alike, owner))
    for other in range(last):
        keys = _keys(other, last, equalities, alike, owner)
        band = _added_up(other, last, bands) if len(keys) > len(best.keys) else None
        if band is not None:
            best = MEdge((other, last), band, keys)
    return best


def _alike(equalities: list[tuple[Ref, Ref]]) -> list[set[Ref]]:
    """Columns of one type that must be equal to each other, directly or through others."""
    alike: list[set[Ref]] = []
    for one, other in equalities:
        if one.type is other.type:
            met = [group for group in alike if group & {one, other}]
            alike = [group for group in alike if group not in met]
            alike.append(set().union({one, other}, *met))
    return alike


def _keys(
    left: int,
    right: int,
    equalities: list[tuple[Ref, Ref]],
    alike: list[set[Ref]],
    owner: dict[str, int],
) -> tuple[tuple[Ref, Ref], ...]:
    """The columns of two inputs that must be equal, directly or through others."""
    found = []
    for one, other in equalities:
        of_both = {owner[one.name], owner[other.name]} == {left, right}
        if one.type is not other.type and of_both:
            found.append((one, other) if owner[one.name] == left else (other, one))
    for group in alike:
        mine, theirs = (
            sorted((ref for ref in group if owner[ref.name] == end), key=lambda ref: ref.name)
            for end in (left, right)
        )
        if mine and theirs:
            found.append((mine[0], theirs[0]))
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
    of = Type.INTERVAL if left.type is Type.TIMESTAMP else Type.BIGINT
    low, high = (Call("+", (left, Literal(end, of))) for end in (band.low, band.high))
    return [Call(">=", (right, low)), Call("<=", (right, high))]


def _type_of(column: str, parts: _Parts) -> Type:
    """The type of a column under its outermost name."""
    for node, prefix in parts.inputs:
        for each in node.schema:
            if f"{prefix}{each.name}" == column:
                return each.type
    raise PenstockBug(f"no input has `{column}`")


def _collect(node: nodes.Node, prefix: str, parts: _Parts) -> None:
    match node:
        case nodes.WindowJoin(kind=JoinKind.INNER):
            before = [f"{prefix}{name}." for name in node.names]
            _collect(node.left, before[0], parts)
            parts.inputs.append((node.right, before[1]))
            times = [f"{p}{on}" for p, on in zip(before, node.on, strict=True)]
            parts.bands.append((times[0], times[1], node.band))
            for mine, theirs in node.equalities:
                left, right = node.left.schema[mine], node.right.schema[theirs]
                pair = (
                    Ref(f"{before[0]}{mine}", left.type),
                    Ref(f"{before[1]}{theirs}", right.type),
                )
                parts.equalities.append(pair)
            if node.residual is not None:
                parts.conditions.append((node.residual, prefix))
        case nodes.Select() if _has_join(node.input):
            parts.conditions.append((node.predicate, prefix))
            _collect(node.input, prefix, parts)
        case nodes.Project() if _has_join(node.input) and all(map(_is_kept, node.columns)):
            _collect(node.input, prefix, parts)
        case _:
            parts.inputs.append((node, prefix))


def _has_join(node: nodes.Node) -> bool:
    """Whether a join follows that can be taken apart."""
    match node:
        case nodes.WindowJoin():
            return node.kind is JoinKind.INNER
        case nodes.Select():
            return _has_join(node.input)
        case nodes.Project():
            return all(map(_is_kept, node.columns)) and _has_join(node.input)
    return False


def _is_kept(column: Named) -> bool:
    """Whether a projection only passes a column on."""
    return isinstance(column.value, Ref) and column.value.name == column.name


def _prefixed(value: Any, prefix: str) -> Any:
    """An expression about columns with something more before their names."""
    if isinstance(value, Ref):
        return Ref(f"{prefix}{value.name}", value.of)
    if isinstance(value, Expression):
        parts = {f.name: getattr(value, f.name) for f in fields(value) if f.init}
        return replace(value, **{name: _prefixed(part, prefix) for name, part in parts.items()})
    if isinstance(value, tuple):
        return tuple(_prefixed(part, prefix) for part in value)
    return value
