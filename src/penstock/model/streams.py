"""What the user declared about a stream: columns, where rows are outside, how its time works.

Three timestamp kinds (Spec: timestamps 2): *external*, a column the rows bring along; *internal*,
stamped on entry; *latent*, none at all. For external ones the declaration also says how far out of
order rows may come, which is what bounds follow from. Such a stream may have further columns
that progress, each with a slack of its own (NetFlow: when a flow began, and when it ended).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property

from penstock.errors import CannotWindow, TypeMismatch, UnknownName
from penstock.model.computed_column import ComputedColumn
from penstock.model.expressions import Named
from penstock.model.schema import ROW_NUM, Column, Schema, check_declared, suggest
from penstock.model.timestamps import END, format_duration
from penstock.model.types import Type
from penstock.redaction import redacted, redacted_options


class TimestampKind(Enum):
    """Where a row's time comes from."""

    EXTERNAL = "external"
    INTERNAL = "internal"
    LATENT = "latent"


@dataclass(frozen=True)
class Place:
    """Where rows are outside of Penstock: a format with a path and options."""

    format: str
    path: str | None = None
    options: tuple[tuple[str, str], ...] = ()

    @property
    def lowercase_options(self) -> dict[str, str]:
        """The options by their names in lower case: names count in any case."""
        return {name.lower(): value for name, value in self.options}

    def __str__(self) -> str:
        text = f"{self.format} '{self.path}'" if self.path is not None else self.format
        return redacted(text)  # an address may hold a password

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({str(self)!r}, {redacted_options(self.options, self.format)})"
        )


@dataclass(frozen=True, repr=False)
class Origin(Place):
    """Where rows come from: a place, or the program itself (`push`)."""

    format: str = "push"


@dataclass(frozen=True, repr=False)
class Sink(Place):
    """Where rows go: `INTO parquet 'out/talkers'`."""


#: Clauses that tie a stream's time to the clock -> the field of `Timing` that holds the length.
TIMING_WORDS = {
    "SKEW": "skew",
    "LULL": "lull",
    "HEARTBEAT": "heartbeat",
    "MAX AHEAD": "max_ahead",
}


@dataclass(frozen=True)
class Timing:
    """What else is known of a stream's time; lengths are in ticks, None: nothing is known.

    `skew` and `lull` tie its timestamps to the clock, so that silence can be told from slowness:
    see `kernel/progress/ets.py`.
    """

    rows_late: int | None = None  # a row comes at most so many places too late
    skew: int | None = None  # how far the stream's time may lag behind the clock
    lull: int | None = None  # when silent for so long, its time goes on with the clock
    heartbeat: int | None = None  # an enabling timestamp every so often, asked or not
    marker: str | None = None  # where this column is true, a row is punctuation
    max_ahead: int | None = None  # rows further ahead of the clock are rejected

    @property
    def tied(self) -> dict[str, int]:
        """The clauses that tie it to the clock, by their words."""
        lengths = {word: getattr(self, name) for word, name in TIMING_WORDS.items()}
        return {word: length for word, length in lengths.items() if length is not None}

    def clauses(self) -> list[str]:
        """As the declaration spells it."""
        return [f"{word.lower()} {format_duration(v)}" for word, v in self.tied.items()]


@dataclass(frozen=True)
class FurtherTime:
    """One more column that progresses; rows come at most `slack` below its newest value.

    `stamped`: with the time of entry, as an internal timestamp is.
    """

    column: str
    slack: int = 0
    stamped: bool = False


