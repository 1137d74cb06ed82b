"""Which window the aggregates of a SELECT have.

It is said once, in one of four places: in brackets behind the aggregates, in brackets behind the
input, by a table function in FROM, or by `window(…)` in GROUP BY. Without any of them a query can
still end its groups if it groups by a column that progresses: each value is over some time.
"""

from __future__ import annotations

from sqlglot import exp

from penstock.errors import CannotWindow, NotExecutable
from penstock.sql.bind.context import Context
from penstock.sql.bind.expression import is_aggregate
from penstock.sql.bind.from_ import Input
from penstock.sql.bind.scope import Scope
from penstock.sql.bind.window.function import bind_window_call, is_window_call
from penstock.sql.bind.window.window import BoundWindow, bind_window
from penstock.sql.parse.syntax import Windowed
from penstock.windows import Session, Sliding, Window, ends_with


def aggregate_calls(trees: list[exp.Expr]) -> list[exp.Expr]:
    """Every aggregate in these trees, and everything else that has a window behind it."""
    return [
        node
        for tree in trees
        for node in tree.walk(prune=lambda n: isinstance(n, (exp.Query, exp.Filter, Windowed)))
        if isinstance(node, Windowed) or is_aggregate(node)
    ]


def find_window(
    calls: list[exp.Expr],
    groups: list[exp.Expr],
    input_: Input | None,
    scope: Scope,
    context: Context,
) -> BoundWindow | None:
    """The one window of these aggregates; None if nothing says which. `input_`: its only stream."""
    outside = _outside(groups, input_, scope, context)
    bracketed = [call for call in calls if isinstance(call, Windowed)]
    if not bracketed:
        return outside
    if outside is not None:
        raise CannotWindow(
            "there are two windows for this aggregate",
            position=context.position(bracketed[0]),
            hint="keep the one after the aggregate or the other",
        )
    for call in calls:
        if not isinstance(call, Windowed):
            raise CannotWindow(
                f"`{context.written(call)}` has no window, and another aggregate has one",
                position=context.position(call),
                hint="put the window after the stream instead, for all aggregates: "
                "FROM s [RANGE …, SLIDE …]",
            )
    bound = [window_of(call, scope, context) for call in bracketed]
    longest = max(bound, key=lambda each: _length(each.window))
    for call, other in zip(bracketed, bound, strict=True):
        if other != longest:
            _check_end_together(other, longest, call, context)
    return longest


def window_of(windowed: Windowed, scope: Scope, context: Context) -> BoundWindow:
    """The window in the brackets behind an aggregate."""
    return bind_window(windowed.args["clause"], scope, context)


def _length(window: Window) -> int:
    return window.range if isinstance(window, Sliding) else 0


def _check_end_together(
    one: BoundWindow, other: BoundWindow, call: Windowed, context: Context
) -> None:
    """Results of different windows can share rows if the windows end at the same instants."""
    window, longest = one.window, other.window
    with context.located(call):
        if not isinstance(window, Sliding) or not isinstance(longest, Sliding):
            raise NotExecutable(
                "only sliding windows can be combined in one query",
                hint="write one query for each window",
            )
        if one.partition or other.partition or not ends_with(window, longest):
            raise CannotWindow(
                f"{window} and {longest} do not end together, so their results have no row in "
                "common",
                hint="give them the same SLIDE and attribute, or write one query for each window",
            )


def _outside(
    groups: list[exp.Expr], input_: Input | None, scope: Scope, context: Context
) -> BoundWindow | None:
    """The window that is written elsewhere than behind an aggregate."""
    found: list[tuple[BoundWindow, exp.Expr]] = []
    if input_ is not None and input_.clause is not None:
        found.append((bind_window(input_.clause, scope, context), input_.place))
    if input_ is not None and input_.window is not None:
        found.append((_with_partition(input_.window, scope), input_.place))
    for group in groups:
        if is_window_call(group):
            assert isinstance(group, exp.Anonymous)
            found.append((BoundWindow(bind_window_call(group, scope, context)), group))
    if len(found) > 1:
        raise CannotWindow(
            "there are two windows", position=context.position(found[1][1]), hint="keep one"
        )
    return found[0][0] if found else None


def _with_partition(window: Window, scope: Scope) -> BoundWindow:
    """A window, and its partition as columns to group by."""
    columns = window.partition if isinstance(window, Session) else ()
    return BoundWindow(window, tuple(f for c in columns for f in scope.fields if f.column == c))
