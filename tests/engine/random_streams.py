"""Streams and what comes on them, at random.

Three streams of the same columns, each with its own kind of order: ordered, with slack, or
punctuated from outside. Blocks of rows of any size come on them in turn, now and then with a
bound from outside behind them. Keys and values may be NULL, times may be equal, lie before 1970
or far ahead of the last ones; doubles are multiples of 1/4, so that sums are exact in any order.

`arrivals` keeps above each stream's bound. `careless_arrivals` does not: rows may come too
late or without a time, and `judged` says which ones, row by row, from the definition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.model.schema import Column
from penstock.model.streams import Stream, TimestampKind
from penstock.model.types import Type
from penstock.oracle.lateness import StreamStep, Verdict, judge, taken_in
from tests.engine.draw import Draw, several

Row = dict[str, Any]

NAMES = ("a", "b", "c")
#: Rows and queries that meet say more than those that do not.
MOSTLY_A = ("a", "a", "a", "b", "c")
#: What the time column may be, and the unit that measures it in SQL.
UNITS = {"TIMESTAMP": " MICROSECONDS", "BIGINT": ""}
#: Slack; None stands for no bounds of its own.
SLACKS = (0, 0, 1, 5, 20, None)
#: Where time begins.
ORIGINS = (0, 0, -1, -25, 1_700_000_000_000_000, -9_000_000_000_000)
#: How far a row goes on from the newest one.
AHEAD = (0, 0, 1, 1, 2, 3, 5, 8, 10_000_000)
#: A bound below everything.
NO_BOUND = -(10**18)


@dataclass(frozen=True)
class Declared:
    """A stream as it is declared; `slack` as in `Stream`."""

    name: str
    slack: int | None
    time: str = "TIMESTAMP"

    @property
    def sql(self) -> str:
        order = "PUNCTUATED" if self.slack is None else f"SLACK {self.slack}{UNITS[self.time]}"
        return (
            f"CREATE STREAM {self.name} (k STRING, v INT, d DOUBLE, ts {self.time}) "
            f"TIMESTAMP BY ts {order if self.slack != 0 else 'ORDERED'}"
        )

    @property
    def stream(self) -> Stream:
        columns = {"k": Type.STRING, "v": Type.INT, "d": Type.DOUBLE, "ts": Type(self.time)}
        return Stream(
            self.name,
            tuple(Column(name, of) for name, of in columns.items()),
            TimestampKind.EXTERNAL,
            "ts",
            self.slack,
        )


@dataclass(frozen=True)
class Push:
    """A block of rows for one stream."""

    stream: str
    rows: list[Row]


@dataclass(frozen=True)
class Punctuate:
    """A bound from outside."""

    stream: str
    bound: int


Event = Push | Punctuate


def declarations(draw: Draw, *, ordered: bool = False) -> list[Declared]:
    """All streams, with one type of time."""
    time = draw.choose(sorted(UNITS))
    return [Declared(name, 0 if ordered else draw.choose(SLACKS), time) for name in NAMES]


@dataclass
class Progress:
    """How far one stream has come."""

    slack: int | None
    newest: int
    bound: int

    def saw(self, time: int) -> None:
        self.newest = max(self.newest, time)
        if self.slack is not None:
            self.bound = max(self.bound, self.newest - self.slack)


def row(draw: Draw, time: int | None) -> Row:
    quarters = draw.choose([None, 0, *range(-40, 41)])
    return {
        "k": draw.choose(["x", "y", "z", None]),
        "v": draw.choose([0, None, *range(-9, 10)]),
        "d": None if quarters is None else quarters / 4,
        "ts": time,
    }


def arrivals(
    draw: Draw, declared: Sequence[Declared], blocks: int = 6, rows: int = 8
) -> list[Event]:
    """What comes, in order; no row lies below its stream's bound."""
    first = draw.choose(ORIGINS)
    progress = {each.name: Progress(each.slack, first, first - 30) for each in declared}
    names = [name for name in MOSTLY_A if name in progress]
    events: list[Event] = []
    for name in several(draw, 1, blocks, lambda draw: draw.choose(names)):
        stream = progress[name]
        block = []
        for _ in range(draw.between(1, rows)):
            time = stream.newest + draw.choose(AHEAD) - draw.between(0, 20)
            time = max(stream.bound, time)
            stream.saw(time)
            block.append(row(draw, time))
        events.append(Push(name, block))
        if stream.slack is None or draw.choose([False, True]):
            stream.bound += draw.between(0, 12)
            events.append(Punctuate(name, stream.bound))
    return events


def careless_arrivals(draw: Draw, declared: Sequence[Declared]) -> list[Event]:
    """What comes, in order; rows may be late or have no time."""
    first = draw.choose(ORIGINS)
    progress = {each.name: Progress(each.slack, first, first - 30) for each in declared}
    events: list[Event] = []
    for name in several(draw, 1, 5, lambda draw: draw.choose(MOSTLY_A)):
        stream = progress[name]
        block = []
        for _ in range(draw.between(1, 8)):
            time = stream.newest + draw.between(0, 8) - draw.between(0, 20)
            block.append(row(draw, draw.choose([time, time, time, None])))
            if block[-1]["ts"] is not None and time >= stream.bound:
                stream.saw(time)
        events.append(Push(name, block))
        if draw.choose([False, True]):
            stream.bound += draw.between(0, 12)
            events.append(Punctuate(name, stream.bound))
    return events


@dataclass
class Judged:
    """One stream's rows by what must become of them, in order of arrival."""

    on_time: list[Row]
    late: list[Row]
    timeless: int = 0
    dated: list[Row] = field(default_factory=list)  # late or not


def judged(declared: Sequence[Declared], events: Sequence[Event]) -> dict[str, Judged]:
    """Rows are late when they lie below their stream's bound at that moment."""
    found = {}
    for each in declared:
        steps = [
            StreamStep((), event.bound) if isinstance(event, Punctuate) else StreamStep(event.rows)
            for event in events
            if event.stream == each.name
        ]
        by_step = judge(each.stream, steps, by_batch=False)
        rows = [pair for step in by_step for pair in step]
        found[each.name] = Judged(
            [dict(row) for verdict, row in rows if verdict is Verdict.ON_TIME],
            [dict(row) for verdict, row in rows if verdict is Verdict.LATE],
            sum(verdict is Verdict.TIMELESS for verdict, _ in rows),
            [dict(row) for row in taken_in(by_step, late=True)],
        )
    return found


def bounds_of(declared: Sequence[Declared], events: Sequence[Event]) -> dict[str, int]:
    """The bound of each stream in the end, where no row lies below one."""
    progress = {each.name: Progress(each.slack, NO_BOUND, NO_BOUND) for each in declared}
    for event in events:
        if isinstance(event, Punctuate):
            progress[event.stream].bound = max(progress[event.stream].bound, event.bound)
        else:
            for each in event.rows:
                progress[event.stream].saw(each["ts"])
    return {name: stream.bound for name, stream in progress.items()}


def pushed(declared: Sequence[Declared], events: Sequence[Event]) -> dict[str, list[Row]]:
    """All rows of each stream, numbered as the stream numbers them."""
    rows: dict[str, list[Row]] = {each.name: [] for each in declared}
    for event in events:
        if isinstance(event, Push):
            rows[event.stream] += event.rows
    return {name: numbered(each) for name, each in rows.items()}


def numbered(rows: Sequence[Row]) -> list[Row]:
    return [{**each, "row_num": number} for number, each in enumerate(rows, start=1)]
