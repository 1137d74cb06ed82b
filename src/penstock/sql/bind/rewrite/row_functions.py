"""Functions of rows before and behind a row, and OVER.

ROW_NUMBER() OVER (ORDER BY ts)         row_num
LAG(x) OVER (PARTITION BY k …)          PREV(A.x) in MATCH_RECOGNIZE, LEAD(x) the next row's
sum(x) OVER (PARTITION BY k …)          sum(x) in a window, GROUP BY k
ROW_NUMBER() OVER (PARTITION BY k …)    last(x) in a window, GROUP BY k
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from penstock.errors import NotExecutable
from penstock.sql.bind.context import Context
from penstock.sql.bind.expression import is_aggregate
from penstock.sql.bind.rewrite.text import (
    Edit,
    as_input,
    columns_of,
    edited,
    inputs_of,
    known,
    span,
)
from penstock.sql.parse.syntax import Relation

_NUMBERS = ("row_number", "rank", "dense_rank")
_NEIGHBOURS = ("lag", "lead")
_OTHERS = ("ntile", "percent_rank", "cume_dist", "nth_value")
_HINTS = {
    **dict.fromkeys(
        _NUMBERS,
        "streams number their rows as they come, before WHERE, as row_num; in a window, first and "
        "last give one row of each key",
    ),
    **dict.fromkeys(
        _NEIGHBOURS,
        "MATCH_RECOGNIZE sees the row before and the one behind by event time, NULL where there is "
        "none",
    ),
}
_NAMES = (*_NUMBERS, *_NEIGHBOURS, *_OTHERS)


def refuse_row_functions(select: exp.Select, context: Context) -> None:
    """Refuse OVER and the functions that need it, with what gives the same or comes near."""
    found = [
        node
        for tree in (*select.expressions, select.args.get("qualify"))
        if tree is not None
        for node in tree.walk(prune=lambda n: isinstance(n, (exp.Query, exp.Window)))
        if isinstance(node, exp.Window) or _is_row_function(node, context)
    ]
    if not found:
        return
    node = found[0]
    call = node.this if isinstance(node, exp.Window) else node
    name = call.name.lower()
    hint = _HINTS.get(name, "aggregate in a window, which is written in brackets")
    raise NotExecutable(
        f"{'OVER' if isinstance(node, exp.Window) else call.name} cannot be run in this release",
        position=context.position(node),
        hint=hint,
        instead=known(_rewrites(select, node, call, context)),
    )


def _is_row_function(node: exp.Expr, context: Context) -> bool:
    is_call = isinstance(node, exp.Anonymous) and node.name.lower() in _NAMES
    return is_call and context.names.function(node.name) is None


def _rewrites(
    select: exp.Select, node: exp.Expr, call: exp.Expr, context: Context
) -> Iterator[str]:
    name = call.name.lower()
    by = [edited(context, (), span(each)) for each in node.args.get("partition_by") or ()]
    if name in _NUMBERS and not by:
        yield edited(context, [Edit(span(node), "row_num")])
    inputs = inputs_of(select)
    if inputs is None or len(inputs) != 1:
        return
    where = select.args.get("where")
    if name in _NEIGHBOURS:
        yield from _neighbours(select, inputs[0], by, context)
    condition = "" if where is None else f" {edited(context, (), span(where))}"
    keys, grouped = ", ".join(by), f" GROUP BY {', '.join(by)}" if by else ""
    if is_aggregate(call):
        results = [edited(context, (), span(call))]
    else:
        columns = (each for item in select.expressions for each in item.find_all(exp.Column))
        plain = [each.name for each in columns if each.find_ancestor(exp.Window) is None]
        order = node.args.get("order")
        ascends = order is not None and not order.expressions[0].args.get("desc")
        pick = "first" if name in _NUMBERS and ascends else "last"
        named = dict.fromkeys([*plain, *columns_of(inputs[0], context)])
        results = [f"{pick}({each}) AS {each}" for each in named if each not in by][:3]
    for length in ("10 MINUTES", "100"):
        items = ", ".join(part for part in (keys, *results) if part)
        yield f"SELECT {items} FROM {as_input(inputs[0])} [RANGE {length}]{condition}{grouped}"


def _neighbours(
    select: exp.Select, relation: Relation, by: list[str], context: Context
) -> Iterator[str]:
    """Each row as a match of its own, or with the one behind it."""
    calls = [n for n in select.find_all(exp.Anonymous) if n.name.lower() in _NEIGHBOURS]
    leads = any(call.name.lower() == "lead" for call in calls)
    if leads and any(len(call.expressions) > 1 for call in calls):
        return  # not the next row, but one behind it
    measures = []
    for number, item in enumerate(select.expressions):
        value = item.unalias()
        if isinstance(value, exp.Star):
            measures += [f"A.{c} AS {c}" for c in columns_of(relation, context) if c not in by]
            continue
        if isinstance(value, exp.Column) and value.name in by:
            continue
        own = value.name if isinstance(value, exp.Column) else f"value_{number + 1}"
        name = item.alias or own
        measures.append(f"{_of_match(value, context)} AS {name}")
    where = select.args.get("where")
    source = as_input(relation)
    if where is not None:
        source = f"(SELECT * FROM {source} {edited(context, (), span(where))})"
    partition = f"PARTITION BY {', '.join(by)} " if by else ""
    schema = context.lookup(relation.this.name).schema
    for time in (each for each in schema.names if each in schema.progressing):
        if not any(measure.endswith(f" AS {time}") for measure in measures):
            measures.append(f"A.{time} AS {time}")
        pattern = "AFTER MATCH SKIP TO NEXT ROW PATTERN (A B)" if leads else "PATTERN (A)"
        yield (
            f"SELECT * FROM {source} MATCH_RECOGNIZE ({partition}ORDER BY {time} "
            f"MEASURES {', '.join(measures)} {pattern})"
        )


def _of_match(value: exp.Expr, context: Context, variable: str = "A") -> str:
    """An expression over a row as one over the row of a match."""
    edits = []
    for node in value.walk(prune=lambda n: isinstance(n, exp.Window)):
        call = node.this if isinstance(node, exp.Window) else node
        if isinstance(call, exp.Anonymous) and call.name.lower() in _NEIGHBOURS:
            of, *steps = call.expressions
            is_lead = call.name.lower() == "lead"
            text = _of_match(of, context, "B" if is_lead else "A")
            count = "".join(f", {context.written(each)}" for each in steps[:1])
            edits.append(Edit(span(node), text if is_lead else f"PREV({text}{count})"))
        elif isinstance(node, exp.Column) and not any(_covers(edit, node) for edit in edits):
            place = span(node.this)
            edits.append(Edit(span(node), f"{variable}.{context.text[place.start : place.end]}"))
    return edited(context, edits, span(value))


def _covers(edit: Edit, node: exp.Expr) -> bool:
    return edit.span.start <= span(node).start < edit.span.end
