"""ORDER BY and ORDERED: results are output in ascending order of one progressing column.

A continuous query has no end at which it could be sorted. So a row is output once no lower one can
come, and a column that does not progress cannot be ordered by. ORDERED leaves the choice of the
column to us: the end of windows, or else the only column that progresses.
"""

from __future__ import annotations

from sqlglot import exp

from penstock.errors import CannotOrder, UnknownName
from penstock.model.expressions import Ref
from penstock.model.schema import WINDOW_END
from penstock.plan.nodes import Node, Ordered, Project
from penstock.sql.bind.context import Context
from penstock.sql.bind.scope import left_out


def ordered(node: Node, order: exp.Expr | None, context: Context) -> Node:
    """The node's rows in the order that the clause asks for, if there is one."""
    if order is None:
        return node
    context.only(order, "expressions")
    if not order.expressions:
        with context.located(order):
            return Ordered(node, _by_itself(node))
    first, *others = order.expressions
    with context.located(order):
        if others or first.args.get("desc") or not isinstance(first.this, exp.Column):
            raise CannotOrder(
                "results can be ordered by one progressing column, ascending",
                hint=_way_out(node),
            )
        on = _column(first.this, node)
        if on not in node.schema and on.lower() in map(str.lower, left_out(node)):
            raise UnknownName(f"no column `{on}` in the results", hint=_way_out(node))
        if on in node.schema and on not in node.schema.progressing:
            raise CannotOrder(
                f"cannot order by `{on}`: it does not progress, so no row could ever leave",
                hint=_way_out(node),
            )
        return Ordered(node, on)


def _by_itself(node: Node) -> str:
    """The column that ORDERED means."""
    usable = _usable(node)
    if WINDOW_END in usable:
        return WINDOW_END
    if len(usable) == 1:
        return usable[0]
    if usable:
        raise CannotOrder(
            f"results can be ordered by {' or '.join(usable)}: ORDERED does not say which",
            hint=f"write ORDER BY {usable[0]}",
        )
    raise CannotOrder(
        "results cannot be ordered: none of their columns progresses",
        hint=_way_out(node),
    )


def _usable(node: Node) -> list[str]:
    return [name for name in node.schema.names if name in node.schema.progressing]


def _way_out(node: Node) -> str:
    """By what the answers could be ordered, as it would be written."""
    usable = _usable(node)
    if usable:
        by = WINDOW_END if WINDOW_END in usable else usable[0]
        return f"write ORDER BY {by}; sort by anything else where you read the results"
    lost = left_out(node)
    if lost:
        return f"add the time to the columns: SELECT {lost[0]}, …, and ORDER BY {lost[0]}"
    return "leave it out, and sort where you read the results"


def _column(asked: exp.Column, node: Node) -> str:
    """The output column of that name; `input.column` is found under the name it comes out by."""
    if asked.table and isinstance(node, Project):
        suffix = f".{asked.table}.{asked.name}".lower()
        for column in node.columns:
            name = f".{column.value.name}" if isinstance(column.value, Ref) else ""
            if name.lower().endswith(suffix):
                return column.name
    same = [name for name in node.schema.names if name.lower() == asked.name.lower()]
    return same[0] if same else str(asked.name)