@dataclass(frozen=True)
class Stream:
    """A declared stream.

    `slack` is how far below the newest time a row may still come: 0 means ordered, None means that
    the stream makes no bounds of its own and waits to be punctuated from outside. `derived` says of
    some declared columns how they are computed of those that rows bring along. `computed` are
    columns beside the declared ones, which Spark computes of them as it reads rows.
    """

    name: str
    columns: tuple[Column, ...]
    kind: TimestampKind = TimestampKind.LATENT
    timestamp: str | None = None
    slack: int | None = 0
    origin: Origin = field(default_factory=Origin)
    timing: Timing = field(default_factory=Timing)
    further: tuple[FurtherTime, ...] = ()
    computed: tuple[ComputedColumn, ...] = ()
    derived: tuple[Named, ...] = ()

    def __post_init__(self) -> None:
        check_declared(f"stream `{self.name}`", self.columns)
        names = [column.name for column in self.columns]
        for time in self.times:
            if time not in names:
                raise UnknownName(
                    f"stream `{self.name}` has no column `{time}` to take its time from",
                    hint=suggest(time, names),
                )
            given = Schema(self.columns)[time].type
            if not given.can_progress:
                usable = [c.name for c in self.columns if c.type.can_progress]
                raise CannotWindow(
                    f"stream `{self.name}` cannot take its time from `{time}`: "
                    f"it is {given}, and time must be a TIMESTAMP or an integer",
                    hint=f"usable columns: {', '.join(usable) or 'none'}",
                )
            if time in self.stamped and given not in (Type.TIMESTAMP, Type.BIGINT):
                raise TypeMismatch(
                    f"stream `{self.name}` cannot be stamped in `{time}`: {given} is too "
                    "small for the time of day",
                    hint=f"declare `{time}` as TIMESTAMP",
                )
        for slack in (self.slack, *(time.slack for time in self.further)):
            if slack is not None and slack < 0:
                raise CannotWindow(f"stream `{self.name}`: SLACK must not be negative")
            if slack is not None and slack >= END:
                raise CannotWindow(
                    f"stream `{self.name}`: SLACK is out of range",
                    hint="choose a shorter one, or none: then bounds come from punctuation only",
                )
        if self.further and self.kind is not TimestampKind.EXTERNAL:
            raise CannotWindow(
                f"stream `{self.name}`: only event time (TIMESTAMP BY) can have several columns",
                hint="declare it with TIMESTAMP BY",
            )
        if len(set(self.times)) < len(self.times):
            raise CannotWindow(
                f"stream `{self.name}` names a time column twice",
                hint="name each column once",
            )
        self._check_parts()
        self._check_timing()

    def _check_parts(self) -> None:
        """Refuse columns for which what rows are read from has no place."""
        nested = next((column for column in self.arriving if column.type.is_nested), None)
        if nested is not None and self.origin.format in ("csv", "redis"):
            raise TypeMismatch(
                f"stream `{self.name}` cannot read `{nested.name}`, which is {nested.type}, from "
                f"{self.origin.format}: values are plain text there",
                hint="declare it as STRING; on Spark, from_json(…) reads text that is JSON",
            )

    def _check_timing(self) -> None:
        timing, name = self.timing, self.name
        if timing.marker is not None:
            booleans = [c.name for c in self.columns if c.type is Type.BOOLEAN]
            if timing.marker not in booleans or self.slack is not None:
                raise CannotWindow(
                    f"stream `{name}` cannot be punctuated by `{timing.marker}`",
                    hint=f"a BOOLEAN column marks punctuation: {', '.join(booleans) or 'none'}",
                )
        given = timing.tied
        for word, value in given.items():
            if value < 0 or (word == "HEARTBEAT" and not value):
                raise CannotWindow(f"stream `{name}`: {word} must be a duration")
        if not given and timing.rows_late is None:
            return
        if self.timestamp is None:
            raise CannotWindow(
                f"stream `{name}` has no timestamp, so {' or '.join(given) or 'SLACK'} does not "
                "apply",
                hint="declare it with TIMESTAMP BY",
            )
        is_time = Schema(self.columns)[self.timestamp].type.is_time
        if given and not is_time:
            raise CannotWindow(
                f"stream `{name}`: {' and '.join(given)} compare `{self.timestamp}` with the "
                "clock, and it is not a TIMESTAMP",
                hint="leave them out, or declare the column as TIMESTAMP",
            )
        if self.kind is TimestampKind.INTERNAL and (given.keys() - {"HEARTBEAT"}):
            raise CannotWindow(
                f"stream `{name}` is stamped on arrival, so {' and '.join(given)} cannot be used",
                hint="only HEARTBEAT goes with TIMESTAMP INTERNAL",
            )
        if timing.rows_late is not None and (timing.rows_late < 0 or self.slack is not None):
            raise CannotWindow(
                f"stream `{name}`: SLACK is a number of rows or a duration, not both"
            )

    @property
    def schema(self) -> Schema:
        """The declared columns, computed ones, and the row number every stream has."""
        columns = (*self.all_columns, Column(ROW_NUM, Type.BIGINT))
        return Schema.of(columns, {ROW_NUM, *self.times})

    @cached_property
    def all_columns(self) -> tuple[Column, ...]:
        """The declared columns, and those that are computed of them."""
        return (*self.columns, *(each.column for each in self.computed))

    def with_computed(self, computed: Iterable[ComputedColumn]) -> Stream:
        """The same with further computed columns, unless it has them; in the order of names."""
        every = {each.name: each for each in (*self.computed, *computed)}
        if len(every) == len(self.computed):
            return self
        return replace(self, computed=tuple(every[name] for name in sorted(every)))

    @property
    def times(self) -> tuple[str, ...]:
        """The columns that its bounds are about: its timestamp, then the others."""
        own = () if self.timestamp is None else (self.timestamp,)
        return (*own, *(time.column for time in self.further))

    @cached_property
    def arriving(self) -> tuple[Column, ...]:
        """The columns that rows bring along: declared, neither stamped on entry nor derived."""
        if not self.stamped and not self.derived:
            return self.columns
        added = {*self.stamped, *(each.name for each in self.derived)}
        return tuple(column for column in self.columns if column.name not in added)

    @cached_property
    def read_by_spark(self) -> tuple[Column, ...]:
        """The columns that rows have when Spark has read them: those, and computed ones."""
        return (*self.arriving, *(each.column for each in self.computed))

    @cached_property
    def exchanged(self) -> tuple[Column, ...]:
        """The columns that rows have when they reach the exchange: all that are not stamped."""
        return tuple(column for column in self.all_columns if column.name not in self.stamped)

    @cached_property
    def stamped(self) -> tuple[str, ...]:
        """The columns that are given the time of entry."""
        if self.kind is TimestampKind.INTERNAL:
            return self.times
        return tuple(time.column for time in self.further if time.stamped)

    @property
    def is_ordered(self) -> bool:
        """Whether rows come in the order of their timestamp."""
        return self.kind is TimestampKind.INTERNAL or (
            self.kind is TimestampKind.EXTERNAL and self.slack == 0
        )

    def disorder(self) -> str:
        """How far out of order rows may come, as the declaration spells it."""
        if self.kind is not TimestampKind.EXTERNAL:
            return ", ".join([f"{self.kind.value} timestamps", *self.timing.clauses()])
        own = [f"by {self.timestamp}", self._lateness(), *self.timing.clauses()]
        others = [
            f"{t.column} {'stamped' if t.stamped else self._slack(t.column, t.slack)}"
            for t in self.further
        ]
        return ", ".join([*own, *others])

    def _lateness(self) -> str:
        if self.timing.rows_late is not None:
            return f"slack {self.timing.rows_late} rows"
        if self.slack is None:
            by = self.timing.marker
            return "punctuated" if by is None else f"punctuated by {by}"
        return self._slack(str(self.timestamp), self.slack)

    def _slack(self, column: str, slack: int) -> str:
        if slack == 0:
            return "ordered"
        is_time = self.schema[column].type.is_time
        return f"slack {format_duration(slack) if is_time else slack}"
