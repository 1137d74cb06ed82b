"""WindowAggregate: one row per group and window."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import compress

from penstock.errors import CannotWindow, TypeMismatch
from penstock.model.aggregates import Aggregate
from penstock.model.emit import Emit
from penstock.model.schema import IS_FINAL, WINDOW_END, WINDOW_START, Column, Schema
from penstock.model.types import Type
from penstock.plan.nodes.node import ChildColumn, Node, check_progress
from penstock.windows import (
    MOST_OPEN,
    Cumulating,
    Landmark,
    Partitioned,
    Session,
    Sliding,
    Window,
    ends_with,
    format_length,
)


@dataclass(frozen=True)
class Result:
    """One aggregate of a WindowAggregate, under its output name.

    `window` is its own, where it has another one than the rest.
    """

    name: str
    aggregate: Aggregate
    window: Sliding | None = None

    def __str__(self) -> str:
        own = "" if self.window is None else f" {self.window}"
        return f"{self.aggregate}{own} AS {self.name}"


@dataclass(frozen=True)
class WindowAggregate(Node):
    """One row per group and window: `agg(x) [RANGE r, SLIDE s, WA on]`.

    Results may have shorter windows of their own that end together with it: then one row per group
    and end where any of them has rows.
    """

    input: Node
    window: Window
    groups: tuple[str, ...]
    results: tuple[Result, ...]
    emit: Emit | None = None  # None: on window close

    def __post_init__(self) -> None:
        available = self.input.schema
        if self.emit is not None:
            self._check_emit(self.emit)
        for result in self.results:
            if result.window is not None:
                self._check_own(result.window)
        for name in self._columns_read():
            _ = available[name]
        for name in self.groups:
            if available[name].type.has_map:
                raise TypeMismatch(
                    f"rows cannot be grouped by `{name}`, which is {available[name].type}: maps "
                    "are not compared with each other",
                    hint=f"group by what is in it: {name}['key'], or map_keys({name})",
                )
        check_progress(self.input, self.window.on)
        if isinstance(self.window, (Sliding, Cumulating)):
            _check_count(self.window)
        if isinstance(self.window, (Partitioned, Session)):
            for name in self.window.partition:
                if name not in self.groups:
                    raise CannotWindow(
                        f"windows of each `{name}` need a group for each `{name}`",
                        hint=f"add {name} to GROUP BY",
                    )
        _ = self.schema

    @property
    def apart(self) -> tuple[WindowAggregate, ...]:
        """One aggregate for each of its windows, the longest first."""
        if not self.has_several_windows:
            return (self,)
        by_window: dict[Window, list[Result]] = {self.window: []}
        for result in self.results:
            by_window.setdefault(result.window or self.window, []).append(
                Result(result.name, result.aggregate)
            )
        return tuple(
            WindowAggregate(self.input, window, self.groups, tuple(results))
            for window, results in by_window.items()
        )

    @property
    def named(self) -> tuple[tuple[str, Aggregate], ...]:
        """Its aggregates under the names of their results."""
        return tuple((result.name, result.aggregate) for result in self.results)

    @property
    def has_several_windows(self) -> bool:
        return any(result.window is not None for result in self.results)

    def _check_own(self, own: Sliding) -> None:
        longest = self.window
        if not isinstance(longest, Sliding) or not ends_with(own, longest):
            raise CannotWindow(
                f"{own} and {longest} do not end together, so their results have no row in common",
                hint="give them the same SLIDE and attribute, or write one query for each window",
            )

    def _check_emit(self, emit: Emit) -> None:
        if self.has_several_windows:
            raise CannotWindow(
                f"{emit} is not supported for several windows in one query",
                hint="leave EMIT out, or write one query for each window",
            )
        if not isinstance(self.window, (Sliding, Landmark, Cumulating)):
            raise CannotWindow(
                f"{emit} is not supported for {self.window}: later rows decide which of its "
                "windows exist",
                hint="leave EMIT out, or use a sliding, landmark or cumulating window",
            )
        if IS_FINAL in (*self.groups, *(result.name for result in self.results)):
            raise CannotWindow(
                f"`{IS_FINAL}` is reserved: it tells early results from final ones",
                hint="rename the column",
            )

    @cached_property
    def schema(self) -> Schema:
        on = self.input.schema[self.window.on].type
        bound_type = on if on.is_time else Type.BIGINT
        return Schema.of(
            (
                *(self.input.schema[name] for name in self.groups),
                *(Column(r.name, r.aggregate.type) for r in self.results),
                Column(WINDOW_START, bound_type),
                Column(WINDOW_END, bound_type),
                *(() if self.emit is None else (Column(IS_FINAL, Type.BOOLEAN),)),
            ),
            compress((WINDOW_START, WINDOW_END), self.window.progresses),
        )

    def lineage(self, column: str) -> tuple[ChildColumn, ...]:
        return (ChildColumn(0, column),) if column in self.groups else ()

    @property
    def order(self) -> frozenset[str]:
        return frozenset()  # windows that close together come in any order

    def reads(self, used: frozenset[str]) -> tuple[frozenset[str], ...]:
        return (frozenset(self._columns_read()),)

    def _columns_read(self) -> Iterator[str]:
        yield from (*self.groups, *self.window.columns())
        for result in self.results:
            yield from result.aggregate.refs

    @property
    def label(self) -> str:
        by = f" by {', '.join(self.groups)}" if self.groups else ""
        emit = "" if self.emit is None else f" {self.emit}"
        return f"WindowAggregate {', '.join(map(str, self.results))}{by} {self.window}{emit}"


def _check_count(window: Sliding | Cumulating) -> None:
    """Refuse windows of which a single row opens more than a query may have."""
    count = window.most_of_row
    if count <= MOST_OPEN:
        return
    is_sliding = isinstance(window, Sliding)
    length, step = (window.range, window.slide) if is_sliding else (window.size, window.step)  # type: ignore[union-attr]
    names = "RANGE / SLIDE" if is_sliding else "size / step"
    unit = window.unit if isinstance(window, Sliding) else "time"
    told = f"{format_length(length, unit)} / {format_length(step, unit)} = {count:,}"
    longest = format_length(-(-length // MOST_OPEN), unit)
    raise CannotWindow(
        f"cannot window with {window}: every row would be in {names} = {told} windows at a time, "
        f"and a query can have {MOST_OPEN:,} open",
        hint=f"take a {'SLIDE' if is_sliding else 'step'} of at least {longest}, a shorter "
        f"{'RANGE' if is_sliding else 'size'}, or RANGE ALL for everything so far",
    )
