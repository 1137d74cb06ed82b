"""Joins of several inputs as one: a tree of binary inner joins, taken apart for MJoin.

Binary joins nest: `(a, b), c` calls the columns of a `a_b.a.k`. Here every input gets all that
stands before its columns at once, and conditions of the inner joins are rewritten to the names that
the outermost has. Every binary join brings one edge: the two timestamps of its band, and the keys
that must be equal on these two inputs; all else is a condition.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any

from penstock.kernel.joins.mjoin import MEdge, MInput, MJoinSpec, equality
from penstock.model.expressions import Expression, Named, Ref
from penstock.model.joins import JoinKind
from penstock.plan import nodes
from penstock.windows import JoinBand


@dataclass(frozen=True)
class Multiway:
    """A tree of joins as one: its inputs, and what is asked of them."""

    inputs: tuple[nodes.Node, ...]
    spec: MJoinSpec


@dataclass
class _Parts:
    inputs: list[tuple[nodes.Node, str]] = field(default_factory=list)  # with what stands before
    bands: list[tuple[str, str, JoinBand]] = field(default_factory=list)
    equalities: list[tuple[Ref, Ref]] = field(default_factory=list)
    conditions: list[Expression] = field(default_factory=list)


def multiway(join: nodes.WindowJoin) -> Multiway | None:
    """The join with those below it as one, if it has three inputs or more."""
    parts = _Parts()
    _collect(join, "", parts)
    if len(parts.inputs) < 3:
        return None
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
    edges = tuple(
        MEdge(
            (owner[left], owner[right]),
            band,
            tuple(
                pair
                for pair in (_turned(each, owner, owner[left]) for each in parts.equalities)
                if (owner[pair[0].name], owner[pair[1].name]) == (owner[left], owner[right])
            ),
        )
        for left, right, band in parts.bands
    )
    inputs = tuple(
        MInput(prefix, node.schema.columns, times[number].removeprefix(prefix))
        for number, (node, prefix) in enumerate(parts.inputs)
    )
    conditions = (*map(equality, parts.equalities), *parts.conditions)
    promised = tuple(sorted(join.schema.progressing))
    spec = MJoinSpec(inputs, edges, conditions, join.schema.names, promised)
    return Multiway(tuple(node for node, _ in parts.inputs), spec)


def _turned(pair: tuple[Ref, Ref], owner: dict[str, int], first: int) -> tuple[Ref, Ref]:
    """The pair with a column of that input first, if it has one."""
    return pair if owner[pair[0].name] == first else (pair[1], pair[0])


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
                parts.conditions.append(_prefixed(node.residual, prefix))
        case nodes.Select() if _has_join(node.input):
            parts.conditions.append(_prefixed(node.predicate, prefix))
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
