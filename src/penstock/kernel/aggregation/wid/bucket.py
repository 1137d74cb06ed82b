"""Bucket: tag each row with the ids of its windows.

A row's windows are consecutive, so the tag is a range of wids. All window semantics is here; what
aggregates behind it only sees a group attribute whose values are ranges. A bound on the windowing
attribute becomes one on `wid`: windows below it get no more rows. Bounds on other attributes say
nothing about windows and end here.

Rows between two windows (SLIDE longer than RANGE) belong to none and are dropped. A row without a
value in the windowing attribute has no place either; such rows are counted as `unplaced`.
Spec: window-queries 3.2, Fig 6-2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import polars as pl

from penstock.kernel.block import Block
from penstock.kernel.operator import Operator, Output
from penstock.kernel.progress.grain import UNUSED, Grain, grain_of
from penstock.kernel.progress.release import Need, Needs, Times, Waiting
from penstock.kernel.state import State
from penstock.model.punctuation import Punctuation
from penstock.model.timestamps import BEGINNING, END
from penstock.windows.tagged import Tagged

#: First wid of a row, and the first after it that does not hold the row.
WID_START = "__wid_start"
WID_END = "__wid_end"
#: What bounds are about.
WID = "__wid"


@dataclass
class BucketState(State):
    """Rows that had no value to window on, and the bound sent last about each attribute."""

    unplaced: int = 0
    sent: dict[str, int] = field(default_factory=dict)


class Bucket(Operator):
    """Adds WID_START and WID_END."""

    state: BucketState
    idle_waiting_prone = False

    def __init__(self, window: Tagged) -> None:
        super().__init__()
        self._window = window
        self.state = BucketState()

    def on_batch(self, port: int, block: Block, out: Output) -> None:
        window = self._window
        rows = block.rows
        missing = rows.get_column(window.on).null_count()
        if missing:
            self.state.unplaced += missing
            rows = rows.drop_nulls(window.on)
        values = rows.get_column(window.on).cast(pl.Int64).to_numpy()
        start, end = window.wid_range(values)  # in NumPy, which divides faster than Polars
        rows = rows.hstack([pl.Series(WID_START, start), pl.Series(WID_END, end)])
        if window.has_gaps:
            rows = rows.filter(start < end)
        out.batch(Block(rows))

    def on_punctuation(self, port: int, punctuation: Punctuation, out: Output) -> None:
        for translated in self.translate(punctuation):
            if translated.bound > self.state.sent.get(translated.on, BEGINNING):
                self.state.sent[translated.on] = translated.bound
                out.punctuation(translated)

    def on_pattern(self, port: int, punctuation: Punctuation, out: Output) -> None:
        for translated in self.translate(punctuation):
            out.punctuation(translated)

    def translate(self, punctuation: Punctuation) -> tuple[Punctuation, ...]:
        window = self._window
        if punctuation.on != window.on or punctuation.bound <= BEGINNING:
            return ()
        closed = END if punctuation.is_final else window.closed_below(punctuation.bound)
        return (Punctuation(WID, closed, punctuation.where),)

    def passes(self, port: int, times: Times) -> Iterable[Waiting]:
        value = times[self._window.on]
        if value is None:
            return ()
        start, end = self._window.wid_range(value)
        if start < end:
            return (Waiting((), {WID: start, WID_END: end}),)
        # Between two windows: a later row of those that come with it may be in the next.
        return (Waiting((), {WID: start, WID_END: start + 1}, certain=False),)

    def needed(self, on: str, bound: int) -> Needs | None:
        if on != WID:
            return None
        return Needs((Need(0, self._window.on, self._window.closes_at(bound)),))

    def grain(self, on: str, behind: Callable[[str], Grain]) -> Grain:
        return grain_of(self._window.grid) if on == self._window.on else UNUSED
