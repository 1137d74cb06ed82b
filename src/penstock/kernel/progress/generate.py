"""How a stream's bounds are made, from its declaration.

    declaration       after some rows with newest timestamp t     from outside
    ordered           t                                           may raise it
    slack d           t - d                                       may raise it
    slack n rows      the newest, leaving out the last n rows     may raise it
    punctuated        -                                           the only way
    internal          the time they were stamped with             may raise it
    latent            -                                           there are no bounds

A stream may have further columns that progress, each ordered or with a slack: their bounds follow
from rows alone.

A bound only rises; one that says nothing new is not sent. Every stream also numbers its rows from
1 in the order of arrival, and sends a bound on these numbers after each block. When a stream ends,
both bounds become END. A run that ends while its stream does not closes what it has
answered, up to a bound. A silent stream may get an enabling timestamp: see
`ets`.  Spec: timestamps 2, 3; window-queries 1.2, 1.4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from operator import and_, index
from typing import Any

import numpy as np
import polars as pl

from penstock.errors import BadPunctuation, LateRow
from penstock.kernel.aggregates.grouping import Ids
from penstock.kernel.progress.ets import enabling_bounds
from penstock.kernel.progress.grain import Grain, rolled_all
from penstock.kernel.progress.late import (
    BoundRule,
    Split,
    bound_rule,
    bounded,
    bounds_by_place,
    is_placed,
    sort_out,
)
from penstock.kernel.progress.patterns import below, conformed
from penstock.kernel.state import State
from penstock.model.punctuation import Punctuation, Where, from_json, to_json, where_of
from penstock.model.schema import ROW_NUM
from penstock.model.streams import FurtherTime, Stream, TimestampKind
from penstock.model.timestamps import BEGINNING, END, format_ticks

_PATTERN = "a pattern has a value, or a pair of values for a range"


@dataclass
class GeneratorState(State):
    """The stream's bounds, and how many rows it has numbered."""

    bound: int = BEGINNING
    own: int = BEGINNING  # the same without what the ends of runs have closed
    closed: int = BEGINNING  # up to where the end of a run has
    numbered: int = 0
    numbered_all: int = 0  # where late rows are counted in
    ended: bool = False
    newest: int = BEGINNING  # the largest timestamp so far
    arrived: int = 0  # when it came, by the clock
    last_arrival: int | None = None  # when any row last came
    patterns: list[tuple[list[Any], int]] = field(default_factory=list)  # about some rows only
    # Of further columns that progress: the largest values so far, and what ends of runs closed.
    newest_of: dict[str, int] = field(default_factory=dict)
    closed_of: dict[str, int] = field(default_factory=dict)
    last: list[int] = field(default_factory=list)  # of the last rows, if lateness counts rows


