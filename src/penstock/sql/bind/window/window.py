"""Window clauses: what `[RANGE …, SLIDE …, WA …]` means for the columns at hand.

    RANGE    SLIDE              attributes             window
    time     time, or nothing   WA ts                  Sliding; tumbling without SLIDE
    rows     rows, or nothing   WA row-num             Sliding over row numbers
    rows     rows               WA row-num, PA p       Partitioned
    time     time               WA ts, PA p            Sliding, grouped by p: the same thing
    ALL      time or rows       WA ts or row-num       Landmark
    time     1 row              RATTR ts               SlideByTuple
    time     n rows             RATTR ts, SATTR row-num    SlideByRowNumber
    time     n rows             RATTR ts, SATTR rank(ts)   SlideByRank

A plain number measures an integer column, as time measures a TIMESTAMP. Without WA the window is on
the stream's timestamp, or on its row number if it counts rows; over anything but a stream, on the
number in which rows come to the window.  Spec: window-queries 2.1, 2.4, 3.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from penstock.errors import CannotWindow, SyntaxFault
from penstock.model.schema import ROW_NUM
from penstock.model.types import Type
from penstock.sql.bind.context import Context
from penstock.sql.bind.scope import Field, Scope
from penstock.sql.parse.durations import resolve_length
from penstock.sql.parse.syntax import AnyLength, Attribute, Length, Span, WindowClause
from penstock.windows import (
    Landmark,
    Partitioned,
    SlideByRank,
    SlideByRowNumber,
    SlideByTuple,
    Sliding,
    Unit,
    Window,
)
from penstock.windows.window import require_positive


@dataclass(frozen=True)
class BoundWindow:
    """A window, and the columns by which it also groups (PA)."""

    window: Window
    partition: tuple[Field, ...] = ()


def bind_window(clause: WindowClause, scope: Scope, context: Context) -> BoundWindow:
    """The window that a clause describes over these fields."""
    with context.located(clause.span):
        return _Binder(clause, scope, context).bind()


@dataclass(frozen=True)
class _Binder:
    clause: WindowClause
    scope: Scope
    context: Context

    def bind(self) -> BoundWindow:
        clause = self.clause
        if clause.wattr and (clause.rattr or clause.sattr):
            other = clause.rattr or clause.sattr
            self._refuse(
                "WA already names the attribute of RANGE and SLIDE",
                other.span if other else clause.span,
                "leave out WA, or RATTR and SATTR",
            )
        if clause.range_all:
            return self._landmark()
        if clause.range is None:
            raise SyntaxFault("the window has no RANGE", hint="write [RANGE 10 MINUTES, …]")
        range_ = self._positive("RANGE", clause.range)
        on = self._on(range_.unit)
        check_unit(range_, on, self.context)
        if clause.tumbling and clause.slide:
            self._refuse(
                "a tumbling window has no SLIDE of its own",
                clause.slide.span,
                "leave out TUMBLING or SLIDE",
            )
        slide = self._positive("SLIDE", clause.slide) if clause.slide else range_
        if slide.unit == "rows" and on.name != ROW_NUM:
            return self._slide_by_tuple(range_, slide, on)
        check_unit(slide, on, self.context)
        self._same_attribute(on)
        return self._sliding(range_.value, slide.value, on)

    def _landmark(self) -> BoundWindow:
        if self.clause.slide is None:
            raise SyntaxFault("RANGE ALL needs a SLIDE", hint="write [RANGE ALL, SLIDE 1 MINUTE]")
        slide = self._positive("SLIDE", self.clause.slide)
        on = self._on(slide.unit)
        check_unit(slide, on, self.context)
        self._same_attribute(on)
        partition = self._partition()
        if partition and on.name == ROW_NUM:
            self._refuse(
                "a landmark window of rows cannot be partitioned",
                self.clause.partition[0].span,
                "leave out PA, or give a RANGE in rows",
            )
        return BoundWindow(Landmark(on.measured.name, slide.value, unit=counted_in(on)), partition)

    def _sliding(self, range_: int, slide: int, on: Field) -> BoundWindow:
        partition = self._partition()
        if partition and on.name == ROW_NUM:
            columns = tuple(field.column for field in partition)
            return BoundWindow(Partitioned(on.measured.name, range_, slide, columns), partition)
        # Over time, windows of partitions are windows of groups.
        window = Sliding(on.measured.name, range_, slide, unit=counted_in(on))
        return BoundWindow(window, partition)

    def _slide_by_tuple(self, range_: Length, slide: Length, on: Field) -> BoundWindow:
        clause = self.clause
        if clause.rattr is None and clause.sattr is None:
            self._refuse(
                f"SLIDE {slide} counts rows, and the window is on `{on.name}`",
                slide.span,
                f"to slide by rows over time: RATTR {on.name}, SATTR row-num",
            )
        if clause.partition:
            self._refuse(
                "a window that slides by rows over time cannot be partitioned",
                clause.partition[0].span,
                "leave out PA, or count rows in RANGE, too",
            )
        sattr = clause.sattr
        if sattr is not None and sattr.ranked:
            ranked = self._field(sattr)
            if ranked != on:
                self._refuse(
                    f"rows can only be ranked by `{on.name}`, the attribute of RANGE",
                    sattr.span,
                    f"write SATTR rank({on.name})",
                )
            window: Window = SlideByRank(on.measured.name, range_.value, slide.value)
        else:
            own = self._field(sattr) if sattr else None
            counted = own or default_attribute("rows", self.scope, self.context)
            if counted.name != ROW_NUM:
                self._refuse(
                    f"SLIDE {slide} cannot be counted on `{counted.name}`",
                    sattr.span if sattr else slide.span,
                    f"write SATTR row-num, or SATTR rank({on.name})",
                )
            measured = on.measured.name
            window = SlideByRowNumber(measured, range_.value, slide.value, counted.column)
        if slide.value == 1:
            window = SlideByTuple(on.measured.name, range_.value)
        return BoundWindow(window)

    def _same_attribute(self, on: Field) -> None:
        """Where RANGE and SLIDE are measured alike, SATTR can only repeat RATTR."""
        sattr = self.clause.sattr
        if sattr is not None and (sattr.ranked or self._field(sattr) != on):
            self._refuse(
                f"SLIDE must be measured on `{on.name}`, as RANGE is",
                sattr.span,
                "leave out SATTR; only a SLIDE in rows can have another attribute than RANGE",
            )

    def _positive(self, name: str, length: AnyLength) -> Length:
        found = resolve_length(length, self.context)
        with self.context.located(found.span):
            require_positive(name, found.value, found.unit)
        return found

    def _on(self, unit: Unit) -> Field:
        """The attribute that RANGE is measured on."""
        return attribute_of(self.clause, unit, self.scope, self.context)

    def _field(self, attribute: Attribute) -> Field:
        return resolve_attribute(attribute, self.scope, self.context)

    def _partition(self) -> tuple[Field, ...]:
        return tuple(map(self._field, self.clause.partition))

    def _refuse(self, message: str, span: Span, hint: str) -> NoReturn:
        raise CannotWindow(message, position=self.context.position(span), hint=hint)


def resolve_attribute(attribute: Attribute, scope: Scope, context: Context) -> Field:
    """The field that a window clause names."""
    with context.located(attribute.span):
        return scope.resolve(attribute.name, attribute.qualifier)


def progressing_attribute(attribute: Attribute, scope: Scope, context: Context) -> Field:
    """The field that a window clause names, on which windows close."""
    field = resolve_attribute(attribute, scope, context)
    if field.progresses:
        return field
    usable = [str(other) for other in scope.fields if other.progresses]
    of = f"`{field.qualifier}` " if field.qualifier else ""
    why = f": {field.falls}" if field.falls else ""
    raise CannotWindow(
        f"cannot window {of}on `{field.name}`: it does not progress, "
        f"so its windows would never close{why}",
        position=context.position(attribute.span),
        hint=f"windows here can use: {', '.join(usable) or 'nothing'}",
    )


def attribute_of(clause: WindowClause, unit: Unit, scope: Scope, context: Context) -> Field:
    """The attribute that the RANGE of a clause is measured on."""
    named = clause.wattr or clause.rattr
    if named is None:
        return default_attribute(unit, scope, context)
    return progressing_attribute(named, scope, context)


#: What a window in a unit is on, and the way out where there is none.
_MISSING: dict[Unit, tuple[str, str]] = {
    "time": ("timestamp", "declare the stream with TIMESTAMP BY column, or TIMESTAMP INTERNAL"),
    "rows": ("row number", "rows can be counted only where some column progresses"),
    "number": ("integer column that progresses", "write a unit, such as MINUTES or ROWS"),
}


def default_attribute(unit: Unit, scope: Scope, context: Context, *, within: bool = False) -> Field:
    """The attribute of a window that names none; `within`: it is WITHIN, which cannot name one."""
    fitting = [
        field
        for field in scope.fields
        if field.progresses
        and _measures(unit, field)
        # A number without a unit that was meant as rows would say so.
        and not (unit == "number" and field.name == ROW_NUM)
    ]
    # A time that a subquery has computed is one more; the stream's own goes before it.
    fitting = [field for field in fitting if not field.computed] or fitting
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        names = ", ".join(map(str, fitting))
        which = f"write which one: WA {fitting[0]}"
        if within:
            which = (
                "WITHIN cannot say which one; windows after the inputs can: a [RANGE 1 MINUTE], b "
                f"[RANGE 1 MINUTE, WA {fitting[0].name}]"
            )
        raise CannotWindow(f"the window can be on any of {names}", hint=which)
    usable = [str(field) for field in scope.fields if field.progresses]
    wanted, way_out = _MISSING[unit]
    if unit == "time" and scope.lost:
        raise CannotWindow(
            f"there is no {wanted} to window on: the subquery has left out `{scope.lost[0]}`",
            hint=f"add it to the columns of the subquery: (SELECT {scope.lost[0]}, … FROM …)",
        )
    numbers = [field for field in scope.fields if field.progresses and _measures("number", field)]
    if unit == "time" and (mine := [field for field in numbers if field.name != ROW_NUM]):
        raise CannotWindow(
            f"a duration cannot measure `{mine[0].name}`, which is {mine[0].type}",
            hint="write a length in its unit, such as 10",
        )
    raise CannotWindow(
        f"there is no {wanted} to window on",
        hint=f"{way_out}; windows here can use: {', '.join(usable) or 'nothing'}",
    )


def check_unit(length: Length, on: Field, context: Context) -> None:
    """Refuse minutes of row numbers and rows of a timestamp."""
    if _measures(length.unit, on):
        return
    kind = "a row number" if on.name == ROW_NUM else str(on.type)
    example = {"TIMESTAMP": "10 MINUTES", "DATE": "7 DAYS", "a row number": "1000 ROWS"}.get(
        kind, "10"
    )
    raise CannotWindow(
        f"`{length}` cannot measure `{on.name}`, which is {kind}",
        position=context.position(length.span),
        hint=f"write a length in its unit, such as {example}, or window on another attribute",
    )


def _measures(unit: Unit, on: Field) -> bool:
    if on.name == ROW_NUM:
        return unit in ("rows", "number")
    if on.type.is_time or on.type is Type.DATE:
        return unit == "time"
    return unit == "number" and on.type.is_integer


def counted_in(on: Field) -> Unit:
    """What a window on the attribute counts."""
    if on.name == ROW_NUM:
        return "rows"
    return "time" if (on.type.is_time or on.type is Type.DATE) else "number"
