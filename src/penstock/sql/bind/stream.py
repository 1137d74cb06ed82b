"""CREATE STREAM: from the declaration as written to a `Stream`.

    TIMESTAMP BY ts                     external, rows come in order
    TIMESTAMP BY ts ORDERED             the same, said aloud
    TIMESTAMP BY ts SLACK 5 SECONDS     external, rows may be that late
    TIMESTAMP BY ts SLACK 5 ROWS        external, rows may be that many places late
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

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.errors import CannotWindow, DuplicateName, Position, SyntaxFault, TypeMismatch
from penstock.model.schema import ROW_NUM, Column
from penstock.model.streams import FurtherTime, Origin, Stream, TimestampKind, Timing
from penstock.model.tables import StaticTable
from penstock.model.types import Type
from penstock.sql.parse.positions import located
from penstock.sql.parse.syntax import Length, Span

ARRIVAL_TS = "arrival_ts"

#: Clauses with a length of time -> the field of `Timing` that holds it.
TIMING_WORDS = {
    "SKEW": "skew",
    "LULL": "lull",
    "HEARTBEAT": "heartbeat",
    "MAX AHEAD": "max_ahead",
}


@dataclass(frozen=True)
class ColumnDeclaration:
    """A column and where it stands."""

    column: Column
    span: Span


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


@dataclass(frozen=True)
class StreamDeclaration:
    """A CREATE STREAM as written."""

    name: str
    columns: tuple[ColumnDeclaration, ...]
    time: TimeDeclaration | None
    origin: Origin
    span: Span
    timing: Mapping[str, Length] = field(default_factory=dict)  # by word


def declare_stream(declared: StreamDeclaration, text: str) -> Stream:
    """The stream that a declaration describes, checked."""
    if not declared.columns:
        raise SyntaxFault(
            f"stream `{declared.name}` has no columns",
            position=Position(text, declared.span.start, declared.span.end),
            hint="declare at least one: (ts TIMESTAMP)",
        )
    columns = _distinct(declared, text)
    timing = _timing(declared, text)
    time = declared.time
    if time is None or time.kind is TimestampKind.LATENT:
        return Stream(declared.name, columns, origin=declared.origin, timing=timing)
    with located(text, time.span):
        if time.kind is TimestampKind.INTERNAL:
            name, columns = _arrival_column(time.column or ARRIVAL_TS, columns)
            return Stream(declared.name, columns, time.kind, name, 0, declared.origin, timing)
        name = _spelled(str(time.column), columns)
        stream = Stream(declared.name, columns, time.kind, name, 0, declared.origin, timing)
        stream = _with_further(stream, time.further)
        if time.slack is not None and time.slack.unit == "rows":
            return replace(stream, slack=None, timing=replace(timing, rows_late=time.slack.value))
        if time.marker is not None:
            marked = replace(timing, marker=_spelled(time.marker, columns))
            return replace(stream, slack=None, timing=marked)
        slack = None if time.slack is None else _slack_of(stream, name, time.slack)
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


def declare_table(declared: StreamDeclaration, text: str) -> StaticTable:
    """The static table that a declaration describes, checked; its rows are not read yet."""
    if not declared.columns:
        raise SyntaxFault(
            f"table `{declared.name}` has no columns",
            position=Position(text, declared.span.start, declared.span.end),
            hint="declare at least one: (k STRING)",
        )
    if declared.origin.path is None:
        raise SyntaxFault(
            f"table `{declared.name}` has no source",
            position=Position(text, declared.span.start, declared.span.end),
            hint="write FROM parquet 'path', or give it rows in Python: engine.table(name, rows)",
        )
    return StaticTable(declared.name, _distinct(declared, text), declared.origin)


def _timing(declared: StreamDeclaration, text: str) -> Timing:
    """What the clauses about the clock say."""
    for word, length in declared.timing.items():
        if length.unit != "time":
            raise CannotWindow(
                f"stream `{declared.name}`: {word} {length} is not a duration",
                position=Position(text, length.span.start, length.span.end),
                hint=f"write a duration, such as {word} 5 SECONDS",
            )
    lengths: dict[str, Any] = {TIMING_WORDS[w]: v.value for w, v in declared.timing.items()}
    return Timing(**lengths)


def _distinct(declared: StreamDeclaration, text: str) -> tuple[Column, ...]:
    """The columns, none of them twice: names that differ in case only are the same name."""
    seen = {ROW_NUM: "every stream has this column already"}
    for item in declared.columns:
        name = item.column.name
        if name.lower() in seen:
            raise DuplicateName(
                f"column `{name}` cannot be declared: {seen[name.lower()]}",
                position=Position(text, item.span.start, item.span.end),
                hint=f"choose another name, such as {name}_2",
            )
        seen[name.lower()] = "there is another column of that name"
    return tuple(item.column for item in declared.columns)


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
    fits = slack.unit == ("time" if of is Type.TIMESTAMP else "number")
    if not fits and slack.value:
        example = "SLACK 5 SECONDS" if of is Type.TIMESTAMP else "SLACK 5"
        raise CannotWindow(
            f"stream `{stream.name}`: SLACK {slack} cannot measure `{column}`, which is {of}",
            hint=f"write a length in its unit, such as {example}",
        )
    return slack.value
