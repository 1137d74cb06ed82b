"""Sequences: `FROM SEQ(a, b, c) MODE RECENT PARTITION BY k WITHIN d WHERE …`.

Steps are put together from left to right, each with those before it. A condition on one step alone
is tested before the step is taken, so that `WHERE a.kind = 'case'` gives the latest one of that
kind; one on several steps is part of what a pair must satisfy, at the step that completes it.
Spec: execution-model 6.
"""

from __future__ import annotations

from sqlglot import exp

from penstock.errors import CannotJoin, CannotWindow, NotExecutable
from penstock.model.joins import qualified
from penstock.model.schema import ROW_NUM
from penstock.model.types import Type
from penstock.plan.nodes import Node, Sequence
from penstock.sql.bind.conditions import conjuncts
from penstock.sql.bind.context import Context
from penstock.sql.bind.expression import ExpressionBinder
from penstock.sql.bind.from_ import Input, bind_relation, refuse_table
from penstock.sql.bind.join.join import WaitingConditions, check_names
from penstock.sql.bind.join.parts import as_progressing, equalities_of, filtered, split
from penstock.sql.bind.scope import Field, Scope
from penstock.sql.bind.window.window import check_unit
from penstock.sql.parse.durations import resolve_length
from penstock.sql.parse.syntax import Relation, StreamSequence


def sequence_of(relation: exp.Expr) -> StreamSequence | None:
    """The sequence that stands in FROM, if one does."""
    while isinstance(relation, Relation):
        relation = relation.this
    return relation if isinstance(relation, StreamSequence) else None


def bind_sequence(
    relation: Relation,
    sequence: StreamSequence,
    joins: list[exp.Expr],
    where: exp.Expr | None,
    context: Context,
) -> tuple[Node, Input]:
    """The plan of `SEQ(…) … WHERE …`, and what can be named above it."""
    _refuse_more(relation, joins, context)
    steps = [bind_relation(step, context) for step in sequence.expressions]
    for step in steps:
        refuse_table(step, context)
        if step.clause is not None:
            raise CannotWindow(
                "a step of a sequence cannot have a window",
                position=context.position(step.clause.span),
                hint="say how long a sequence may be: SEQ(…) WITHIN 5 SECONDS",
            )
    check_names(steps, context, "step of a sequence")
    with context.located(sequence):
        node, scope = _bound(sequence, steps, where, context)
    return node, Input(node, scope, relation, None, relation.args.get("clause"))


def _bound(
    sequence: StreamSequence, steps: list[Input], where: exp.Expr | None, context: Context
) -> tuple[Node, Scope]:
    within = _within(sequence, steps, context)
    times = [_time_of(step) for step in steps]
    waiting = WaitingConditions(split(where), steps, context)
    node = filtered(steps[0].node, steps[0].scope, waiting.alone(0), context)
    name = str(steps[0].name)
    scope = steps[0].scope.prefixed(name)
    bound_times = [qualified(name, times[0].column)]
    for number, step in enumerate(steps[1:], start=1):
        sides = (scope, step.scope.prefixed(str(step.name)))
        both = sides[0] + sides[1]
        last = filtered(step.node, step.scope, waiting.alone(number), context)
        binder = ExpressionBinder(context, both)
        trees = waiting.completed_by(number)
        parts = [part for tree in trees for part in conjuncts(binder.bind(tree))]
        equalities = equalities_of(parts, sides)
        partition = _partition(sequence, steps[number - 1 : number + 1], context)
        bound_times.append(qualified(str(step.name), times[number].column))
        node = Sequence(
            (node, last),
            (name, str(step.name)),
            tuple(bound_times),
            sequence.args["mode"],
            within,
            tuple(dict.fromkeys([*partition, *equalities.values()])),
            tuple(part for part in parts if part not in equalities),
        )
        scope, name = both, ""
    assert isinstance(node, Sequence)
    scope = as_progressing(scope, node)
    return filtered(node, scope, waiting.trees, context), scope


def _partition(
    sequence: StreamSequence, steps: list[Input], context: Context
) -> list[tuple[str, str]]:
    """The columns of two steps that PARTITION BY says to be equal."""
    found = []
    for attribute in sequence.args["partition"]:
        with context.located(attribute.span):
            if attribute.qualifier is not None:
                raise CannotJoin(
                    f"PARTITION BY {attribute.qualifier}.{attribute.name} is about one step",
                    hint=f"name a column that all steps have: PARTITION BY {attribute.name}; or "
                    "say in WHERE what must be equal",
                )
            fields = [step.scope.resolve(attribute.name, step.name) for step in steps]
        mine, theirs = (
            qualified(str(step.name), field.column)
            for step, field in zip(steps, fields, strict=True)
        )
        found.append((mine, theirs))
    return found


def _within(sequence: StreamSequence, steps: list[Input], context: Context) -> int | None:
    if sequence.args["within"] is None:
        return None
    length = resolve_length(sequence.args["within"], context)
    for step in steps:
        check_unit(length, _time_of(step), context)
    if length.value < 0:
        raise CannotWindow(
            f"WITHIN {length} is negative",
            position=context.position(length.span),
            hint="it says how far the last step may lie behind the first",
        )
    return length.value


def _time_of(step: Input) -> Field:
    """The time by which a step is put in order."""
    usable = [
        field
        for field in step.scope.fields
        if field.progresses and field.name != ROW_NUM and field.type.can_progress
    ]
    usable = [field for field in usable if field.type is Type.TIMESTAMP] or usable
    usable = [field for field in usable if not field.computed] or usable
    if len(usable) == 1:
        return usable[0]
    if usable:
        names = ", ".join(field.name for field in usable)
        raise CannotWindow(
            f"step `{step.name}` can be put in order by any of {names}",
            hint=f"leave the others out: (SELECT {usable[0].name}, … FROM …) AS {step.name}",
        )
    lost = f": the subquery has left out `{step.scope.lost[0]}`" if step.scope.lost else ""
    raise CannotWindow(
        f"step `{step.name}` has no time to be put in order by{lost}",
        hint="a sequence needs streams with TIMESTAMP BY, and subqueries that pass it on",
    )


def _refuse_more(relation: Relation, joins: list[exp.Expr], context: Context) -> None:
    if joins:
        raise NotExecutable(
            "a sequence cannot be joined in the same FROM",
            position=context.position(joins[0]),
            hint="join its results: FROM (SELECT … FROM SEQ(…)) AS s JOIN …",
        )
    alias = relation.args.get("alias")
    if alias is not None:
        raise CannotJoin(
            f"the sequence cannot be called `{alias.name}`: its columns are those of its steps",
            position=context.position(alias),
            hint=f"name the steps: SEQ(a AS x, b AS y); or the results: (SELECT … FROM SEQ(…)) AS "
            f"{alias.name}",
        )
