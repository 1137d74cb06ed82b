"""SELECT with aggregates: groups, results, window -> a WindowAggregate and what stands around it.

    Project           the SELECT list, where it differs from what the aggregate gives
      Select          HAVING
        WindowAggregate
          Project     computed group keys
            …

Without a window, a group key that progresses serves as one: a tumbling window on it, one tick wide
or for a DATE one day, whose start is the key itself, so that the key still progresses in the
result. Keys that are computed, and days, are measured in a column of their own below.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from penstock.errors import CannotWindow, NotExecutable, QueryError
from penstock.model.expressions import Cast, Expression, Named, Ref
from penstock.model.schema import ROW_NUM, WINDOW_END
from penstock.model.timestamps import DAY
from penstock.model.types import Type
from penstock.plan.nodes import Node, Numbered, Project, Select
from penstock.sql.bind.aggregate.builder import ENDS, AggregateBuilder
from penstock.sql.bind.aggregate.group_keys import group_trees, is_window_end
from penstock.sql.bind.aggregate.post_aggregate import PostAggregateBinder
from penstock.sql.bind.context import Context
from penstock.sql.bind.expression import ExpressionBinder
from penstock.sql.bind.from_ import Input
from penstock.sql.bind.output_names import Item
from penstock.sql.bind.rewrite.distinct import once_per_window
from penstock.sql.bind.scope import Field, Scope, telling_its_end, unique
from penstock.sql.bind.window.find import aggregate_calls, find_window
from penstock.sql.bind.window.function import is_session_call, is_window_call
from penstock.sql.bind.window.window import BoundWindow, counted_in
from penstock.windows import Cumulating, Session, Window, tumbling


def bind_aggregation(
    select: exp.Select,
    items: list[Item],
    node: Node,
    scope: Scope,
    input_: Input | None,
    context: Context,
) -> Node:
    """The plan of a SELECT with GROUP BY or aggregates; `input_`: its only stream, if so."""
    having = select.args.get("having")
    trees = [item.value for item in items if isinstance(item.value, exp.Expr)]
    calls = aggregate_calls([*trees, *([having.this] if having else [])])
    groups = group_trees(select.args.get("group"), items, scope, context)
    ending = telling_its_end(node)
    counting = scope.counting_rows(ending)
    bound = find_window(calls, groups, input_, counting, context)
    if counting is not scope and bound is not None and ROW_NUM in bound.window.columns():
        node, scope = Numbered(ending), counting
    if not calls:
        raise NotExecutable(
            "GROUP BY without an aggregate cannot be run in this release",
            position=context.position(select.args["group"]),
            hint="add an aggregate, such as count(*), in a window",
            instead=once_per_window(select, context),
        )
    if input_ is not None and input_.window is not None:
        _check_grouped_by_window(input_.window, groups, input_, context)
    keys = _bind_keys(groups, bound, scope, context)
    if bound is not None:
        node = _with_measured(node, bound.window, scope)
        named = _named(keys, items, node, scope, context)
        window = bound.window
        if isinstance(window, Session) and any(map(is_session_call, groups)):
            window = replace(window, partition=tuple(named.values()))
        shape = AggregateBuilder(node, window, named)
    else:
        key = _progressing_key(keys, node, scope, context, calls[0])
        node, window = _window_of_key(key, node, scope)
        others = _named([k for k in keys if k != key], items, node, scope, context)
        shape = AggregateBuilder(node, window, others, key_of_window=key)
    binder = PostAggregateBinder(context, scope, shape)
    outputs = [Named(item.name, binder.item(item)) for item in items]
    condition = binder.bind(having.this) if having else None
    plan: Node = shape.node()
    if condition is not None:
        with context.located(having):
            plan = Select(plan, condition)
    if bound is not None:
        outputs = _with_window_ends(outputs, shape)
    unchanged = [Named(column.name, Ref(column.name, column.type)) for column in plan.schema]
    return plan if outputs == unchanged else Project(plan, tuple(outputs))


def _check_grouped_by_window(
    window: Window, groups: list[exp.Expr], input_: Input, context: Context
) -> None:
    """A table function only labels rows with windows; GROUP BY makes groups of them."""
    named = {group.name.lower() for group in groups if isinstance(group, exp.Column)}
    # Extents of CUMULATE share their start.
    enough = {WINDOW_END} if isinstance(window, Cumulating) else set(ENDS)
    if not named & enough:
        raise CannotWindow(
            "the groups would never end: GROUP BY does not name the window",
            position=context.position(input_.place),
            hint="write GROUP BY window_start, window_end",
        )


def _bind_keys(
    groups: list[exp.Expr], bound: BoundWindow | None, scope: Scope, context: Context
) -> list[Expression]:
    """The group keys over the input: those of PA, then those of GROUP BY."""
    binder = ExpressionBinder(context, scope)
    keys: list[Expression] = [f.ref for f in bound.partition] if bound else []
    for group in groups:
        # The window makes its own groups; naming its ends adds nothing.
        if is_window_call(group) or (bound is not None and is_window_end(group, scope)):
            continue
        keys.append(binder.bind(group))
    return list(dict.fromkeys(keys))


def _with_measured(node: Node, window: Window, scope: Scope) -> Node:
    """The input, with the column that the window is measured on."""
    if window.on in node.schema:
        return node
    [measured] = {f.measured for f in scope.fields if f.measured.name == window.on}
    return _with_column(node, measured)


def _window_of_key(key: Expression, node: Node, scope: Scope) -> tuple[Node, Window]:
    """A window for each value of a key that progresses, and the input that has the key."""
    for field in scope.fields:
        if field.ref == key and field.type is not Type.DATE:
            return node, tumbling(field.column, 1, unit=counted_in(field))
    is_day = key.type is Type.DATE
    measured = Cast(key, Type.TIMESTAMP) if is_day else key
    name = unique("key", [*ENDS, *node.schema.names])
    is_time = measured.type.is_time
    window = tumbling(name, DAY if is_day else 1, unit="time" if is_time else "number")
    return _with_column(node, Named(name, measured)), window


def _with_column(node: Node, column: Named) -> Node:
    return Project(node, (*(Named(c.name, Ref(c.name, c.type)) for c in node.schema), column))


def _progressing_key(
    keys: list[Expression], node: Node, scope: Scope, context: Context, place: exp.Expr
) -> Expression:
    """The key that ends groups without a window: a column, or what is computed of one."""
    progressing = {field.ref: field for field in scope.fields if field.progresses}
    computed = Project(node, tuple(Named(f"{n}", key) for n, key in enumerate(keys)))
    found = [key for n, key in enumerate(keys) if f"{n}" in computed.schema.progressing]
    for key in sorted(found, key=lambda key: key not in progressing):
        return key
    written = context.written(place)
    raise CannotWindow(
        f"`{written}` would never have a result: it has no window",
        position=context.position(place),
        hint=_way_to_end(written, list(progressing.values()), scope),
    )


def _way_to_end(written: str, progressing: list[Field], scope: Scope) -> str:
    """How an aggregate gets an end."""
    if not progressing and scope.lost:
        return (
            f"add `{scope.lost[0]}` to the columns of the subquery, and a window: "
            f"{written} [RANGE 10 MINUTES]"
        )
    if not progressing:
        return "there is no timestamp here to window on: aggregate where the streams are read"
    has_time = any(field.type.is_time for field in progressing)
    length = "10 MINUTES, SLIDE 1 MINUTE" if has_time else "1000 ROWS, SLIDE 100 ROWS"
    if not has_time and all(field.name != ROW_NUM for field in progressing):
        length = f"1000, WA {progressing[0]}"
    usable = ", ".join(map(str, progressing))
    return f"write {written} [RANGE {length}], or GROUP BY a column that progresses: {usable}"


def _named(
    keys: list[Expression], items: list[Item], node: Node, scope: Scope, context: Context
) -> dict[Expression, str]:
    """Names for the keys: columns keep theirs unless a window's end has it."""
    taken = [*ENDS, *node.schema.names]
    named: dict[Expression, str] = {}
    for key in keys:
        if isinstance(key, Ref) and key.name not in ENDS:
            named[key] = key.name
            continue
        wanted = key.name if isinstance(key, Ref) else _item_name(key, items, scope, context)
        named[key] = unique(wanted, taken)
        taken.append(named[key])
    return named


def _item_name(key: Expression, items: list[Item], scope: Scope, context: Context) -> str:
    """The name under which the SELECT list shows a computed key."""
    binder = ExpressionBinder(context, scope)
    for item in items:
        if isinstance(item.value, exp.Expr) and not aggregate_calls([item.value]):
            try:
                if binder.bind(item.value) == key:
                    return item.name
            except QueryError:
                continue  # an expression over the window's ends, say: no key
    return "key"


def _with_window_ends(outputs: list[Named], shape: AggregateBuilder) -> list[Named]:
    """The columns selected, and the window's ends if they are not among them."""
    for end in ENDS:
        if shape.end(end) not in [output.value for output in outputs]:
            name = unique(end, [output.name for output in outputs])
            outputs = [*outputs, Named(name, shape.end(end))]
    return outputs
