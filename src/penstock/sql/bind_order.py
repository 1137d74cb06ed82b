"""ORDER BY and ORDERED: answers come in the order of one progressing column, first to last.

A standing query has no end at which it could be sorted. So the order is a contract: a row comes out
once no lower one can come, and what never promises that cannot be ordered by. ORDERED leaves the
column to us: the end of windows, or else the one column that it can be.
"""

from __future__ import annotations

from sqlglot import exp

from penstock.errors import CannotOrder
from penstock.model.expressions import Ref
from penstock.model.schema import WINDOW_END
from penstock.plan.nodes import Node, Ordered, Project
from penstock.sql.context import Context


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
                "answers can be ordered by one column, lowest first",
                hint="write ORDER BY ts; what comes at the same time has no order",
            )
        return Ordered(node, _column(first.this, node))


def _by_itself(node: Node) -> str:
    """The column that ORDERED means."""
    usable = [name for name in node.schema.names if name in node.schema.progressing]
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
        "answers cannot be ordered: no column of theirs ever promises that lower values are over",
        hint="add the time to the columns: SELECT ts, …",
    )


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
