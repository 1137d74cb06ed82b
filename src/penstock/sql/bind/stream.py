"""CREATE STREAM: from the declaration as written to a `Stream`.

    TIMESTAMP BY ts                     external, rows come in order
    TIMESTAMP BY ts ORDERED             the same, said aloud
    TIMESTAMP BY ts SLACK 5 SECONDS     external, rows may be that late
    TIMESTAMP BY ts SLACK 5 ROWS        external, rows may be that many places late
    TIMESTAMP BY timestamp_millis(ms) … external, in a column event_ts that is derived from ms
    TIMESTAMP BY ts PUNCTUATED          external, bounds come from outside
    TIMESTAMP BY ts PUNCTUATED BY mark  external, bounds stand in the data, where mark is true
    TIMESTAMP BY ts …, other SLACK …    the same, and another column that progresses
    TIMESTAMP BY ts …, INTERNAL         the same, and stamped on entry besides
    WATERMARK FOR ts AS ts - INTERVAL … the same as SLACK, in Flink's words; a second one is a
                                        second column that progresses
    TIMESTAMP INTERNAL [AS column]      stamped on entry, by default as arrival_ts
    LATENT, or nothing                  no time at all

SKEW, LULL, HEARTBEAT and MAX AHEAD say how such a time and the clock go together.
Spec: timestamps 2; window-queries 1.4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn, TypeAlias

from sqlglot import exp

from penstock.errors import CannotWindow, DuplicateName, SyntaxFault, TypeMismatch
from penstock.model.expressions import Named
from penstock.model.schema import ROW_NUM, Column
from penstock.model.streams import (
    TIMING_WORDS,
    FurtherTime,
    Origin,
    Stream,
    TimestampKind,
    Timing,
)
from penstock.model.tables import StaticTable
from penstock.model.types import Type
from penstock.sql.bind.context import Context, NoNames
from penstock.sql.bind.expression import ExpressionBinder
from penstock.sql.bind.scope import Field, Scope
from penstock.sql.parse.positions import located, position_of
from penstock.sql.parse.syntax import Length, Span

ARRIVAL_TS, EVENT_TS = "arrival_ts", "event_ts"


@dataclass(frozen=True)
class DerivedColumn:
    """A column that is declared by an expression over those that rows bring along."""

    name: str
    value: exp.Expr


Columns: TypeAlias = Sequence[tuple[Column | DerivedColumn, Span]]
"""Columns, and where they stand."""


@dataclass(frozen=True)
class TimeDeclaration:
    """The timestamp clause. `slack` None: punctuated; a Length of 0: ordered."""

    kind: TimestampKind
    span: Span
    column: str | None = None
    slack: Length | None = None
    marker: str | None = None  # the column that marks punctuation among the rows
    # Other columns that progress, with their slack; without one, it is stamped on entry.
    further: tuple[tuple[str | None, Length | None], ...] = ()
    derived: exp.Expr | None = None  # what the column is computed by


def declare_stream(
    text: str,
    name: str,
    declared: Columns,
    time: TimeDeclaration | None,
    origin: Origin,
    lengths: Mapping[str, Length],
    zone: str,
) -> Stream:
    """The stream that a declaration describes, checked; `lengths`: those of the clock, by word.

    `zone` is where clocks show what expressions say of a time.
    """
    if not declared:
        raise SyntaxFault(
            f"stream `{name}` has no columns", hint="declare at least one: (ts TIMESTAMP)"
        )
    if time is not None and time.derived is not None:
        declared = [*declared, (DerivedColumn(str(time.column), time.derived), time.span)]
    bound, derived = _bound(declared, text, zone)
    stream = _declared(text, name, _distinct(bound, text), time, origin, lengths)
    return replace(stream, derived=derived) if derived else stream


def _bound(
    declared: Columns, text: str, zone: str
) -> tuple[list[tuple[Column, Span]], tuple[Named, ...]]:
    """All columns with their types, and how some are derived from the others."""
    given = [column for column, _ in declared if isinstance(column, Column)]
    scope = Scope(tuple(Field(column.name, column.type, column.name) for column in given))
    columns, derived = [], []
    for column, span in declared:
        if isinstance(column, DerivedColumn):
            context = Context(text, NoNames(zone), _no_subquery)
            value = ExpressionBinder(context, scope).bind(column.value)
            derived.append(Named(column.name, value))
            columns.append((Column(column.name, value.type), span))
        else:
            columns.append((column, span))
    return columns, tuple(derived)


def _no_subquery(node: exp.Expr, context: Context) -> NoReturn:
    raise SyntaxFault("a column cannot be derived from a subquery", hint="join it in a query")


def _declared(
    text: str,
    name: str,
    columns: tuple[Column, ...],
    time: TimeDeclaration | None,
    origin: Origin,
    lengths: Mapping[str, Length],
) -> Stream:
    timing = _timing(name, lengths, text)
    if time is None or time.kind is TimestampKind.LATENT:
        return Stream(name, columns, origin=origin, timing=timing)
    with located(text, time.span):
        if time.kind is TimestampKind.INTERNAL:
            on, columns = _arrival_column(time.column or ARRIVAL_TS, columns)
            return Stream(name, columns, time.kind, on, 0, origin, timing)
        on = _spelled(str(time.column), columns)
        stream = Stream(name, columns, time.kind, on, 0, origin, timing)
        stream = _with_further(stream, time.further)
        if time.slack is not None and time.slack.unit == "rows":
            return replace(stream, slack=None, timing=replace(timing, rows_late=time.slack.value))
        if time.marker is not None:
            marked = replace(timing, marker=_spelled(time.marker, columns))
            return replace(stream, slack=None, timing=marked)
        slack = None if time.slack is None else _slack_of(stream, on, time.slack)
        return replace(stream, slack=slack)


def _with_further(stream: Stream, declared: tuple[tuple[str | None, Length | None], ...]) -> Stream:
    """The stream with the other columns of it that progress."""
    for name, slack in declared:
        columns = stream.columns
        if slack is None:
            column, columns = _arrival_column(name or ARRIVAL_TS, columns)
            time = FurtherTime(column, stamped=True)
        else:
            time = FurtherTime(_spelled(str(name), columns))
        # Whether there is such a column is checked before it is measured.
        known = stream.further
        stream = replace(stream, columns=columns, further=(*known, time))
        if slack is not None:
            time = replace(time, slack=_slack_of(stream, time.column, slack))
            stream = replace(stream, further=(*known, time))
    return stream


def declare_table(
    text: str, name: str, declared: Sequence[tuple[Column, Span]], origin: Origin
) -> StaticTable:
    """The static table that a declaration describes, checked; its rows are not read yet."""
    if origin.path is None:
        raise SyntaxFault(
            f"table `{name}` has no source",
            hint="write FROM parquet 'path', or give it rows in Python: engine.table(name, rows)",
        )
    return StaticTable(name, _distinct(declared, text), origin)


def _timing(name: str, declared: Mapping[str, Length], text: str) -> Timing:
    """What the clauses about the clock say."""
    lengths: dict[str, Any] = {}
    for word, length in declared.items():
        if length.unit != "time":
            raise CannotWindow(
                f"stream `{name}`: {word} {length} is not a duration",
                position=position_of(text, length.span),
                hint=f"write a duration, such as {word} 5 SECONDS",
            )
        lengths[TIMING_WORDS[word]] = length.value
    return Timing(**lengths)


def _distinct(declared: Sequence[tuple[Column, Span]], text: str) -> tuple[Column, ...]:
    """The columns, none of them twice: names that differ in case only are the same name."""
    seen = {ROW_NUM: "every stream has this column already"}
    for column, span in declared:
        name = column.name
        if name.lower() in seen:
            raise DuplicateName(
                f"column `{name}` cannot be declared: {seen[name.lower()]}",
                position=position_of(text, span),
                hint=f"choose another name, such as {name}_2",
            )
        seen[name.lower()] = "there is another column of that name"
    return tuple(column for column, _ in declared)


def _spelled(name: str, columns: tuple[Column, ...]) -> str:
    """The column's name as it was declared; unknown ones stay, and are refused by the Stream."""
    return next((c.name for c in columns if c.name.lower() == name.lower()), name)


def _arrival_column(name: str, columns: tuple[Column, ...]) -> tuple[str, tuple[Column, ...]]:
    """The column for the time of arrival, added if it was not declared."""
    name = _spelled(name, columns)
    for column in columns:
        if column.name == name:
            if column.type is not Type.TIMESTAMP:
                raise TypeMismatch(
                    f"`{name}` is {column.type}, and the time of arrival is a TIMESTAMP",
                    hint=f"declare {name} TIMESTAMP, or leave it out of the columns",
                )
            return name, columns
    return name, (*columns, Column(name, Type.TIMESTAMP))


def _slack_of(stream: Stream, column: str, slack: Length) -> int:
    """How late rows may be, in a column's own unit."""
    of = stream.schema[column].type
    fits = slack.unit == ("time" if of.is_time else "number")
    if not fits and slack.value:
        example = "SLACK 5 SECONDS" if of.is_time else "SLACK 5"
        raise CannotWindow(
            f"stream `{stream.name}`: SLACK {slack} cannot measure `{column}`, which is {of}",
            hint=f"write a length in its unit, such as {example}",
        )
    return slack.value
