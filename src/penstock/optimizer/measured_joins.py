"""Measured joins: what is to be measured of the joins of queries, and at which operators.

Of every two inputs it is asked which share of their pairs have equal keys, where they are joined by
keys, or where that follows from other equalities; so is it known whether another order would be
better. All equalities of two inputs are one key: they need not be independent of each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

from penstock.kernel.statistics.measured_join import (
    MeasuredCondition,
    MeasuredInput,
    MeasuredJoin,
    MeasuredPair,
)
from penstock.model.expressions import Call, Expression, Ref, substituted
from penstock.model.joins import qualified
from penstock.model.timestamps import SECOND
from penstock.optimizer.identity import column_of, digest, identity_of
from penstock.optimizer.joins.flat_join import FlatJoin, flat_join, join_below, merged
from penstock.optimizer.physical import PhysicalPlan, Plans, Queries, walk
from penstock.optimizer.specs import HandoverSpec, OrderSpec, SGBSpec
from penstock.plan import graph
from penstock.plan.nodes import Join, Node, Ordered, WindowAggregate
from penstock.plan.nodes.node import ChildColumn
from penstock.windows import Band, JoinBand


def measured_joins(queries: Queries, plans: Plans) -> dict[MeasuredJoin, tuple[PhysicalPlan, ...]]:
    """By join, the operators whose output its inputs are; a join without such is left out.

    `queries` are those that were rewritten, as the plans compute them.
    """
    joins = joins_of(queries.values())
    if not joins:
        return {}
    known = {_told_of(plan): plan for plan in walk(plans.values()) if plan.label}
    found: dict[str, tuple[MeasuredJoin, tuple[PhysicalPlan, ...]]] = {}
    for join in joins:
        flat = flat_join(join)
        inputs = [known.get(_told(each.node)) for each in flat.inputs]
        there = tuple(each for each in inputs if each is not None)
        if len(there) == len(inputs):
            measured = measured_of(join)
            found.setdefault(measured.key, (measured, there))
    return dict(found.values())


def joins_of(queries: Iterable[Node]) -> list[Join]:
    """The joins that are not parts of others."""
    joins = [node for node in graph.walk(*queries) if isinstance(node, Join)]
    parts = {part for join in joins for part in merged(join) if part is not None}
    return [join for join in joins if join not in parts]


#: Where a join keeps what is to be measured of it: whenever a query comes, all joins are asked.
_KNOWN = "_measured"


def measured_of(join: Join) -> MeasuredJoin:
    """What is to be measured of a join as it is asked for."""
    known = vars(join)
    if _KNOWN not in known:
        known[_KNOWN] = measured_join(flat_join(join))
    found = known[_KNOWN]
    assert isinstance(found, MeasuredJoin)
    return found


def measured_join(flat: FlatJoin) -> MeasuredJoin:
    """What is to be measured of one join."""
    shifts = _shifts(flat)
    inputs = tuple(
        MeasuredInput(
            digest(identity_of(each.node)),
            title_of(each.node),
            each.name,
            each.node.schema.columns,
            each.on,
            shift,
        )
        for each, shift in zip(flat.inputs, shifts, strict=True)
    )
    is_time = flat.inputs[0].node.schema[flat.inputs[0].on].type.is_time
    width = max(_width(edge.band) for edge in flat.edges)
    pairs = tuple(_pairs(flat))
    conditions = tuple(_conditions(flat))
    return MeasuredJoin(inputs, pairs, conditions, max(width, SECOND if is_time else 1), is_time)


def title_of(node: Node) -> str:
    """What people call the rows of a node: in full it is what tells them from others."""
    below = join_below(node)
    name = identity_of(node) if below is None else _join_title(below)
    return name if len(name) <= 60 else f"{name[:57]}…"


def _join_title(join: Join) -> str:
    """A join by its kind and inputs, such as `a left join b`."""
    kind = f" {join.kind.value} join "
    return kind.join(each.name or title_of(each.node) for each in flat_join(join).inputs)


# -- windows ------------------------------------------------------------------------------------


def _width(band: JoinBand) -> int:
    return band.high - band.low if isinstance(band, Band) else band.width


def _shifts(flat: FlatJoin) -> list[int]:
    """How much later than the first input's the rows of each are that meet, in the middle."""
    origins, shifts = flat.origins(), {0: 0}
    waiting = list(flat.edges)
    while waiting:
        left = list(waiting)
        for edge in left:
            ends = [origins[column].child for column in (edge.left, edge.right)]
            middle = (edge.band.low + edge.band.high) // 2 if isinstance(edge.band, Band) else 0
            if ends[0] in shifts:
                shifts.setdefault(ends[1], shifts[ends[0]] + middle)
            elif ends[1] in shifts:
                shifts[ends[0]] = shifts[ends[1]] - middle
            else:
                continue
            waiting.remove(edge)
        if len(waiting) == len(left):
            break
    return [shifts.get(number, 0) for number in range(len(flat.inputs))]


# -- keys ---------------------------------------------------------------------------------------


def _by_input(flat: FlatJoin, value: Expression) -> tuple[int, ...]:
    """The inputs that something is computed of."""
    origins = flat.origins()
    return tuple(sorted({origins[ref].child for ref in value.refs}))


