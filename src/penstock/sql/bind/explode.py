"""LATERAL VIEW, LATERAL and UNNEST: a row for each element of an array, or entry of a map.

    function       columns of an element                 position
    explode        the element; of a map key and value
    posexplode     the same                              before them, from 0 on
    inline         the fields of a struct
    UNNEST         as explode, or of an array of         WITH ORDINALITY: behind them, from 1 on
                   structs as many as are named: the
                   struct, or its fields

In a SELECT list such a call stands for these columns, and is taken out of it: no name but that of
the column reaches them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from sqlglot import exp

from penstock.errors import CannotJoin, DuplicateName, NotExecutable, TypeMismatch
from penstock.model.exploding import Exploding, parts_of
from penstock.model.expressions import Expression
from penstock.model.types import ArrayType, StructType
from penstock.plan.nodes import Explode, Node
from penstock.sql.bind.context import Context
from penstock.sql.bind.expression import ExpressionBinder
from penstock.sql.bind.scope import Field, Scope, unique
from penstock.sql.parse.grammar_explode import GENERATORS, UNNEST
from penstock.sql.parse.positions import cover, span_of
from penstock.sql.parse.syntax import ExplodeClause

Tree = TypeVar("Tree", bound=exp.Expr)

#: What the position is called if nobody names it.
_POSITION, _ORDINALITY = "pos", "ordinality"


def bind_explode(
    clause: ExplodeClause, node: Node, scope: Scope, context: Context, *, joined: bool = False
) -> tuple[Node, Scope]:
    """The node's rows, one for each element, and what can be named then.

    `joined`: the columns of the node are called `input.column`, as those of a join are.
    """
    with context.located(clause):
        of, fields = exploding(clause, scope, context)
        alias = clause.args.get("alias")
        prefix = f"{alias.name}." if joined and alias is not None else ""
        taken = list(node.schema.names)
        columns: dict[str, str] = {}
        for name in (*of.names, *((of.position,) if of.position is not None else ())):
            columns[name] = unique(prefix + name, taken)
            taken.append(columns[name])
        position = None if of.position is None else columns[of.position]
        named = replace(of, names=tuple(columns[n] for n in of.names), position=position)
        found = Explode(node, node.schema.names, named)
    added = (replace(field, column=columns[field.column]) for field in fields)
    return found, replace(scope, fields=(*scope.fields, *added))


def exploding(
    clause: ExplodeClause, scope: Scope, context: Context
) -> tuple[Exploding, tuple[Field, ...]]:
    """What a clause explodes, and the columns that come of it, in the order of `*`."""
    with context.located(clause):
        value = ExpressionBinder(context, scope).bind(clause.args["value"])
        function = clause.this
        with context.located(clause.args["value"]):
            _check(function, value, context.written(clause.args["value"]))
        counts = function == "posexplode" or bool(clause.args.get("ordinality"))
        names, in_parts = _names(clause, value, counts)
        _check_names(clause, names, scope, context)
        position = None
        if counts:
            position = names[-1] if function == UNNEST else names[0]
        parts = [name for name in names if name != position]
        of = Exploding(
            value,
            tuple(parts),
            position,
            first=int(function == UNNEST),
            outer=bool(clause.args.get("outer")),
            fields=in_parts,
        )
        types = {column.name: column.type for column in of.columns}
        alias = clause.args.get("alias")
        qualifier = None if alias is None else alias.name
        hidden = bool(clause.args.get("hidden"))
        return of, tuple(
            Field(
                hidden_name(clause, name) if hidden else name,
                types[name],
                name,
                qualifier,
                hidden=hidden,
            )
            for name in names
        )


def _check(function: str, value: Expression, written: str) -> None:
    if function == "inline":
        of = value.type.element if isinstance(value.type, ArrayType) else None
        if not isinstance(of, StructType):
            raise TypeMismatch(
                f"inline takes an array of structs, and `{written}` is {value.type}",
                hint="write explode(…)",
            )
    else:
        try:
            parts_of(value, fields=False)
        except TypeMismatch:
            raise TypeMismatch(
                f"{function} takes an array or a map, and `{written}` is {value.type}",
                hint="fields of a struct are taken by their names: s.field",
            ) from None


def _names(clause: ExplodeClause, value: Expression, counts: bool) -> tuple[list[str], bool]:
    """The names of all columns, in their order; and whether fields of structs become columns."""
    function, given = clause.this, [each.name for each in clause.args.get("columns") or ()]
    ways = [function == "inline"]
    element = value.type.parts[0]
    if function == UNNEST and isinstance(value.type, ArrayType):
        ways = [True, False] if isinstance(element, StructType) else [False]
    expected = []
    for in_parts in ways:
        names = [name for name, _ in parts_of(value, in_parts)]
        if counts:
            names = [*names, _ORDINALITY] if function == UNNEST else [_POSITION, *names]
        if not given or len(given) == len(names):
            return given or names, in_parts
        expected.append(", ".join(names))
    number = f"{len(given)} {'name' if len(given) == 1 else 'names'}"
    raise TypeMismatch(
        f"{number} for other columns than there are: {'; or '.join(expected)}",
        hint="name each of them, or none",
    )


def _check_names(clause: ExplodeClause, names: list[str], scope: Scope, context: Context) -> None:
    lower = [name.lower() for name in names]
    for name in names:
        if lower.count(name.lower()) > 1:
            raise DuplicateName(
                f"two columns are called `{name}`", hint="give one of them another name"
            )
    alias = clause.args.get("alias")
    known = {field.qualifier.lower() for field in scope.fields if field.qualifier is not None}
    if alias is not None and alias.name.lower() in known:
        raise CannotJoin(
            f"two inputs are called `{alias.name}`",
            position=context.position(alias),
            hint="give the elements another name: … AS other",
        )


# --- in the SELECT list --------------------------------------------------------------------------


def generator_of(tree: exp.Expr) -> exp.Anonymous | None:
    """The call of a function that gives rows, where a column of SELECT is one."""
    call = tree.this if isinstance(tree, exp.Alias | exp.Aliases) else tree
    if isinstance(call, exp.Anonymous) and call.name.lower() in GENERATORS:
        return call
    return None


def in_from(
    select: exp.Select, scope: Scope, context: Context
) -> tuple[list[exp.Expr], ExplodeClause | None]:
    """The columns of a SELECT, and what of them belongs into FROM; None: nothing.

    `scope` is that of FROM.
    """
    calls = [call for tree in select.expressions if (call := generator_of(tree)) is not None]
    if not calls:
        return select.expressions, None
    if len(calls) > 1 or len(calls[0].expressions) != 1:
        raise NotExecutable(
            f"`{context.written(calls[-1])}`: one call that gives rows is allowed in a SELECT, "
            "with one argument",
            position=context.position(calls[-1]),
            hint=_WAY_OUT,
        )
    clause, trees = None, []
    for tree in select.expressions:
        call = generator_of(tree)
        if call is None:
            trees.append(tree)
            continue
        clause = _clause(tree, call)
        _, fields = exploding(clause, scope, context)
        for field in fields:
            column = exp.Column(this=exp.Identifier(this=field.name, quoted=True))
            item = exp.Alias(this=column, alias=exp.Identifier(this=field.column, quoted=True))
            trees.append(_at(item, tree))
    return trees, clause


_WAY_OUT = "write it in FROM: … LATERAL VIEW explode(array) t AS element"


def _clause(tree: exp.Expr, call: exp.Anonymous) -> ExplodeClause:
    name = call.name.lower()
    columns = []
    if isinstance(tree, exp.Alias):
        columns = [tree.args["alias"]]
    elif isinstance(tree, exp.Aliases):
        columns = tree.expressions
    clause = ExplodeClause(
        this=name.removesuffix("_outer"),
        value=call.expressions[0],
        outer=name.endswith("_outer"),
        columns=columns,
        hidden=True,
    )
    return _at(clause, tree)


def _at(node: Tree, place: exp.Expr) -> Tree:
    """The node, with the place of another one."""
    span = span_of(place)
    if span is not None:
        cover(node, span)
    return node


def hidden_name(clause: ExplodeClause, name: str) -> str:
    """What nobody would write."""
    return f"{name} of {clause.this}(…)"


def refuse_with_aggregates(select: exp.Select, context: Context) -> None:
    """Refuse a call that gives rows beside aggregates, which are over rows."""
    for tree in select.expressions:
        call = generator_of(tree)
        if call is not None:
            raise NotExecutable(
                f"`{context.written(call)}` gives rows, and stands beside an aggregate or GROUP BY",
                position=context.position(call),
                hint=_WAY_OUT,
            )
