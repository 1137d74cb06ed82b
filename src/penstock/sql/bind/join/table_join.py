"""Joins with static tables.

Rows of a table do not come, they are there: no window bounds the join, no row of the stream waits,
and what is kept is the table. A table on a side that keeps rows without a partner is refused, for a
partner may always come.
"""

from __future__ import annotations

from typing import TypeAlias

from sqlglot import exp

from penstock.errors import CannotJoin
from penstock.model.expressions import conjunction
from penstock.model.joins import JoinKind, qualified
from penstock.plan.nodes import Table, TableJoin
from penstock.sql.bind.context import Context
from penstock.sql.bind.expression import ExpressionBinder
from penstock.sql.bind.from_ import Input
from penstock.sql.bind.join.parts import (
    Left,
    as_progressing,
    divided,
    equalities_of,
    filtered,
    with_computed_keys,
)
from penstock.sql.parse.syntax import ExplodeClause, StreamJoin

Steps: TypeAlias = list[tuple[StreamJoin, Input] | ExplodeClause]


def only_stream(inputs: list[Input]) -> Input | None:
    """The one stream among static tables: its window is there for aggregates, not for a join."""
    streams = [input_ for input_ in inputs if not is_table(input_)]
    return streams[0] if len(streams) == 1 else None


#: A table's join as the stream's that stands behind it.
_MIRRORED = {JoinKind.INNER: JoinKind.INNER, JoinKind.RIGHT: JoinKind.LEFT}


def bind_table_join(
    left: Left,
    right: Input,
    join: StreamJoin,
    extra: list[exp.Expr],
    context: Context,
) -> Left:
    """A static table as one more input; `extra` are conditions of WHERE that belong here."""
    assert isinstance(right.node, Table)
    if right.clause is not None or join.args.get("within") is not None:
        raise CannotJoin(
            f"table `{right.name}` cannot have a window: its rows have no time",
            hint="leave it out: rows of the stream are joined at once",
        )
    kind: JoinKind = join.args["kind"]
    names = (left.name, str(right.name))
    sides = (left.scope.prefixed(names[0]), right.scope.prefixed(names[1]))
    below, parts = divided(join, extra, sides, context)
    parts, left, right = with_computed_keys(parts, left, right)
    sides = (left.scope.prefixed(names[0]), right.scope.prefixed(names[1]))
    assert isinstance(right.node, Table)
    equalities = equalities_of(parts, sides)
    in_table = ExpressionBinder(context, sides[1])
    node = TableJoin(
        filtered(left.node, left.scope, below[0], context),
        right.node.table,
        names,
        tuple(
            (mine.removeprefix(qualified(names[0], "")), theirs.removeprefix(f"{names[1]}."))
            for mine, theirs in equalities.values()
        ),
        conjunction(part for part in parts if part not in equalities),
        conjunction(map(in_table.bind, below[1])),
        kind,
    )
    scope = as_progressing(sides[0] if kind.is_one_sided else sides[0] + sides[1], node)
    return Left(node, scope, "", left.inputs, left.absent)


def is_table(input_: Input) -> bool:
    return isinstance(input_.node, Table)


def stream_first(first: Input, steps: Steps, context: Context) -> tuple[Input, Steps, str | None]:
    """The same inputs with a stream in front; also the table's name that was written there."""
    if not is_table(first) or not steps or isinstance(steps[0], ExplodeClause):
        return first, steps, None
    join, second = steps[0]
    if is_table(second):
        raise CannotJoin(
            f"`{first.name}` and `{second.name}` are both static tables",
            position=context.position(second.place),
            hint="begin with a stream: FROM stream JOIN table ON … JOIN table ON …",
        )
    kind: JoinKind = join.args["kind"]
    if kind not in _MIRRORED:
        raise CannotJoin(
            f"the {kind.value} join outputs rows of table `{first.name}` depending on whether they "
            "have a partner, and a partner may always come: no row could ever leave",
            position=context.position(join),
            hint=f"begin with the stream: FROM {second.name} {kind.value.upper()} JOIN "
            f"{first.name} ON …",
        )
    mirrored = join.copy()
    mirrored.set("kind", _MIRRORED[kind])
    return second, [(mirrored, first), *steps[1:]], first.name
