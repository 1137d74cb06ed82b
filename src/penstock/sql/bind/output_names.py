"""What the columns of a result are called.

An alias is kept. A column keeps the name it was declared with. An aggregate is called after its
function and column: `count`, `max_length`. Anything else is `expr_1`, `expr_2`, … Names that would
clash get a number: `srcIP`, `srcIP_2`. Two equal aliases are the user's mistake.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from penstock.errors import DuplicateName, NotExecutable
from penstock.model.schema import WINDOW_END, WINDOW_START
from penstock.sql.bind.context import Context
from penstock.sql.bind.expression import filtered, hyphenated, is_aggregate
from penstock.sql.bind.scope import Field, Scope, unique
from penstock.sql.parse.syntax import Windowed

#: How Spark's window columns are called here.
WINDOW_FIELDS = {"start": WINDOW_START, "end": WINDOW_END}


@dataclass(frozen=True)
class Item:
    """One column of SELECT: its name, and the tree or the field that gives it."""

    name: str
    value: exp.Expr | Field
    place: exp.Expr
    is_alias: bool = False


def select_items(trees: list[exp.Expr], scope: Scope, context: Context) -> list[Item]:
    """The columns of a SELECT list, stars written out, each with its final name."""
    items: list[Item] = []
    for tree in trees:
        with context.located(tree):
            items += _items_of(tree, scope, context)
    taken = _aliases(items, context)
    named = []
    unnamed = 0
    for item in items:
        name = item.name
        if not name:
            unnamed += 1
            name = f"expr_{unnamed}"
        if not item.is_alias:
            name = unique(name, taken)
            taken.append(name)
        named.append(replace(item, name=name))
    return named


def _items_of(tree: exp.Expr, scope: Scope, context: Context) -> list[Item]:
    if isinstance(tree, exp.Star):
        context.only(tree)
        return [Item(field.name, field, tree) for field in scope.visible]
    if isinstance(tree, exp.Column) and isinstance(tree.this, exp.Star):
        context.only(tree, "this", "table")
        context.only(tree.this)
        struct = scope.struct(tree.table)
        if struct is not None:
            column = exp.Column(this=tree.args["table"])
            named = [(name, exp.to_identifier(name, quoted=True)) for name, _ in struct.fields]
            return [Item(name, exp.Dot(this=column, expression=of), tree) for name, of in named]
        return [Item(field.name, field, tree) for field in scope.of_relation(tree.table)]
    if isinstance(tree, exp.Alias):
        return [Item(tree.alias, tree.this, tree, is_alias=True)]
    if isinstance(tree, exp.Aliases):
        raise NotExecutable("one expression cannot have several names")
    return [Item(default_name(tree, scope), tree, tree)]


def default_name(tree: exp.Expr, scope: Scope) -> str:
    """The name of a column without an alias; empty where nothing suggests one."""
    tree = tree.unnest()
    if isinstance(tree, exp.Sub) and (column := hyphenated(tree, scope)) is not None:
        tree = column
    if isinstance(tree, exp.Column):
        if tree.table.lower() == "window" and tree.name.lower() in WINDOW_FIELDS:
            return WINDOW_FIELDS[tree.name.lower()]
        known = scope.has(tree.name, tree.table or None)
        return scope.resolve(tree.name, tree.table or None).name if known else tree.name
    if isinstance(tree, exp.Dot):
        of_window = isinstance(tree.this, exp.Anonymous)
        return WINDOW_FIELDS.get(tree.expression.name.lower(), "" if of_window else tree.name)
    if isinstance(tree, exp.Bracket):
        return default_name(tree.this, scope)
    if isinstance(tree, Windowed):
        return default_name(tree.this, scope)
    if is_aggregate(tree):
        tree, _ = filtered(tree)
        function = tree.name.lower()
        argument = tree.expressions[0] if tree.expressions else None
        if isinstance(argument, exp.Distinct) and len(argument.expressions) == 1:
            argument = argument.expressions[0]
        of = default_name(argument, scope) if isinstance(argument, (exp.Column, exp.Sub)) else ""
        return f"{function}_{of}" if of else function
    return ""


def _aliases(items: list[Item], context: Context) -> list[str]:
    """The names that the user chose."""
    seen: set[str] = set()
    for item in items:
        if item.is_alias and item.name.lower() in seen:
            raise DuplicateName(
                f"two columns are called `{item.name}`",
                position=context.position(item.place),
                hint=f"give one of them another name: … AS {item.name}_2",
            )
        if item.is_alias:
            seen.add(item.name.lower())
    return [item.name for item in items if item.is_alias]
