"""The aggregate of a SELECT while it is being built: what it reads, what it gives, as what.

Its output has three kinds of columns, and expressions above it can name nothing else: group keys,
results, and the two ends of the window. A key is called like its column unless one of the ends is
called so; then, and where it is computed, a projection below makes a column of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.model.aggregates import Aggregate
from penstock.model.expressions import Cast, Expression, Named, Ref
from penstock.model.schema import WINDOW_END, WINDOW_START
from penstock.model.types import Type
from penstock.plan.nodes import Node, Project, Result, WindowAggregate
from penstock.sql.bind.aggregate.event_time import with_event_time
from penstock.sql.bind.scope import unique
from penstock.windows import Sliding, Window

ENDS = (WINDOW_START, WINDOW_END)


@dataclass
class AggregateBuilder:
    """An aggregate over `input`, not yet complete."""

    input: Node
    window: Window
    groups: dict[Expression, str]  # over the input -> column of the output
    key_of_window: Expression | None = None  # a key that is the window's start
    time: Ref | None = None  # by which rows are in order, once somebody has asked
    results: dict[tuple[Aggregate, Sliding | None], str] = field(default_factory=dict)

    def end(self, name: str) -> Ref:
        """One of the window's ends."""
        on = self.input.schema[self.window.on].type
        return Ref(name, on if on.is_time else Type.BIGINT)

    def key(self, expression: Expression) -> Expression | None:
        """The output column of a group key; None if it is none."""
        if expression == self.key_of_window:
            start = self.end(WINDOW_START)
            return Cast(start, Type.DATE) if expression.type is Type.DATE else start
        name = self.groups.get(expression)
        return Ref(name, expression.type) if name is not None else None

    def event_time(self) -> Ref:
        """The column by which rows are ordered in time, passed on from below where need be."""
        if self.time is None:
            self.input, name = with_event_time(self.input, self.window.on)
            self.time = Ref(name, self.input.schema[name].type)
        return self.time

    @property
    def has_computed_keys(self) -> bool:
        keys = (*self.groups, *([] if self.key_of_window is None else [self.key_of_window]))
        return not all(isinstance(key, Ref) for key in keys)

    def result(self, aggregate: Aggregate, wanted: str, window: Window | None = None) -> Ref:
        """The output column of an aggregate; the same one, over the same window, is computed once.

        `window` is the aggregate's own, if it has one.
        """
        own = window if isinstance(window, Sliding) and window != self.window else None
        if (aggregate, own) not in self.results:
            taken = [*ENDS, *self.groups.values(), *self.results.values()]
            self.results[aggregate, own] = unique(wanted, taken)
        return Ref(self.results[aggregate, own], aggregate.type)

    def node(self) -> WindowAggregate:
        """The aggregate, over its input or over the keys computed first."""
        results = tuple(
            Result(name, aggregate, own) for (aggregate, own), name in self.results.items()
        )
        return WindowAggregate(self._with_keys(), self.window, tuple(self.groups.values()), results)

    def _with_keys(self) -> Node:
        if all(isinstance(k, Ref) and k.name == name for k, name in self.groups.items()):
            return self.input
        read = self.window.columns().union(*(aggregate.refs for aggregate, _ in self.results))
        read -= set(self.groups.values())
        keys = [Named(name, key) for key, name in self.groups.items()]
        others = [Named(c.name, Ref(c.name, c.type)) for c in self.input.schema if c.name in read]
        return Project(self.input, (*keys, *others))
