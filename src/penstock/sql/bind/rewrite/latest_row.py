"""ASOF JOIN and FOR SYSTEM_TIME AS OF -> the latest row before each row.

a ASOF JOIN b ON a.k = b.k AND a.ts >= b.ts      SEQ(b, a) MODE RECENT WHERE a.k = b.k AND …
a JOIN b FOR SYSTEM_TIME AS OF a.ts ON …         the same; of a static table: a JOIN b ON …
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from penstock.errors import NotExecutable
from penstock.sql.bind.context import Context
from penstock.sql.bind.rewrite.text import (
    Edit,
    as_input,
    edited,
    end_of_from,
    inputs_of,
    known,
    span,
)
from penstock.sql.parse.syntax import Relation, Span, StreamJoin


def refuse_as_of(select: exp.Select, context: Context) -> None:
    """Refuse joins with the row that was valid at a time, with the sequence to write instead."""
    joins = [join for join in select.args.get("joins") or [] if isinstance(join, StreamJoin)]
    relations = [select.args["from_"].this, *(join.this for join in joins)]
    for relation in relations:
        as_of: Span | None = (isinstance(relation, Relation) and relation.args.get("as_of")) or None
        if as_of is not None:
            raise NotExecutable(
                "FOR SYSTEM_TIME cannot be run in this release",
                position=context.position(as_of),
                hint="join a static table as it is, and the latest row of a stream by SEQ",
                instead=known(_rewrites(select, joins, context)),
            )
    for join in joins:
        if join.args.get("asof") is not None:
            raise NotExecutable(
                "ASOF JOIN cannot be run in this release",
                position=context.position(join.args["asof"]),
                hint="SEQ … MODE RECENT gives each row with the latest one before it, and leaves "
                "out rows that have none",
                instead=known(_rewrites(select, joins, context)),
            )


def _rewrites(select: exp.Select, joins: list[StreamJoin], context: Context) -> Iterator[str]:
    inputs = inputs_of(select)
    if inputs is None:
        return
    plain = []
    for join, relation in zip(joins, inputs[1:], strict=True):
        if join.args.get("asof") is not None:
            plain.append(Edit(join.args["asof"], f"{join.args['kind'].name} JOIN"))
        if relation.args.get("as_of") is not None:
            plain.append(Edit(relation.args["as_of"], ""))
    yield edited(context, plain)  # a static table has one version
    if len(inputs) != 2 or inputs[0].args.get("clause"):
        return
    first, second = inputs
    on, where = joins[0].args.get("on"), select.args.get("where")
    steps = Edit(
        Span(span(first).start, end_of_from(select).end),
        f"SEQ({as_input(second)}, {as_input(first)}) MODE RECENT",
    )
    if on is None:
        yield edited(context, [steps])
        return
    condition = edited(context, (), span(on))
    if where is None:
        text = f"{steps.text} WHERE {condition}"
        yield edited(context, [Edit(steps.span, text)])
    else:
        start = Span(span(where.this).start, span(where.this).start)
        yield edited(context, [steps, Edit(start, f"{condition} AND ")])