def _equal(flat: FlatJoin) -> dict[tuple[int, int], list[tuple[Expression, Expression]]]:
    """By two inputs, what must be equal of them, over the columns of the join."""
    schemas = [each.node.schema for each in flat.inputs]
    types = {name: schemas[of.child][of.column].type for name, of in flat.origins().items()}
    pairs: list[tuple[Expression, Expression]] = [
        (Ref(left, types[left]), Ref(right, types[right])) for left, right in flat.equalities
    ]
    pairs += [
        (condition.args[0], condition.args[1])
        for condition in flat.conditions
        if isinstance(condition, Call) and condition.function == "="
    ]
    found: dict[tuple[int, int], list[tuple[Expression, Expression]]] = {}
    for one, other in pairs:
        ends = _by_input(flat, one), _by_input(flat, other)
        if all(len(end) == 1 for end in ends) and ends[0] != ends[1]:
            (i,), (j,) = ends
            found.setdefault((min(i, j), max(i, j)), []).append(
                (one, other) if i < j else (other, one)
            )
    return found


def _pairs(flat: FlatJoin) -> Iterable[MeasuredPair]:
    written = _equal(flat)
    groups = _groups(flat)
    for ends in combinations(range(len(flat.inputs)), 2):
        if ends in written:
            yield _pair(flat, ends, written[ends], implied=False)
            continue
        shared = [
            [next((ref for ref in group if _by_input(flat, ref) == (end,)), None) for end in ends]
            for group in groups
        ]
        equal = [(one, other) for one, other in shared if one is not None and other is not None]
        if equal:
            yield _pair(flat, ends, equal, implied=True)


def _groups(flat: FlatJoin) -> list[list[Ref]]:
    """Columns of one type that must be equal to each other, directly or through others."""
    groups: list[list[Ref]] = []
    for pairs in _equal(flat).values():
        for one, other in pairs:
            if isinstance(one, Ref) and isinstance(other, Ref) and one.type is other.type:
                met = [group for group in groups if one in group or other in group]
                refs = dict.fromkeys((*(ref for group in met for ref in group), one, other))
                groups = [group for group in groups if group not in met] + [list(refs)]
    return groups


def _pair(
    flat: FlatJoin,
    ends: tuple[int, int],
    equal: Sequence[tuple[Expression, Expression]],
    *,
    implied: bool,
) -> MeasuredPair:
    own = [tuple(_own(flat, value) for value in pair) for pair in equal]
    nodes = [flat.inputs[end].node for end in ends]
    named = [
        tuple(column_of(node, value) for node, value in zip(nodes, pair, strict=True))
        for pair in own
    ]
    sides = [identity_of(node) for node in nodes]
    # Whichever of the two is written first.
    least, order = min(
        (sorted(pair[::step] for pair in named), step)
        for step in (1, -1)
        if sides[::step] == sorted(sides)
    )
    key = digest(f"{sides[::order]} {least}")
    titles = [" = ".join(map(str, pair[::order])) for pair in equal]
    mine, theirs = zip(*own, strict=True)
    return MeasuredPair(key, " and ".join(titles), ends, mine, theirs, implied)


def _own(flat: FlatJoin, value: Expression) -> Expression:
    """The same over the columns of its input."""
    origins = flat.origins()
    return substituted(
        value,
        lambda part: Ref(origins[part.name].column, part.type) if isinstance(part, Ref) else part,
    )


def _conditions(flat: FlatJoin) -> Iterator[MeasuredCondition]:
    """What is neither an equality of keys nor a window, which is about times alone."""
    keyed = {frozenset(pair) for pairs in _equal(flat).values() for pair in pairs}
    times = {qualified(each.name, each.on) for each in flat.inputs}
    for condition in flat.conditions:
        is_key = isinstance(condition, Call) and frozenset(condition.args) in keyed
        if not is_key and condition.refs and not condition.refs <= times:
            yield _condition(flat, condition)


def _condition(flat: FlatJoin, condition: Expression) -> MeasuredCondition:
    inputs, origins = _by_input(flat, condition), flat.origins()

    def named(part: Expression) -> Expression:
        if not isinstance(part, Ref):
            return part
        of: ChildColumn = origins[part.name]
        node = flat.inputs[of.child].node
        own = column_of(node, Ref(of.column, part.type))
        return Ref(f"{identity_of(node)}: {own}", part.type)

    key = digest(str(substituted(condition, named)))
    return MeasuredCondition(key, str(condition), inputs, condition)


# -- which operator computes which node ---------------------------------------------------------


def _told(node: Node) -> str:
    """What tells a node apart: what it does, and what is below it; but for sorting."""
    if isinstance(node, Ordered):
        return _told(node.input)
    parts: tuple[Node, ...] = node.children
    if isinstance(node, WindowAggregate) and node.has_several_windows:
        parts = tuple(node.apart)
    return f"{node.label}({','.join(map(_told, parts))})"


def _told_of(plan: PhysicalPlan) -> str:
    """The same of the last operator of those that compute a node."""
    if isinstance(plan.spec, OrderSpec | HandoverSpec | SGBSpec) or not plan.label:
        return _told_of(plan.inputs[0])
    first = plan
    while len(first.inputs) == 1 and not first.inputs[0].label:
        [first] = first.inputs
    return f"{plan.label}({','.join(map(_told_of, first.inputs))})"
