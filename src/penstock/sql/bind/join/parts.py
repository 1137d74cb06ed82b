"""Parts of joins: conditions, and where each of them is tested.

Those on one input alone go below the join, where that leaves the answer the same; equalities of two
columns go into it; the rest is tested pair by pair.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from penstock.model.expressions import Call, Expression, Ref, SparkCall, conjunction
from penstock.model.joins import qualified
from penstock.model.spark_sql import zones_in
from penstock.model.zones import UTC
from penstock.plan.computed_columns import computed_in, outermost, renamed
from penstock.plan.nodes import Node, Select
from penstock.sql.bind.conditions import conjuncts
from penstock.sql.bind.context import Context
from penstock.sql.bind.expression import ExpressionBinder
from penstock.sql.bind.from_ import Input
from penstock.sql.bind.scope import Field, Scope
from penstock.sql.parse.syntax import StreamJoin


@dataclass(frozen=True)
class Left:
    """What stands left of the next join: a plan, what can be named, and the inputs in it."""

    node: Node
    scope: Scope
    name: str  # none, once it is a join
    inputs: tuple[Input, ...]
    absent: frozenset[str] = frozenset()  # inputs of which an outer join may give no row


def filtered(node: Node, scope: Scope, trees: list[exp.Expr], context: Context) -> Node:
    """The node's rows for which all conditions hold."""
    binder = ExpressionBinder(context, scope)
    condition = conjunction(map(binder.bind, trees))
    if condition is None:
        return node
    with context.located(trees[0]):
        return Select(node, condition)


def split(condition: exp.Expr | None) -> list[exp.Expr]:
    """The parts of a conjunction, still as written."""
    found, waiting = [], [condition] if condition is not None else []
    while waiting:
        tree = waiting.pop()
        inner = tree.unnest()
        if isinstance(inner, exp.And):
            waiting += [inner.expression, inner.this]
        else:
            found.append(tree)
    return found


def divided(
    join: StreamJoin, extra: list[exp.Expr], sides: tuple[Scope, Scope], context: Context
) -> tuple[tuple[list[exp.Expr], list[exp.Expr]], list[Expression]]:
    """Conditions that can be tested below the join, for each side, and parts of the others."""
    below: tuple[list[exp.Expr], list[exp.Expr]] = ([], [])
    parts: list[Expression] = []
    for tree in [*split(join.args.get("on")), *extra]:
        condition = ExpressionBinder(context, sides[0] + sides[1]).bind(tree)
        side = _side_of(condition, sides)
        # Before the join it would also take rows away that come out without a partner.
        if side is not None and not join.args["kind"].keeps_alone(side):
            below[side].append(tree)
        else:
            with context.located(tree):
                parts += conjuncts(condition)
    return below, parts


def equalities_of(
    parts: list[Expression], sides: tuple[Scope, Scope]
) -> dict[Expression, tuple[str, str]]:
    """Conditions that say that two columns are equal -> the columns, as the join calls them."""
    return {part: pair for part in parts if (pair := _equality(part, sides))}


def with_computed_keys(
    parts: list[Expression], left: Left, right: Input
) -> tuple[list[Expression], Left, Input]:
    """Equalities of what Spark computes of one side, as equalities of columns of that side."""
    nodes, names = [left.node, right.node], (left.name, str(right.name))
    scopes = [left.scope, right.scope]
    found: list[Expression] = []
    for part in parts:
        args = [] if not _has_computed_sides(part) else list(part.children)
        for place, arg in enumerate(args):
            sides = (scopes[0].prefixed(names[0]), scopes[1].prefixed(names[1]))
            side = _side_of(arg, sides)
            if side is None or isinstance(arg, Ref):
                continue
            own = {qualified(names[side], c.name): Ref(c.name, c.type) for c in nodes[side].schema}
            whole = arg if isinstance(arg, SparkCall) else _by_spark(arg)
            added = computed_in(nodes[side], renamed(whole, own))
            if added is None:
                continue
            nodes[side], ref = added
            if not scopes[side].has(ref.name):
                field = Field(ref.name, ref.type, ref.name, hidden=True)
                scopes[side] = replace(scopes[side], fields=(*scopes[side].fields, field))
            args[place] = Ref(qualified(names[side], ref.name), ref.type)
        found.append(Call("=", tuple(args)) if args else part)
    return (
        found,
        replace(left, node=nodes[0], scope=scopes[0]),
        replace(right, node=nodes[1], scope=scopes[1]),
    )


def _has_computed_sides(part: Expression) -> bool:
    is_equality = isinstance(part, Call) and part.function == "="
    return is_equality and any(outermost(part))


def _by_spark(expression: Expression) -> SparkCall:
    """What the kernel would compute, left to Spark."""
    zones = zones_in(expression)
    zone = zones.pop() if len(zones) == 1 else UTC
    return SparkCall(("", ""), (expression,), expression.type, zone)


def as_progressing(scope: Scope, node: Node) -> Scope:
    """The scope, with the columns of the node that progress."""
    progressing = node.schema.progressing
    return Scope(tuple(replace(f, progresses=f.column in progressing) for f in scope.fields))


def _side_of(condition: Expression, sides: tuple[Scope, Scope]) -> int | None:
    """The side that the condition is on alone."""
    for side, scope in enumerate(sides):
        if condition.refs and condition.refs <= {field.column for field in scope.fields}:
            return side
    return None


def equal_columns(part: Expression) -> list[Ref]:
    """The columns of `a = b`; none: it says something else."""
    if not isinstance(part, Call) or part.function != "=":
        return []
    refs = [arg for arg in part.args if isinstance(arg, Ref)]
    return refs if len(refs) == 2 else []


def _equality(part: Expression, sides: tuple[Scope, Scope]) -> tuple[str, str] | None:
    """The two columns of `left.a = right.b`."""
    by_side = {_side_of(ref, sides): ref.name for ref in equal_columns(part)}
    return (by_side[0], by_side[1]) if by_side.keys() == {0, 1} else None
