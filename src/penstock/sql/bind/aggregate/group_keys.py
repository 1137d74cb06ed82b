"""GROUP BY: columns, expressions, positions and aliases -> trees over the input."""

from __future__ import annotations

from sqlglot import exp

from penstock.errors import NotExecutable, SyntaxFault
from penstock.model.schema import WINDOW_END, WINDOW_START
from penstock.sql.bind.context import Context
from penstock.sql.bind.output_names import Item
from penstock.sql.bind.scope import Scope
from penstock.sql.bind.window.find import aggregate_calls


def group_trees(
    group: exp.Expr | None, items: list[Item], scope: Scope, context: Context
) -> list[exp.Expr]:
    """What is grouped by; a name is a column of the input before it is an alias."""
    if group is None:
        return []
    context.only(group, "expressions", "all")
    if group.args.get("all") and not group.expressions:
        # Everything that is selected and is no aggregate, nor an end of the window.
        trees = [_value(item) for item in items]
        return [t for t in trees if not aggregate_calls([t]) and not is_window_end(t, scope)]
    for tree in group.expressions:
        if isinstance(tree, (exp.Rollup, exp.Cube, exp.GroupingSets)):
            raise NotExecutable(
                "several groupings at once cannot be run in this release",
                position=context.position(group),
                hint="write one query for each",
            )
    if not group.expressions:
        raise SyntaxFault("GROUP BY is empty", hint="write GROUP BY column")
    return [_group_tree(tree, items, scope, context) for tree in group.expressions]


def _group_tree(tree: exp.Expr, items: list[Item], scope: Scope, context: Context) -> exp.Expr:
    if isinstance(tree, exp.Literal) and not tree.is_string:
        return _at_position(tree, items, context)
    if isinstance(tree, exp.Column) and not tree.table and not scope.has(tree.name):
        for item in items:
            if item.is_alias and item.name.lower() == tree.name.lower():
                return _value(item)
    return tree


def _at_position(tree: exp.Literal, items: list[Item], context: Context) -> exp.Expr:
    text = str(tree.this)
    if not text.isdigit() or not 1 <= int(text[:9]) <= len(items):
        raise SyntaxFault(
            f"GROUP BY {text}: there is no such column in SELECT",
            position=context.position(tree),
            hint=f"positions go from 1 to {len(items)}",
        )
    return _value(items[int(text) - 1])


def _value(item: Item) -> exp.Expr:
    """The tree of a SELECT item; one from a star becomes a column again."""
    if isinstance(item.value, exp.Expr):
        return item.value
    table = exp.Identifier(this=item.value.qualifier) if item.value.qualifier else None
    return exp.Column(this=exp.Identifier(this=item.value.name), table=table)


def is_window_end(group: exp.Expr, scope: Scope) -> bool:
    """Whether this is the start or end of the query's own window, not a column of the input."""
    return (
        isinstance(group, exp.Column)
        and not group.table
        and group.name.lower() in (WINDOW_START, WINDOW_END)
        and not scope.has(group.name)
    )
