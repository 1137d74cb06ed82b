"""Rows with the event time by which `first`, `last` and lists take them in order.

A window may be on a time that is computed of the rows' own and goes in greater steps. Each row is
followed from where that time came into being, and keeps it beside its columns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from penstock.model.expressions import Call, Cast, Expression, Ref
from penstock.model.joins import qualified
from penstock.model.schema import ROW_NUM
from penstock.oracle.belonging import holds
from penstock.oracle.casts import cast
from penstock.oracle.exploding import exploded
from penstock.oracle.expressions import value_of
from penstock.oracle.joins import join, table_join
from penstock.plan import nodes
from penstock.plan.nodes import Node
from penstock.windows import Row

#: Where a row keeps it; no column is called so.
EVENT_TIME = "?event time"

Inputs = Mapping[str, Sequence[Row]]
Rows = list[dict[str, Any]]


def with_event_time(
    plan: Node, column: str, inputs: Inputs, evaluate: Callable[[Node, Inputs], Rows]
) -> Rows:
    """The rows of a plan, and of each the time that `column` was computed of."""

    def below(child: Node, its: str) -> Rows:
        return with_event_time(child, its, inputs, evaluate)

    match plan:
        case nodes.Project():
            values = {each.name: each.value for each in plan.columns}
            source = steps_of(values[column], plan.input)
            if isinstance(source, Ref):
                rows = below(plan.input, source.name)
            else:
                rows = evaluate(plan.input, inputs)
                rows = [{**row, EVENT_TIME: value_of(source, row)} for row in rows]
            return [
                {EVENT_TIME: row[EVENT_TIME], **{n: value_of(v, row) for n, v in values.items()}}
                for row in rows
            ]
        case nodes.Select():
            return [row for row in below(plan.input, column) if holds(plan.predicate, row)]
        case nodes.Ordered():
            return below(plan.input, column)
        case nodes.Numbered() if column != ROW_NUM:
            rows = below(plan.input, column)
            return [{**row, ROW_NUM: number} for number, row in enumerate(rows, start=1)]
        case nodes.Explode():
            return [
                {EVENT_TIME: row[EVENT_TIME], **new}
                for row in below(plan.input, column)
                for new in exploded(plan, row)
            ]
        case nodes.Union():
            place = plan.schema.names.index(column)
            return [
                {EVENT_TIME: row[EVENT_TIME], **in_union(plan, part, row)}
                for part in plan.parts
                for row in below(part, part.schema.names[place])
            ]
        case nodes.Join():
            child, its = plan.origin(column)
            sides = [
                below(side, its) if number == child else evaluate(side, inputs)
                for number, side in enumerate(plan.inputs)
            ]
            return _renamed(join(plan, sides), plan.names[child])
        case nodes.TableJoin():
            its = next(n for n in plan.input.schema.names if qualified(plan.names[0], n) == column)
            return _renamed(table_join(plan, below(plan.input, its)), plan.names[0])
    return [{**row, EVENT_TIME: row[column]} for row in evaluate(plan, inputs)]


def _renamed(rows: Rows, name: str) -> Rows:
    """Rows of a join, which has called what one of its inputs brings after that."""
    key = qualified(name, EVENT_TIME)
    return [
        {EVENT_TIME: row.get(key), **{n: v for n, v in row.items() if n != key}} for row in rows
    ]


def in_union(union: nodes.Union, part: Node, row: Row) -> dict[str, Any]:
    """A row of one input under the union's names and types."""
    return {
        mine.name: cast(row[theirs.name], theirs.type, mine.type)
        for mine, theirs in zip(union.schema, part.schema, strict=True)
    }


#: What maps different times to different ones.
ONE_TO_ONE = {"+", "-", "*", "unix_micros"}
ONE_TO_ONE |= {"timestamp_seconds", "timestamp_millis", "timestamp_micros"}


def steps_of(value: Expression, below: Node) -> Expression:
    """What the innermost step is of that gives several times one value; else the time itself."""
    chain = [value]
    while len(of := [child for child in chain[-1].children if child.refs]) == 1:
        chain.append(of[0])
    for outer, inner in reversed(list(pairwise(chain))):
        one_to_one = isinstance(outer, Call) and outer.function in ONE_TO_ONE
        one_to_one |= isinstance(outer, Cast) and outer.to.is_time
        known = inner.refs <= below.schema.progressing and not inner.refs & below.schema.nullable
        if known and not one_to_one:
            return inner
    return value
