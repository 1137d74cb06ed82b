"""ORDER BY and ORDERED: answers come in the order of one progressing column, first to last.

A standing query has no end at which it could be sorted. So the order is a contract: a row comes out
once no lower one can come, and what does not progress cannot be ordered by. ORDERED leaves the
column to us: the end of windows, or else the one column that it can be.
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
                "answers can be ordered by one progressing column, lowest first",
                hint=_way_out(node),
            )
        on = _column(first.this, node)
        if on not in node.schema and on.lower() in map(str.lower, left_out(node)):
            raise UnknownName(f"no column `{on}` in the answers", hint=_way_out(node))
        if on in node.schema and on not in node.schema.progressing:
            raise CannotOrder(
                f"cannot order by `{on}`: it does not progress, so no row could ever come out",
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
            f"answers can be ordered by {' or '.join(usable)}: ORDERED does not say which",
            hint=f"write ORDER BY {usable[0]}",
        )
    raise CannotOrder(
        "answers cannot be ordered: none of their columns progresses",
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
        suffix = f"{asked.table}.{asked.name}".lower()
        for column in node.columns:
            if isinstance(column.value, Ref) and f".{column.value.name.lower()}".endswith(
                f".{suffix}"
            ):
                return column.name
    same = [name for name in node.schema.names if name.lower() == asked.name.lower()]
    return same[0] if same else str(asked.name)
