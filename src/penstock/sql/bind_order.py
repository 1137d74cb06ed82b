"""ORDER BY: answers come in the order of one progressing column, from the first to the last.

A standing query has no end at which it could be sorted. So the order is a contract: a row comes out
once no lower one can come, and what never promises that cannot be ordered by.
"""

from __future__ import annotations

from sqlglot import exp

from penstock.errors import CannotOrder
from penstock.model.expressions import Ref
from penstock.plan.nodes import Node, Ordered, Project
from penstock.sql.context import Context


def ordered(node: Node, order: exp.Expr | None, context: Context) -> Node:
    """The node's rows in the order that the clause asks for, if there is one."""
    if order is None:
        return node
    context.only(order, "expressions")
    first, *others = order.expressions
    with context.located(order):
        if others or first.args.get("desc") or not isinstance(first.this, exp.Column):
            raise CannotOrder(
                "answers can be ordered by one column, lowest first",
                hint="write ORDER BY ts; what comes at the same time has no order",
            )
        return Ordered(node, _column(first.this, node))


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
