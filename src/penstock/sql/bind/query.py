"""The entrance: a query, bound to the names that exist, is a plan.

>>> from penstock.sql.parse.parser import parse
>>> from penstock.sql.bind.context import NoNames
>>> [select] = parse("SELECT a FROM nowhere")
>>> bind_query(select.select, NoNames("UTC"))
Traceback (most recent call last):
    ...
penstock.errors.UnknownName: no stream, table, view or query `nowhere`
  SELECT a FROM nowhere
                ^^^^^^^
  there are none
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from penstock.errors import NotExecutable
from penstock.plan.computed_columns import with_computed_columns
from penstock.plan.nodes import Node, Union
from penstock.sql.bind.context import Context, Names
from penstock.sql.bind.expression import mark_aggregates
from penstock.sql.bind.from_ import flat
from penstock.sql.bind.order import ordered
from penstock.sql.bind.rewrite.accepted import told_what_to_write
from penstock.sql.bind.select import bind_select
from penstock.sql.bind.spark_call import told_in_the_end
from penstock.sql.bind.window.emit import emitting
from penstock.sql.parse.statements import ParsedQuery
from penstock.sql.parse.syntax import DEEPEST, depth


@dataclass(frozen=True)
class BoundQuery:
    """A plan, and the names it was built from, in lower case."""

    plan: Node
    reads: frozenset[str]


def bind_query(query: ParsedQuery, names: Names) -> Node:
    """The plan of a query."""
    return bind(query, names).plan


def bind(query: ParsedQuery, names: Names, defining: str | None = None) -> BoundQuery:
    """The plan of a query that becomes the view or query `defining`."""
    context = Context(query.text, names, _bind_tree, defining, query=query.span)
    mark_aggregates(query.ast, names)
    again = told_what_to_write(lambda instead: bind_query(instead, names))
    with again, context.located(query.span), told_in_the_end():
        plan = _bind_tree(query.ast, context)
        if query.emit is not None:
            with context.located(query.emit.span):
                plan = emitting(plan, query.emit, context)
        plan = with_computed_columns(plan)
        if depth(plan, lambda node: node.children) > DEEPEST:
            raise NotExecutable(
                "this query has too many layers of views", hint="read fewer views through views"
            )
    return BoundQuery(plan, frozenset(context.reads))


def _bind_tree(tree: exp.Expr, context: Context) -> Node:
    """A query inside another, or the whole one."""
    with context.located(tree):
        context = _with_names(tree.args.get("with_"), context)
        if isinstance(tree, exp.Subquery):
            context.only(tree, "this", "with_")
            return _bind_tree(tree.this, context)
        if isinstance(tree, exp.Select):
            return ordered(bind_select(tree, context), tree.args.get("order"), context)
        if isinstance(tree, exp.Union):
            parts = flat(_bind_tree(part, context) for part in _parts(tree, context))
            return ordered(Union(tuple(parts)), tree.args.get("order"), context)
        raise NotExecutable(
            f"{tree.key.upper()} cannot be run in this release",
            hint="queries are SELECT, and UNION ALL of several",
        )


def _with_names(with_: exp.Expr | None, context: Context) -> Context:
    """The names that WITH gives, each visible to those after it."""
    if with_ is None:
        return context
    context.only(with_, "expressions")
    for cte in with_.expressions:
        context.only(cte, "this", "alias")
        context.only(cte.args["alias"], "this")
        context = context.with_local(cte.alias, _bind_tree(cte.this, context))
    return context


def _parts(union: exp.Union, context: Context) -> list[exp.Expr]:
    """The queries of a chain of unions, in order."""
    parts: list[exp.Expr] = []
    tree: exp.Expr = union
    while isinstance(tree, exp.Union):
        handled = ("order",) if tree is union else ()
        context.only(tree, "this", "expression", "distinct", "with_", *handled)
        if tree.args.get("distinct"):
            raise NotExecutable(
                "UNION without duplicates cannot be run in this release",
                position=context.position(tree.expression),
                hint="write UNION ALL, which keeps them; for a union of inputs in FROM, put them "
                "in parentheses",
            )
        parts.append(tree.expression)
        tree = tree.this
    return [tree, *reversed(parts)]