class Generator:
    """Stamps and numbers a stream's rows, and gives the bounds that follow from them."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.state = GeneratorState()
        self._on = None if stream.kind is TimestampKind.LATENT else stream.timestamp
        self._names = [column.name for column in stream.all_columns]
        self.slack = 0 if stream.kind is TimestampKind.INTERNAL else stream.slack

    def stamp(self, rows: pl.DataFrame, now: int) -> pl.DataFrame:
        """Rows with the time of their arrival, where the stream declares that."""
        for on in self.stream.stamped:
            # A bound given from outside may be ahead of the clock, and counts.
            time = max(now, self.stamp_from(on))
            stamp = pl.int_range(time, time + 1, eager=True)
            stamps = stamp.new_from_index(0, rows.height).alias(on)
            rows = rows.with_columns(stamps) if on in rows.columns else rows.hstack([stamps])
        return rows

    def stamp_from(self, on: str) -> int:
        """The least stamp that is not below the bound on a column of stamps."""
        further = (self._bound_of(time) for time in self.stream.further if time.column == on)
        return next(further, self.state.bound)

    def number(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows in the stream's schema, numbered on from the last one."""
        self.state.numbered += rows.height
        return self._numbered_to(self.state.numbered, rows)

    def number_all(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The same for those who take late rows as well, which count them in."""
        self.state.numbered_all += rows.height
        return self._numbered_to(self.state.numbered_all, rows)

    def _numbered_to(self, last: int, rows: pl.DataFrame) -> pl.DataFrame:
        numbers = pl.int_range(last - rows.height + 1, last + 1, dtype=pl.Int64, eager=True)
        if rows.columns != self._names:
            rows = pl.DataFrame([rows.get_column(name) for name in self._names])
        return rows.hstack([numbers.alias(ROW_NUM)])

    def judge(self, rows: pl.DataFrame, *, by_block: bool = False) -> Split:
        """Sort rows out by the stream's bounds, before they are taken in.

        A row may be late because of one in front of it; `by_block`, only because of earlier blocks.
        """
        nothing, ended = rows.clear(), self.state.ended
        if ended or self.stream.kind is not TimestampKind.EXTERNAL or self._on is None:
            on_time, late = (nothing, rows) if ended else (rows, nothing)
            return Split(
                on_time, late, nothing, rows, pl.repeat(not ended, rows.height, eager=True)
            )
        parts = sort_out(rows, self._rules(by_block=by_block))
        patterns = self._patterns()
        if not patterns or not parts.on_time.height:
            return parts
        dated = parts.dated
        kept = parts.is_on_time & ~below(dated, self._on, patterns)
        return Split(dated.filter(kept), dated.filter(~kept), parts.timeless, dated, kept)

    def _rules(self, *, by_block: bool) -> dict[str, BoundRule]:
        """By column of time, the bound before each row, or before all of a block."""
        late, bound = self.stream.timing.rows_late, self.state.bound
        own = bound_rule(bound, None if by_block else self.slack)
        if late is not None and not by_block:
            own = partial(bounds_by_place, bound=bound, last=self.state.last, late=late)
        further = {
            time.column: bound_rule(self._bound_of(time), None if by_block else time.slack)
            for time in self.stream.further
        }
        return {str(self._on): own, **further}

    def cuts(self, rows: pl.DataFrame, grain: Callable[[str], Grain]) -> list[int]:
        """The places before which to cut rows, so that windows can use each piece as it is.

        A late row belongs to the windows that are open before it. So a piece begins with each late
        row for which a window has closed since the last piece began; `grain` tells of each column
        when windows close.
        """
        if self.state.ended or self.stream.kind is not TimestampKind.EXTERNAL or self._on is None:
            return []
        rules = self._rules(by_block=False)
        placed = is_placed(rows, rules)
        dated = rows if placed.all() else rows.filter(placed)
        is_late = np.zeros(dated.height, dtype=bool)
        closed_before = []
        for on, (times, bound) in zip(rules, bounded(dated, rules), strict=True):
            if not isinstance(bound, int):
                is_late |= (times < bound).to_numpy()
                closed_before.append(rolled_all(bound.to_numpy(), grain(on)))
        late = np.flatnonzero(is_late)
        is_cut = np.zeros(len(late), dtype=bool)
        for closed in closed_before:
            is_cut |= closed[late] != closed[np.concatenate([[0], late[:-1]])]
        places: list[int] = np.flatnonzero(placed)[late[is_cut]].tolist()
        return places

    def on_time_from(self) -> int:
        """Rows of later blocks from this time on are on time, whatever else they hold.

        END: of no row that can be said.
        """
        is_plain = self.stream.kind is TimestampKind.EXTERNAL and not self.stream.further
        bounds = [self.state.bound, *(bound for _, bound in self._patterns())]
        return max(bounds) if is_plain else END

    def late_row(self, late: pl.DataFrame) -> LateRow:
        """The error that these rows are, where late rows are one."""
        name, on = self.stream.name, self._on
        which = f" ({on} = {late.get_column(on)[0]})" if on is not None else ""
        declared = "over" if self.state.ended else f"declared {self.stream.disorder()}"
        return LateRow(
            name,
            f"{late.height} of the rows of `{name}` are late, the first one{which}: the stream is "
            f"{declared}",
            hint="declare more SLACK, or SET late = keep; no row of this batch was processed",
        )

    def lateness(self, parts: Split, *, by_block: bool = False) -> Ids:
        """How far each late row, which is not taken in yet, lies behind the newest row before it.

        `by_block`: behind those of earlier blocks only.
        """
        if self._on is None or self.state.ended or not parts.late.height:
            return np.zeros(parts.late.height, dtype=np.int64)
        times, newest = parts.dated.get_column(self._on).to_numpy(), self.state.newest
        before = np.full(len(times), newest)
        if not by_block:
            before[1:] = np.maximum.accumulate(np.maximum(times[:-1], newest))
        is_late = ~parts.is_on_time.to_numpy()
        lateness: Ids = np.maximum(before[is_late] - times[is_late], 0)
        return lateness

    def _patterns(self) -> list[tuple[Where, int]]:
        """Bounds on some rows only that say more than the one on all."""
        found = [
            (from_json(where), bound)
            for where, bound in self.state.patterns
            if bound > self.state.bound
        ]
        self.state.patterns = [(to_json(where), bound) for where, bound in found]
        return found

    def after(
        self, rows: pl.DataFrame, now: int = 0, dated: pl.DataFrame | None = None
    ) -> list[Punctuation]:
        """The new punctuation when these rows, none of them late, have come at `now`.

        `dated` are all that have come, with late rows among them.
        """
        messages = []
        if self._on is not None:
            came = rows if dated is None else dated
            times = came.get_column(self._on)
            newest = times.max() if came.height != 1 else times[0]
            if isinstance(newest, int) and newest > self.state.newest:
                self.state.newest, self.state.arrived = newest, now
            messages = self._raise(self._bound_after(times))
            highest = {t.column: came.get_column(t.column).max() for t in self.stream.further}
            messages += self._raise_further(highest)
        if rows.height:
            self.state.last_arrival = now
            messages.append(Punctuation(ROW_NUM, self.state.numbered + 1))
        return messages

    def _bound_after(self, came: pl.Series) -> int | None:
        late = self.stream.timing.rows_late
        if late is None:
            return self._by_slack()
        seen = [*self.state.last, *came.drop_nulls().to_list()]
        over = max(0, len(seen) - late)
        self.state.last = seen[over:]
        return max(seen[:over], default=None)

    def _by_slack(self) -> int | None:
        """The bound that follows from the newest row."""
        if self.slack is None or self.state.newest <= BEGINNING:
            return None
        return self.state.newest - self.slack

    def _raise_further(self, highest: Mapping[str, Any]) -> list[Punctuation]:
        """Take note of the largest values of the other columns that progress."""
        messages = []
        for time in self.stream.further:
            before, value = self._bound_of(time), highest.get(time.column)
            if isinstance(value, int) and value > self.state.newest_of.get(time.column, BEGINNING):
                self.state.newest_of[time.column] = value
            bound = self._bound_of(time)
            messages += [Punctuation(time.column, bound)] if bound > before else []
        return messages

    def _bound_of(self, time: FurtherTime) -> int:
        if self.state.ended:
            return END
        return max(self._own_of(time), self.state.closed_of.get(time.column, BEGINNING))

    def _own_of(self, time: FurtherTime) -> int:
        """The same without what the ends of runs have closed."""
        newest = self.state.newest_of.get(time.column, BEGINNING)
        return newest - time.slack if newest > BEGINNING else BEGINNING

    def after_block(
        self, newest: int, foremost: Sequence[int], highest: Mapping[str, int] | None = None
    ) -> None:
        """Take note of rows that came in no order, by the newest timestamps among them.

        `highest` are those of the other columns that progress.

        Where lateness counts rows, the last of them may be any. Leaving out the foremost in time
        instead of the last to come gives a lower bound, and never one that is too high.
        """
        state, late = self.state, self.stream.timing.rows_late
        state.newest = max(state.newest, newest)
        self._raise_further(highest or {})
        if late is not None:
            state.last = sorted([*state.last, *foremost], reverse=True)[: late + 1]
            if len(state.last) > late:
                self._raise(state.last[-1])
        else:
            self._raise(self._by_slack())

    def read_punctuation(self, row: Mapping[str, Any]) -> list[Punctuation]:
        """Punctuation in the data: its time is the bound, NULLs are wildcards, values constants."""
        on, marker = str(self._on), str(self.stream.timing.marker)
        named = {name: v for name, v in row.items() if name not in (on, marker) and v is not None}
        if row[on] is None:
            raise BadPunctuation(self.stream.name, f"{on}: punctuation needs a bound")
        return self.punctuate(row[on], where_of(named))

    def enable(self, now: int) -> list[Punctuation]:
        """An enabling timestamp, if the stream can give one that says something new."""
        if self.state.ended:
            return []
        newest, arrived = self.state.newest, self.state.arrived
        bounds = enabling_bounds(self.stream, now=now, newest=newest, arrived=arrived)
        messages = self._raise(bounds.pop(str(self._on), None))
        for on, bound in bounds.items():
            messages += self.close(bound, on)
        return messages

    def punctuate(self, bound: int, where: Where = ()) -> list[Punctuation]:
        """Punctuation from outside, about all rows or about those that match a pattern."""
        try:
            bound = index(bound)
        except TypeError:
            raise self._bad(
                f"cannot be punctuated with {bound!r}: that is not a bound",
                "give a datetime, or an integer",
            ) from None
        if self._on is None:
            raise self._bad("has no timestamp to punctuate", "declare it with TIMESTAMP BY")
        if where:
            return self._punctuate_some(bound, where)
        if bound < self.state.own:
            name = self.stream.name
            raise BadPunctuation(
                name,
                f"the bound of stream `{name}` is {self._show(self.state.own)} already, and cannot "
                f"fall to {self._show(bound)}",
                hint="a bound may only rise",
            )
        return self.end() if bound >= END else self._raise(bound)

    def _bad(self, what: str, hint: str) -> BadPunctuation:
        return BadPunctuation(self.stream.name, f"stream `{self.stream.name}` {what}", hint=hint)

    def _punctuate_some(self, bound: int, where: Where) -> list[Punctuation]:
        known = [name for name in self._names if name != self._on]
        for column, _ in where:
            if column not in known:
                raise self._bad(
                    f"cannot be punctuated by `{column}`", f"patterns can name: {', '.join(known)}"
                )
        try:
            where = conformed(where, self.stream.schema)
        except ValueError as cause:
            raise self._bad(f"cannot be punctuated {cause}", _PATTERN) from None
        made = dict(self._patterns())
        if bound < made.get(where, BEGINNING):
            raise self._bad(
                f"has the bound {self._show(made[where])} already for these rows, and cannot fall "
                f"to {self._show(bound)}",
                "a bound may only rise",
            )
        if self.state.ended or bound <= max(self.state.bound, made.get(where, BEGINNING)):
            return []
        made[where] = bound
        self.state.patterns = [(to_json(pattern), b) for pattern, b in made.items()]
        return [Punctuation(str(self._on), bound, where)]

    def close(self, bound: int, on: str | None = None) -> list[Punctuation]:
        """The end of a run: what lies below the bound is answered, and rows for it are late.

        `on`: the column that it is about, if that is not the timestamp.
        """
        if bound >= END:
            return self.end()
        for time in self.stream.further:
            if time.column == on:
                is_news = bound > self._bound_of(time)
                self.state.closed_of[on] = max(bound, self.state.closed_of.get(on, BEGINNING))
                return [Punctuation(on, bound)] if is_news else []
        if self._on is None or bound <= self.state.bound:
            return []
        self.state.bound = self.state.closed = bound
        return [Punctuation(self._on, bound)]

    def is_closed(self, late: pl.DataFrame) -> pl.Series:
        """Which of these late rows would be on time, had no run ended before them."""
        state = self.state
        nothing_closed = not self.stream.further and state.own >= state.closed
        if self._on is None or state.ended or nothing_closed:
            return pl.repeat(False, late.height, eager=True)
        own = {self._on: state.own}
        own |= {time.column: self._own_of(time) for time in self.stream.further}
        kept = (late.get_column(on).cast(pl.Int64) >= bound for on, bound in own.items())
        is_closed: pl.Series = reduce(and_, kept)
        return is_closed

    def end(self) -> list[Punctuation]:
        """The punctuation that says that nothing comes any more."""
        if self.state.ended:
            return []
        self.state.ended = True
        further = [Punctuation(time.column, END) for time in self.stream.further]
        return [*self._raise(END), *further, Punctuation(ROW_NUM, END)]

    def standing(self) -> list[Punctuation]:
        """All punctuation that holds now, for a new reader."""
        state, on = self.state, self._on
        messages = []
        if on is not None:
            patterns = [Punctuation(on, bound, where) for where, bound in self._patterns()]
            messages = [Punctuation(on, state.bound), *patterns]
        messages += [Punctuation(time.column, self._bound_of(time)) for time in self.stream.further]
        messages = [message for message in messages if message.bound > BEGINNING]
        if state.ended or state.numbered:
            messages.append(Punctuation(ROW_NUM, END if state.ended else state.numbered + 1))
        return messages

    def bound_on(self, on: str) -> int:
        """The bound on a column; BEGINNING: there is none."""
        found = (p.bound for p in self.standing() if p.on == on and not p.where)
        return max(found, default=BEGINNING)

    def _raise(self, bound: int | None) -> list[Punctuation]:
        """Take note of a bound, if there is one; gives what is new."""
        bound = BEGINNING if bound is None else bound
        self.state.own = max(self.state.own, bound)
        if self._on is None or bound <= self.state.bound:
            return []
        self.state.bound = bound
        return [Punctuation(self._on, bound)]

    def _show(self, bound: int) -> str:
        is_time = self.stream.schema[str(self._on)].type.is_time
        return format_ticks(bound) if is_time or not BEGINNING < bound < END else str(bound)
