"""One SELECT: FROM, then WHERE, then groups or columns."""

from __future__ import annotations

from sqlglot import exp

from penstock.errors import CannotWindow, NotExecutable, SyntaxFault
from penstock.model.expressions import Named, Ref
from penstock.plan.nodes import Node, Project
from penstock.sql.bind.aggregate.aggregate import bind_aggregation
from penstock.sql.bind.context import Context
from penstock.sql.bind.explode import bind_explode, in_from, refuse_with_aggregates
from penstock.sql.bind.expression import ExpressionBinder
from penstock.sql.bind.from_ import Input, bind_relation
from penstock.sql.bind.join.join import Step, bind_joins
from penstock.sql.bind.join.sequence import bind_sequence, sequence_of
from penstock.sql.bind.join.table_join import only_stream
from penstock.sql.bind.output_names import Item, select_items
from penstock.sql.bind.rewrite.distinct import refuse_distinct
from penstock.sql.bind.rewrite.group_windows import refuse_group_windows
from penstock.sql.bind.rewrite.latest_row import refuse_as_of
from penstock.sql.bind.rewrite.row_functions import refuse_row_functions
from penstock.sql.bind.rewrite.semi_join import refuse_subqueries
from penstock.sql.bind.scope import Scope
from penstock.sql.bind.window.find import aggregate_calls
from penstock.sql.parse.syntax import ExplodeClause

#: What other systems have, with the query to write instead.
_REFUSED = (
    refuse_as_of,
    refuse_subqueries,
    refuse_row_functions,
    refuse_group_windows,
    refuse_distinct,
)


def bind_select(select: exp.Select, context: Context) -> Node:
    """The plan of a SELECT."""
    if select.expressions and select.args.get("from_"):
        for refuse in _REFUSED:
            refuse(select, context)
    context.only(
        select, "expressions", "from_", "joins", "where", "group", "having", "with_", "order"
    )
    if not select.expressions or not select.args.get("from_"):
        raise SyntaxFault(
            "SELECT needs columns and a stream to take them from",
            hint="write SELECT … FROM stream",
        )
    relation, joined = select.args["from_"].this, select.args.get("joins") or []
    where = select.args.get("where")
    condition = where.this if where else None
    sequence = sequence_of(relation)
    steps: list[Step] = []
    if sequence is not None:
        node, first = bind_sequence(relation, sequence, joined, condition, context)
        scope = first.scope
    else:
        first = bind_relation(relation, context)
        steps = [
            join if isinstance(join, ExplodeClause) else (join, bind_relation(join.this, context))
            for join in joined
        ]
        node, scope = bind_joins(first, steps, condition, context)
    others = (step[1] for step in steps if not isinstance(step, ExplodeClause))
    alone = only_stream([first, *others])
    having = select.args.get("having")
    trees = [*select.expressions, *([having.this] if having else [])]
    for tree in trees:
        ExpressionBinder(context, scope).check_shapes(tree)
    if select.args.get("group") or aggregate_calls(trees):
        refuse_with_aggregates(select, context)
        items = select_items(select.expressions, scope, context)
        return bind_aggregation(select, items, node, scope, alone, context)
    if having:
        raise SyntaxFault(
            "HAVING without an aggregate", position=context.position(having), hint="write WHERE"
        )
    if alone is not None:
        _check_no_window(alone, context)
    columns, clause = in_from(select, scope, context)
    if clause is not None:
        node, scope = bind_explode(clause, node, scope, context)
    return _project(select_items(columns, scope, context), node, scope, context)


def _check_no_window(input_: Input, context: Context) -> None:
    """A window with nothing to compute over it would be ignored."""
    if input_.clause is not None:
        raise CannotWindow(
            "this window has no effect: the query neither aggregates nor joins",
            position=context.position(input_.clause.span),
            hint="leave it out, or aggregate: SELECT count(*) FROM …",
        )
    if input_.window is not None:
        raise NotExecutable(
            "a table function without an aggregate cannot be run in this release",
            position=context.position(input_.place),
            hint="aggregate, with GROUP BY window_start, window_end",
        )


def _project(items: list[Item], node: Node, scope: Scope, context: Context) -> Node:
    binder = ExpressionBinder(context, scope)
    columns = tuple(
        Named(
            item.name,
            binder.bind(item.value) if isinstance(item.value, exp.Expr) else item.value.ref,
        )
        for item in items
    )
    unchanged = tuple(Named(c.name, Ref(c.name, c.type)) for c in node.schema)
    hides_something = any(field.hidden for field in scope.fields)
    # Over a stream itself the projection stays: without it a row number that was asked for would
    # become the hidden one again.
    if columns == unchanged and not hides_something:
        return node
    return Project(node, columns)
