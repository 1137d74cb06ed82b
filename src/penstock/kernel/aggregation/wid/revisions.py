"""Revisions: what open windows come to so far, for queries that EMIT early.

Every row is stamped with the number of the round in which it came, and partials keep the latest
stamp of what is in them. When a round ends, the partials of groups that got rows are merged; what
carries this round's stamp has changed, and is put out as a revision. Closing is WID's own: its
results come once, as the last word on their windows.

A round ends after every block, or when a bound passes a multiple of so many ticks, which Bucket
tells (`PeriodBucket`).  EMIT is ours; partials: window-queries 3.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from penstock.kernel.aggregates.extremes import Max
from penstock.kernel.aggregates.grouping import Ids
from penstock.kernel.aggregates.keys import group_rows
from penstock.kernel.aggregation.driver import Results, put_out
from penstock.kernel.aggregation.panes.ranges import Ranges, stack
from penstock.kernel.aggregation.wid.bucket import WID, Bucket
from penstock.kernel.aggregation.wid.landmark import LandmarkAggregate, LandmarkState
from penstock.kernel.aggregation.wid.wid import WidAggregate
from penstock.kernel.block import Block
from penstock.kernel.buffer import Cursor
from penstock.kernel.operator import Output
from penstock.kernel.progress.grain import Grain, both, grain_of
from penstock.kernel.progress.release import Need, Needs, Times, Waiting
from penstock.kernel.segments import Mask
from penstock.model.emit import Emit
from penstock.model.punctuation import Punctuation
from penstock.model.schema import IS_FINAL
from penstock.model.timestamps import BEGINNING, END
from penstock.model.types import Type
from penstock.windows.tagged import Tagged

#: The round in which a row came.
ROUND = "__round"
_LATEST = Max(ROUND, Type.BIGINT)
#: The number of a period; what bounds about the passing of time are about.
PERIOD = "__period"


class PeriodBucket(Bucket):
    """Bucket that also tells when a period of time is over."""

    def __init__(self, window: Tagged, every: int) -> None:
        super().__init__(window)
        self._every = every

    def translate(self, punctuation: Punctuation) -> tuple[Punctuation, ...]:
        found = super().translate(punctuation)
        if not found or punctuation.is_final or punctuation.where:
            return found
        # Windows that are over come first: what is left open is revised.
        return (*found, Punctuation(PERIOD, punctuation.bound // self._every))

    def needed(self, on: str, bound: int) -> Needs | None:
        if on == PERIOD:
            return Needs((Need(0, self._window.on, min(bound * self._every, END)),))
        return super().needed(on, bound)

    def grain(self, on: str, behind: Callable[[str], Grain]) -> Grain:
        grain = super().grain(on, behind)
        return both(grain, grain_of((self._every, 0))) if on == self._window.on else grain


@dataclass
class RevisingState(LandmarkState):
    """The round that is going on, and the period that was over last."""

    round: int = 0
    period: int = BEGINNING


class RevisingWid(WidAggregate):
    """WID with revisions of the windows that are open."""

    state: RevisingState
    state_class = RevisingState

    def __init__(
        self,
        groups: Sequence[str],
        results: Results,
        window: Tagged,
        emit: Emit,
        *,
        consistent: bool = False,
    ) -> None:
        super().__init__(groups, results, window, consistent=consistent)
        self.aggregates.keep(_LATEST)
        self._every = emit.every

    def useful(self) -> frozenset[str]:
        return super().useful() | {PERIOD}

    def on_batch(self, port: int, block: Block, out: Output) -> None:
        stamp = pl.lit(self.state.round, pl.Int64).alias(ROUND)
        super().on_batch(port, Block(block.rows.with_columns(stamp)), out)
        if self._every is None:
            self._revise(out)

    def on_punctuation(self, port: int, punctuation: Punctuation, out: Output) -> None:
        if punctuation.on != PERIOD:
            super().on_punctuation(port, punctuation, out)
        elif punctuation.bound > self.state.period:
            self.state.period = punctuation.bound
            self._revise(out)

    def held(self, inputs: Sequence[Cursor]) -> Iterable[Waiting]:
        yield from super().held(inputs)
        first = self.first_open()
        if self._every is not None and first is not None and self._has_news():
            yield from self._revision(first)

    def passes(self, port: int, times: Times) -> Iterable[Waiting]:
        for closing in super().passes(port, times):
            yield closing
            if self._every is None:
                yield Waiting((), closing.times)
            else:
                yield from self._revision(max(int(times[WID] or 0), self.state.closed))

    def _revision(self, wid: int) -> Iterable[Waiting]:
        """What a window comes to so far, when the period is over."""
        period = max(self.state.period + 1, BEGINNING // 2)
        yield Waiting((Need(0, PERIOD, period),), self._times(wid))

    def _has_news(self) -> bool:
        [stamp] = _LATEST.columns
        return any(rows.get_column(stamp).max() == self.state.round for rows in self.state.partials)

    def known(self, port: int, on: str) -> int:
        return self.state.period if on == PERIOD else super().known(port, on)

    def _revise(self, out: Output) -> None:
        put_out(_marked(super().presented(self._changed()), final=False), out)
        self.state.round += 1

    def _changed(self) -> Ranges | None:
        """What came in this round, with all that was there before."""
        segments = list(self.state.partials)
        if not segments:
            return None
        ranges, layers = stack(segments)
        index = self._of_groups_with_news(ranges)
        if not len(index):
            return None
        ranges = self._merge(ranges.take(index), layers[index])
        start = np.maximum(ranges.start, self.state.closed)
        stop = ranges.stop
        index = np.flatnonzero(self._is_news(ranges) & (start < stop))
        if not len(index):
            return None
        return Ranges(start[index], stop[index], ranges.take(index).columns)

    def _of_groups_with_news(self, ranges: Ranges) -> Ids:
        groups = group_rows(self.aggregates.keys(ranges.columns).values(), len(ranges))
        news = np.zeros(groups.size, dtype=np.bool_)
        news[groups.ids[self._is_news(ranges)]] = True
        return np.flatnonzero(news[groups.ids])

    def _is_news(self, ranges: Ranges) -> Mask:
        found: Mask = _LATEST.result(ranges.columns).to_numpy() == self.state.round
        return found

    def presented(self, ranges: Ranges | None) -> pl.DataFrame | None:
        return _marked(super().presented(ranges), final=True)


class RevisingLandmark(RevisingWid, LandmarkAggregate):
    """The same for windows that all begin with the stream: those with rows of their own."""

    state: RevisingState


def _marked(rows: pl.DataFrame | None, *, final: bool) -> pl.DataFrame | None:
    return None if rows is None else rows.with_columns(pl.lit(final).alias(IS_FINAL))
