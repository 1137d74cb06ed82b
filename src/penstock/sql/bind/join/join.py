"""Joins: inputs and conditions -> window joins, one of all inputs where rows need a partner.

Every join needs a bound on how far apart partners can lie. It comes from, in this order:

    WITHIN 5 SECONDS                      both directions
    brackets on both sides                `a [RANGE 3 MINUTES], b [RANGE 2 MINUTES]`
    one TUMBLING bracket, on the last     `a, b [RANGE TUMBLING 5 MINUTES]`
    conditions on the timestamps          `a.ts BETWEEN b.ts - INTERVAL … AND b.ts + INTERVAL …`

A static table needs none: rows of it do not come, so there is nothing to wait for or to forget
(`bind_table_join`). Neither do elements of arrays, which have the time of their row: what stands to
the left of LATERAL VIEW or UNNEST is exploded there (`bind_explode`).

Conditions go where they can be tested first: those on one input below the join, equalities into the
join, the rest behind it. Where rows without a partner are kept, ON and WHERE differ, and conditions
move only as far as that leaves the answer the same.  Spec: window-queries 2.6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from sqlglot import exp

from penstock.errors import CannotJoin, NotExecutable
from penstock.model.expressions import Expression
from penstock.model.joins import JoinKind
from penstock.plan.nodes import Edge, Join, Node
from penstock.sql.bind.conditions import conjuncts
from penstock.sql.bind.context import Context
from penstock.sql.bind.explode import bind_explode, exploding
from penstock.sql.bind.expression import ExpressionBinder
from penstock.sql.bind.from_ import Input, refuse_table
from penstock.sql.bind.join.bands import find_pairing
from penstock.sql.bind.join.parts import (
    Left,
    as_progressing,
    divided,
    equal_columns,
    equalities_of,
    filtered,
    split,
    with_computed_keys,
)
from penstock.sql.bind.join.table_join import bind_table_join, is_table, stream_first
from penstock.sql.bind.scope import Scope
from penstock.sql.parse.syntax import ExplodeClause, StreamJoin

#: A join with its input, or what is exploded of what stands before it.
Step: TypeAlias = tuple[StreamJoin, Input] | ExplodeClause


def bind_joins(
    first: Input, steps: list[Step], where: exp.Expr | None, context: Context
) -> tuple[Node, Scope]:
    """The plan of `first JOIN … JOIN … WHERE …`, and what can be named above it."""
    first, steps, written_first = stream_first(first, steps, context)
    refuse_table(first, context)
    joins = [step for step in steps if not isinstance(step, ExplodeClause)]
    inputs = [first, *(input_ for _, input_ in joins)]
    if joins:
        _check_inputs(inputs, context)
    streams = [input_ for input_ in inputs if not is_table(input_)]
    kinds = {join.args["kind"] for join, _ in joins}
    named = [first, *(s if isinstance(s, ExplodeClause) else s[1] for s in steps)]
    waiting = WaitingConditions(split(where), named, context)
    left = Left(first.node, first.scope, str(first.name), (first,))
    if kinds <= {JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI}:
        left = replace(left, node=filtered(first.node, first.scope, waiting.alone(0), context))
    for number, step in enumerate(steps, start=1):
        join, right = (step, first) if isinstance(step, ExplodeClause) else step
        with context.located(join):
            extra: list[exp.Expr] = []
            # An outer join adds rows; a condition of WHERE must see them, so it waits.
            if kinds <= {JoinKind.INNER}:
                extra = [*waiting.alone(number), *waiting.completed_by(number)]
            if isinstance(join, ExplodeClause):
                left = _exploded(left, join, extra, context)
            elif is_table(right):
                left = bind_table_join(left, right, join, extra, context)
            else:
                left = _join(left, right, join, extra, streams, context)
    scope = left.scope if written_first is None else left.scope.beginning_with(written_first)
    return filtered(left.node, left.scope, waiting.trees, context), scope


class WaitingConditions:
    """Conditions of WHERE that are not yet in the plan."""

    def __init__(
        self, trees: list[exp.Expr], inputs: Sequence[Input | ExplodeClause], context: Context
    ) -> None:
        # Prefixed by the input's number, a column tells where it comes from.
        numbered = Scope(())
        for number, input_ in enumerate(inputs):
            if isinstance(input_, ExplodeClause):
                own = Scope(exploding(input_, numbered, context)[1])
            else:
                own = input_.scope
            numbered += own.prefixed(str(number))
        binder = ExpressionBinder(context, numbered)
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


def _exploded(left: Left, clause: ExplodeClause, extra: list[exp.Expr], context: Context) -> Left:
    """What stands left, a row for each element; `extra` are conditions of WHERE on these."""
    on = clause.args.get("on")
    node, scope = bind_explode(clause, left.node, left.scope, context, joined=not left.name)
    node = filtered(node, scope, [*split(on), *extra], context)
    inputs = left.inputs
    if left.name:
        inputs = (replace(inputs[0], node=node, scope=scope),)
    return replace(left, node=node, scope=scope, inputs=inputs)


def _join(
    left: Left,
    right: Input,
    join: StreamJoin,
    extra: list[exp.Expr],
    inputs: list[Input],
    context: Context,
) -> Left:
    """One more input; `extra` are conditions of WHERE that belong here."""
    kind: JoinKind = join.args["kind"]
    names = (left.name, str(right.name))
    sides = (left.scope.prefixed(names[0]), right.scope.prefixed(names[1]))
    below, parts = divided(join, extra, sides, context)
    parts, left, right = with_computed_keys(parts, left, right)
    sides = (left.scope.prefixed(names[0]), right.scope.prefixed(names[1]))
    both = sides[0] + sides[1]
    pairing = find_pairing(
        left.inputs, right, both, parts, join.args.get("within"), inputs, left.absent, context
    )
    parts = [part for part in parts if part not in pairing.used] + list(pairing.residual)
    equalities = equalities_of(parts, sides)
    begun = _begun(left, kind, below[0], context)
    node = Join(
        (*begun.inputs, filtered(right.node, right.scope, below[1], context)),
        (*begun.names, names[1]),
        (*begun.edges, Edge(*pairing.on, pairing.band)),
        (*begun.equalities, *equalities.values()),
        (*begun.conditions, *(part for part in parts if part not in equalities)),
        kind,
    )
    members = left.inputs if kind.is_one_sided else (*left.inputs, right)
    scope = as_progressing(sides[0] if kind.is_one_sided else both, node)
    absent = left.absent
    if kind.keeps_alone(1):
        absent |= {str(input_.name) for input_ in left.inputs}
    if kind.keeps_alone(0):
        absent |= {str(right.name)}
    return Left(node, scope, "", members, absent)


@dataclass(frozen=True)
class _Begun:
    """A join to which the next input is added."""

    inputs: tuple[Node, ...]
    names: tuple[str, ...]
    edges: tuple[Edge, ...] = ()
    equalities: tuple[tuple[str, str], ...] = ()
    conditions: tuple[Expression, ...] = ()


def _begun(left: Left, kind: JoinKind, trees: list[exp.Expr], context: Context) -> _Begun:
    """What stands left of an input, with conditions on it, as part of the join with that.

    Inner joins become one.
    """
    join = left.node
    if not isinstance(join, Join) or {kind, join.kind} != {JoinKind.INNER}:
        return _Begun((filtered(left.node, left.scope, trees, context),), (left.name,))
    inputs, equalities, conditions = list(join.inputs), list(join.equalities), [*join.conditions]
    for tree in trees:
        condition = ExpressionBinder(context, left.scope).bind(tree)
        of = {join.origin(column).child for column in condition.refs}
        if len(of) == 1:
            number = of.pop()
            named = (input_.scope for input_ in left.inputs if input_.name == join.names[number])
            scope = next(named, left.scope)  # one without a name has the columns of the join
            inputs[number] = filtered(inputs[number], scope, [tree], context)
            continue
        with context.located(tree):
            for part in conjuncts(condition):
                equal = {join.origin(ref.name).child: ref.name for ref in equal_columns(part)}
                if len(equal) == 2:
                    equalities.append((equal[min(equal)], equal[max(equal)]))
                else:
                    conditions.append(part)
    return _Begun(tuple(inputs), join.names, join.edges, tuple(equalities), tuple(conditions))


def _check_inputs(inputs: list[Input], context: Context) -> None:
    for input_ in inputs:
        position = context.position(input_.place)
        if input_.window is not None:
            raise NotExecutable(
                "a table function cannot be joined",
                position=position,
                hint="join the streams in windows: a, b [RANGE TUMBLING 10 MINUTES]",
            )
    check_names(inputs, context, "input of a join")


def check_names(inputs: list[Input], context: Context, what: str) -> None:
    """Refuse inputs that have no name, or have it twice; `what` they are."""
    seen: set[str] = set()
    for input_ in inputs:
        position = context.position(input_.place)
        if input_.name is None:
            raise CannotJoin(
                f"every {what} needs a name", position=position, hint="write (…) AS name"
            )
        if input_.name.lower() in seen:
            raise CannotJoin(
                f"two inputs of the join are called `{input_.name}`",
                position=position,
                hint=f"name one of them: {input_.name} AS other",
            )
        seen.add(input_.name.lower())
