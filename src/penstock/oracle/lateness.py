"""Which rows a stream takes in, from the definitions, one row at a time.

A row is late when it lies below its stream's bound. The hosts look at that at different moments: in
this process before every row, on Spark before every micro-batch, so that there it does not matter
how rows are partitioned. A row without a time, or with one beyond all bounds, is timeless.

A stream may have further columns that progress: a row below the bound of any of its times
is late, and one that lacks any is timeless; a late row counts for the bounds, by all of them.

    bound              before a row                         before a batch
    SLACK d            newest of the rows before, less d    newest of the batches before, less d
    SLACK n ROWS       newest of all but the last n rows    the (n+1)-th newest of all
    PUNCTUATED BY m    of the marked rows before            of the batches before
    from outside       as it was given                      as it was given
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from penstock.model.streams import Stream, TimestampKind
from penstock.model.timestamps import BEGINNING, END
from penstock.windows import Row


class Verdict(Enum):
    """What becomes of a row."""

    ON_TIME = "on time"
    LATE = "late"
    TIMELESS = "without a time"
    PUNCTUATION = "punctuation"


@dataclass(frozen=True)
class StreamStep:
    """What one batch brings of one stream: rows, and punctuation behind them."""

    rows: Sequence[Row] = ()
    bound: int | None = None


def judge(
    stream: Stream, steps: Sequence[StreamStep], *, by_batch: bool
) -> list[list[tuple[Verdict, Row]]]:
    """Every row of every batch with its verdict, in the order in which the stream has them."""
    progress = _Progress(stream)
    return [_judge_step(stream, step, progress, by_batch=by_batch) for step in steps]


def taken_in(judged: Sequence[Sequence[tuple[Verdict, Row]]], *, late: bool = False) -> list[Row]:
    """The rows that are on time, in the order in which the stream numbers them.

    `late`: late ones among them, as a query has them that waits for nothing (`plan/waiting.py`).
    """
    taken = (Verdict.ON_TIME, Verdict.LATE) if late else (Verdict.ON_TIME,)
    return [row for batch in judged for verdict, row in batch if verdict in taken]


def _judge_step(
    stream: Stream, step: StreamStep, progress: _Progress, *, by_batch: bool
) -> list[tuple[Verdict, Row]]:
    judged: list[tuple[Verdict, Row]] = []
    for row in step.rows:
        verdict = progress.verdict(row)
        judged.append((verdict, row))
        if not by_batch:
            progress.saw(row, verdict)
            progress.raise_bounds(by_batch=False)
    if by_batch:
        for verdict, row in judged:
            progress.saw(row, verdict)
        progress.raise_bounds(by_batch=True)
    if step.bound is not None:
        progress.bound = max(progress.bound, step.bound)
    if by_batch and stream.is_ordered and stream.timestamp is not None:
        # Tasks run side by side, so only time can order what an ordered stream brings at once.
        on = stream.timestamp
        judged.sort(key=lambda each: (each[1][on] is not None, each[1][on] or 0))
    return judged


@dataclass
class _Progress:
    """The bounds of a stream so far."""

    stream: Stream
    bound: int = BEGINNING
    times: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))  # that came
    bounds: dict[str, int] = field(default_factory=dict)  # of further columns
    some: list[tuple[Mapping[str, Any], int]] = field(default_factory=list)  # about such rows only

    def verdict(self, row: Row) -> Verdict:
        stream, on = self.stream, self.stream.timestamp
        if stream.kind is not TimestampKind.EXTERNAL or on is None:
            return Verdict.ON_TIME
        if stream.timing.marker is not None and row[stream.timing.marker] is True:
            return Verdict.PUNCTUATION
        if any(row[n] is None or not BEGINNING < row[n] < END for n in stream.times):
            return Verdict.TIMELESS
        time = row[on]
        if time < self.bound or any(row[name] < bound for name, bound in self.bounds.items()):
            return Verdict.LATE
        broken = any(
            time < bound and all(row[name] == value for name, value in where.items())
            for where, bound in self.some
        )
        return Verdict.LATE if broken else Verdict.ON_TIME

    def saw(self, row: Row, verdict: Verdict) -> None:
        on, marker = self.stream.timestamp, self.stream.timing.marker
        if on is None or verdict is Verdict.TIMELESS:
            return
        if verdict is not Verdict.PUNCTUATION:
            for name in self.stream.times:
                self.times[name].append(row[name])
            return
        named = {n: v for n, v in row.items() if n not in (on, marker) and v is not None}
        if row[on] is not None and named:
            self.some.append((named, row[on]))
        elif row[on] is not None:
            self.bound = max(self.bound, row[on])

    def raise_bounds(self, *, by_batch: bool) -> None:
        for each in self.stream.further:
            if self.times[each.column]:
                self.bounds[each.column] = max(self.times[each.column]) - each.slack
        stream = self.stream
        if stream.kind is not TimestampKind.EXTERNAL or stream.timestamp is None:
            return
        times, late = self.times[stream.timestamp], stream.timing.rows_late
        if late is not None:
            settled = (sorted(times) if by_batch else times)[: max(0, len(times) - late)]
            self.bound = max(self.bound, max(settled, default=BEGINNING))
        elif stream.slack is not None:
            self.bound = max(self.bound, max(times, default=BEGINNING) - stream.slack)
