"""Joins: inputs and conditions -> a left-deep tree of window joins.

Every join needs a bound on how far apart partners can lie. It comes from, in this order:

    WITHIN 5 SECONDS                      both directions
    brackets on both sides                `a [RANGE 3 MINUTES], b [RANGE 2 MINUTES]`
    one TUMBLING bracket, on the last     `a, b [RANGE TUMBLING 5 MINUTES]`
    conditions on the timestamps          `a.ts BETWEEN b.ts - INTERVAL … AND b.ts + INTERVAL …`

Conditions go where they can be tested first: those on one input below the join, equalities into the
join, the rest behind it. Where rows without a partner are kept, ON and WHERE differ, and conditions
move only as far as that leaves the answer the same.  Spec: window-queries 2.6.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from penstock.errors import CannotJoin, NotExecutable
from penstock.model.expressions import Call, Expression, Ref
from penstock.model.joins import JoinKind
from penstock.plan.nodes import Node, Select, WindowJoin
from penstock.sql.bind_expression import ExpressionBinder
from penstock.sql.bind_from import Input
from penstock.sql.conditions import conjunction, conjuncts
from penstock.sql.context import Context
from penstock.sql.join_bands import find_pairing
from penstock.sql.scope import Scope, unique
from penstock.sql.syntax import StreamJoin

#: Which one-sided conditions of ON may be tested before the join.
_PUSHED = {
    JoinKind.INNER: (True, True),
    JoinKind.LEFT: (False, True),
    JoinKind.RIGHT: (True, False),
    JoinKind.FULL: (False, False),
    JoinKind.SEMI: (True, True),
    JoinKind.ANTI: (False, True),
}

#: The result is made of left rows only.
_ONE_SIDED = (JoinKind.SEMI, JoinKind.ANTI)


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
        inner = tree.unnest() if isinstance(tree, exp.Paren) else tree
        if isinstance(inner, exp.And):
            waiting += [inner.expression, inner.this]
        else:
            found.append(tree)
    return found


def bind_joins(
    first: Input, joins: list[tuple[StreamJoin, Input]], where: exp.Expr | None, context: Context
) -> tuple[Node, Scope]:
    """The plan of `first JOIN … JOIN … WHERE …`, and what can be named above it."""
    inputs = [first, *(input_ for _, input_ in joins)]
    _check_inputs(inputs, context)
    kinds = {join.args["kind"] for join, _ in joins}
    waiting = _Waiting(split(where), inputs, context)
    left = _Left(first.node, first.scope, str(first.name), (first,))
    if kinds <= {JoinKind.INNER, JoinKind.LEFT, *_ONE_SIDED}:
        left = replace(left, node=filtered(first.node, first.scope, waiting.alone(0), context))
    for step, (join, right) in enumerate(joins, start=1):
        with context.located(join):
            extra: list[exp.Expr] = []
            # An outer join adds rows; a condition of WHERE must see them, so it waits.
            if kinds == {JoinKind.INNER}:
                extra = [*waiting.alone(step), *waiting.completed_by(step)]
            left = _join(left, right, join, extra, inputs, context)
    return filtered(left.node, left.scope, waiting.trees, context), left.scope


@dataclass(frozen=True)
class _Left:
    """What stands left of the next join: a plan, what can be named, and the inputs in it."""

    node: Node
    scope: Scope
    name: str
    inputs: tuple[Input, ...]
    absent: frozenset[str] = frozenset()  # inputs of which an outer join may give no row


class _Waiting:
    """Conditions of WHERE that are not yet in the plan."""

    def __init__(self, trees: list[exp.Expr], inputs: list[Input], context: Context) -> None:
        # Prefixed by the input's number, a column tells where it comes from.
        numbered = [input_.scope.prefixed(str(i)) for i, input_ in enumerate(inputs)]
        binder = ExpressionBinder(context, Scope(tuple(f for s in numbered for f in s.fields)))
        self._needs = {
            id(tree): {int(name.split(".")[0]) for name in binder.bind(tree).refs} for tree in trees
        }
        self.trees = trees

    def alone(self, step: int) -> list[exp.Expr]:
        """Take those on one input only."""
        return self._take([t for t in self.trees if self._needs[id(t)] == {step}])

    def completed_by(self, step: int) -> list[exp.Expr]:
        """Take those for which this was the last input missing."""
        return self._take([t for t in self.trees if max(self._needs[id(t)], default=-1) == step])

    def _take(self, taken: list[exp.Expr]) -> list[exp.Expr]:
        gone = {id(tree) for tree in taken}
        self.trees = [tree for tree in self.trees if id(tree) not in gone]
        return taken


def _join(
    left: _Left,
    right: Input,
    join: StreamJoin,
    extra: list[exp.Expr],
    inputs: list[Input],
    context: Context,
) -> _Left:
    """One more input; `extra` are conditions of WHERE that belong here."""
    kind: JoinKind = join.args["kind"]
    names = (left.name, str(right.name))
    sides = (left.scope.prefixed(names[0]), right.scope.prefixed(names[1]))
    both = sides[0] + sides[1]
    below: tuple[list[exp.Expr], list[exp.Expr]] = ([], [])
    parts: list[Expression] = []
    for tree in [*split(join.args.get("on")), *extra]:
        condition = ExpressionBinder(context, both).bind(tree)
        side = _side_of(condition, sides)
        if side is not None and _PUSHED[kind][side]:
            below[side].append(tree)
        else:
            with context.located(tree):
                parts += conjuncts(condition)
    pairing = find_pairing(
        left.inputs, right, both, parts, join.args.get("within"), inputs, left.absent, context
    )
    parts = [part for part in parts if part not in pairing.used] + list(pairing.residual)
    equalities = {part: pair for part in parts if (pair := _equality(part, sides, names))}
    node = WindowJoin(
        filtered(left.node, left.scope, below[0], context),
        filtered(right.node, right.scope, below[1], context),
        names,
        (_unprefixed(pairing.on[0], names[0]), _unprefixed(pairing.on[1], names[1])),
        pairing.band,
        tuple(equalities.values()),
        conjunction(part for part in parts if part not in equalities),
        kind,
    )
    members = left.inputs if kind in _ONE_SIDED else (*left.inputs, right)
    scope = sides[0] if kind in _ONE_SIDED else both
    progressing = node.schema.progressing
    scope = Scope(tuple(replace(f, progresses=f.column in progressing) for f in scope.fields))
    name = unique("_".join(str(member.name) for member in members), map(_name_of, inputs))
    absent = left.absent
    if kind.keeps_alone(1):
        absent |= {str(input_.name) for input_ in left.inputs}
    if kind.keeps_alone(0):
        absent |= {str(right.name)}
    return _Left(node, scope, name, members, absent)


def _side_of(condition: Expression, sides: tuple[Scope, Scope]) -> int | None:
    """The side that the condition is on alone."""
    for side, scope in enumerate(sides):
        if condition.refs and condition.refs <= {field.column for field in scope.fields}:
            return side
    return None


def _equality(
    part: Expression, sides: tuple[Scope, Scope], names: tuple[str, str]
) -> tuple[str, str] | None:
    """The two columns of `left.a = right.b`, as their own sides call them."""
    if not isinstance(part, Call) or part.function != "=":
        return None
    first, second = part.args
    if not isinstance(first, Ref) or not isinstance(second, Ref):
        return None
    order = (_side_of(first, sides), _side_of(second, sides))
    if order == (1, 0):
        first, second = second, first
    elif order != (0, 1):
        return None
    return _unprefixed(first.name, names[0]), _unprefixed(second.name, names[1])


def _unprefixed(column: str, name: str) -> str:
    return column.removeprefix(f"{name}.")


def _name_of(input_: Input) -> str:
    return str(input_.name)


def _check_inputs(inputs: list[Input], context: Context) -> None:
    seen: set[str] = set()
    for input_ in inputs:
        position = context.position(input_.place)
        if input_.window is not None:
            raise NotExecutable(
                "a table function cannot be joined",
                position=position,
                hint="join the streams in windows: a, b [RANGE TUMBLING 10 MINUTES]",
            )
        if input_.name is None:
            raise CannotJoin(
                "every input of a join needs a name", position=position, hint="write (…) AS name"
            )
        if input_.name.lower() in seen:
            raise CannotJoin(
                f"two inputs of the join are called `{input_.name}`",
                position=position,
                hint=f"name one of them: {input_.name} AS other",
            )
        seen.add(input_.name.lower())
