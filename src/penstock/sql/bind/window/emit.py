"""EMIT: an aggregate that also gives early results.

It stands at the end of a continuous query, whose rows somebody takes in as revisions. Nothing may
stand between the aggregate and its answer that would keep the last word back: HAVING could let a
revision through and not the result that replaces it, and order waits for windows to close.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.errors import CannotWindow, NotExecutable
from penstock.model.emit import Emit
from penstock.model.expressions import Named, Ref
from penstock.model.schema import IS_FINAL
from penstock.model.types import Type
from penstock.plan.graph import walk
from penstock.plan.nodes import Node, Ordered, Project, Select, WindowAggregate
from penstock.sql.bind.context import Context
from penstock.sql.bind.scope import unique
from penstock.sql.parse.durations import resolve_length
from penstock.sql.parse.syntax import EmitClause, Length
from penstock.windows import Cumulating, Landmark, Sliding, Unit

_COUNTED = {"time": "time", "rows": "rows", "number": "values of a column"}
_EXAMPLES = {"time": "10 SECONDS", "rows": "100 ROWS", "number": "100"}


def emitting(plan: Node, clause: EmitClause, context: Context) -> Node:
    """The same query with early results."""
    every = None if clause.every is None else resolve_length(clause.every, context)
    if isinstance(plan, Project):
        aggregate = _emitting(plan.input, every)
        name = unique(IS_FINAL, [column.name for column in plan.columns])
        shown = Named(name, Ref(IS_FINAL, Type.BOOLEAN))
        return Project(aggregate, (*plan.columns, shown))
    return _emitting(plan, every)


def refuse_revisions(plan: Node, name: str) -> None:
    """Refuse to read from a query whose rows replace each other."""
    for node in walk(plan):
        if isinstance(node, WindowAggregate) and node.emit is not None:
            raise NotExecutable(
                f"`{name}` cannot be read from: it has early results ({node.emit}), and a query "
                "over it would count each of them",
                hint="read from the same query without EMIT",
            )


def _emitting(plan: Node, every: Length | None) -> WindowAggregate:
    if isinstance(plan, Ordered):
        raise NotExecutable(
            "early results cannot be ordered: the order waits for windows to close",
            hint="leave out ORDER BY, or EMIT",
        )
    if isinstance(plan, Select) and isinstance(plan.input, WindowAggregate):
        raise NotExecutable(
            "HAVING cannot be combined with early results: it could pass an early result and drop "
            "the final one that replaces it",
            hint="leave out HAVING, and filter where you read the results",
        )
    if not isinstance(plan, WindowAggregate):
        raise NotExecutable(
            "EMIT needs a window aggregate as the last step of the query",
            hint="put it at the end of a SELECT with an aggregate, such as count(*)",
        )
    return replace(plan, emit=_emit(plan, every))


def _emit(plan: WindowAggregate, every: Length | None) -> Emit:
    if every is None:
        return Emit()
    window = plan.window
    if isinstance(window, Sliding | Landmark | Cumulating):
        unit: Unit = "time" if isinstance(window, Cumulating) else window.unit
        if every.unit != unit and not (unit == "rows" and every.unit == "number"):
            raise CannotWindow(
                f"EMIT EVERY {every} does not match the window {window}: one counts "
                f"{_COUNTED[every.unit]}, the other {_COUNTED[unit]}",
                hint=f"give EVERY a length of the window's kind, such as {_EXAMPLES[unit]}",
            )
    if every.value <= 0:
        raise CannotWindow(
            f"EMIT EVERY {every}: the period must be positive",
            hint=f"such as {_EXAMPLES[every.unit]}",
        )
    return Emit(every.value, is_time=every.unit == "time")
