"""SELECT DISTINCT -> each row once per window.

SELECT DISTINCT a FROM s     SELECT a, count(*) [RANGE 10 MINUTES] AS n FROM s GROUP BY ALL
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from penstock.errors import NotExecutable
from penstock.sql.bind.context import Context
from penstock.sql.bind.rewrite.text import (
    Edit,
    as_input,
    before_from,
    columns_of,
    edited,
    end_of_where,
    inputs_of,
    known,
    named,
    span,
)
from penstock.sql.parse.syntax import Span


def refuse_distinct(select: exp.Select, context: Context) -> None:
    """Refuse DISTINCT, and GROUP BY without an aggregate, with a window to write instead."""
    distinct = select.args.get("distinct")
    if distinct is None:
        return
    is_on = distinct.args.get("on") is not None
    place = distinct.args["on"] if is_on else distinct
    raise NotExecutable(
        f"DISTINCT{' ON' if is_on else ''} cannot be run in this release: without a window every "
        "row would have to be stored for ever",
        position=context.position(place),
        hint="write GROUP BY with a window, which gives each row once per window",
        instead=(
            known(_newest(select, distinct.args["on"].expressions, context))
            if is_on
            else once_per_window(select, context, distinct)
        ),
    )


def once_per_window(
    select: exp.Select, context: Context, distinct: exp.Expr | None = None
) -> tuple[str, ...]:
    """The same columns, once in each window of 10 minutes."""
    if any(select.args.get(name) for name in ("order", "having", "limit")):
        return ()
    return known(_rewrites(select, context, distinct))


def _rewrites(select: exp.Select, context: Context, distinct: exp.Expr | None) -> Iterator[str]:
    head = [] if distinct is None else [Edit(_with_blank(distinct, context), "")]
    group = select.args.get("group")
    place = end_of_where(select) if group is None else span(group)
    by = " GROUP BY ALL" if group is None else context.text[place.start : place.end]
    for count in _counts(select, context):
        yield edited(context, [*head, Edit(before_from(select, context), count), Edit(place, by)])


def _newest(select: exp.Select, keys: list[exp.Expr], context: Context) -> Iterator[str]:
    """The newest row of each key in each window."""
    inputs, where = inputs_of(select), select.args.get("where")
    if inputs is None or len(inputs) != 1:
        return
    by = [edited(context, (), span(key)) for key in keys]
    others = [item for item in select.expressions if context.written(item.unalias()) not in by]
    results = [
        f"last({edited(context, (), span(item.unalias()))}) AS {item.alias_or_name or 'value'}"
        for item in others
    ]
    condition = "" if where is None else f" {edited(context, (), span(where))}"
    columns = ", ".join([*by, *(results or ["count(*) AS n"])])
    for length in ("10 MINUTES", "100"):
        window = f"{as_input(inputs[0])} [RANGE {length}]"
        yield f"SELECT {columns} FROM {window}{condition} GROUP BY {', '.join(by)}"


def _counts(select: exp.Select, context: Context) -> Iterator[str]:
    """A count in a window, on the only time or on that of an input, of time or of numbers."""
    yield ", count(*) AS n"
    yield ", count(*) [RANGE 10 MINUTES] AS n"
    inputs = inputs_of(select) or []
    for each in inputs:
        for column in columns_of(each, context):
            progressing = context.lookup(each.this.name).schema.progressing
            if column in progressing:
                yield f", count(*) [RANGE 10 MINUTES, WA {named(each)}.{column}] AS n"
                yield f", count(*) [RANGE 100, WA {named(each)}.{column}] AS n"


def _with_blank(node: exp.Expr, context: Context) -> Span:
    """A word and the blanks behind it."""
    place = span(node)
    rest = context.text[place.end :]
    return Span(place.start, place.end + len(rest) - len(rest.lstrip()))
