"""Store: the rows of one side of a join that may still find partners.

A list of runs (`run`), as segments of the operator's state. A block adds a run; a run goes as a
whole when its newest row can be forgotten. Small runs are merged, several at a time and only with
runs of about their size, so that a row is copied a logarithmic number of times; and only if their
ends lie within a fraction of the time the store covers, so that little is kept for longer than it
must be. A run of which more than half can be forgotten is halved if it is new, and nobody has
written it anywhere, or if its last row stays for long. Nothing else is ever rewritten. In a
tumbling join rows go by whole windows, so a run keeps to one, unless its block had many of them.

A probe looks only at runs whose times can hold partners, and in them only at its candidates: what
it costs follows the new rows and the results, not the length of the window.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from penstock.kernel.joins.partners import Times
from penstock.kernel.joins.run import CELL_BITS, Index, Needles, Run, epochs, merge
from penstock.kernel.segments import FEW, Segment, SegmentTable
from penstock.windows import TumblingBand

#: Ends of merged runs lie within this fraction of the store's time, or it has at most so many rows.
SPANS, SMALL = 2, 64
#: A run whose last row stays for more than this fraction of the store's time stays for long.
LINGERS = 3


class Store:
    """Runs over a table of the state; `on` is the time column.

    `tumbling` is given where rows can be forgotten a window at a time.
    """

    def __init__(self, on: str, shift: int, tumbling: TumblingBand | None = None) -> None:
        self._on = on
        self._shift = shift
        self._tumbling = tumbling
        self._runs: dict[int, Run] = {}
        self._new: set[int] = set()  # segments that came since the last purge

    def runs(self, segments: Sequence[Segment]) -> list[Run]:
        """A table's segments, as runs."""
        self._runs = {
            segment.id: self._runs.get(segment.id) or Run(segment.rows, self._on)
            for segment in segments
        }
        return list(self._runs.values())

    def add(self, table: SegmentTable, rows: pl.DataFrame, times: Times) -> None:
        """Store rows that are sorted by code."""
        before = {segment.id for segment in table.segments}
        for part in _parted(rows, self._pieces(times)):
            table.append(part)
            table.compact(merge, FEW, self._alike)
        self._new |= {segment.id for segment in table.segments} - before

    def candidates(
        self, table: SegmentTable, needles: Needles
    ) -> Iterator[tuple[Run, Index, Index]]:
        """Runs, and in each the pairs of a needle and a row that may be partners."""
        if not table.segments:
            return
        first, last = int(needles.first.min()), int(needles.last.max())
        for run in self.runs(table.segments):
            if run.first <= last and first <= run.last:
                mine, theirs = run.candidates(needles, self._shift)
                if len(mine):
                    yield run, mine, theirs

    def purge(self, table: SegmentTable, keep_from: int) -> None:
        """Forget runs of which no row is at or behind `keep_from`.

        A run that is new, or would stay for long with most of its rows forgotten, is halved: where
        an input lags behind another, or blocks are large, old rows and new ones come in one.
        """
        runs = self.runs(table.segments)
        kept = []
        for segment, run in zip(table.segments, runs, strict=True):
            if run.last < keep_from:
                continue
            is_new = segment.id in self._new
            lingers = is_new or LINGERS * (run.last - keep_from) > _span(runs)
            if lingers and run.middle < keep_from:
                segment = Segment(run.rows.filter(run.times >= keep_from))
            kept.append(segment)
        table.segments = kept
        self._new.clear()

    def _alike(self, segments: Sequence[Segment]) -> Sequence[Segment]:
        """The newest segments that may be merged; none, if rows would stay for too long."""
        runs = self.runs(segments)
        places = self._like_the_newest(runs)[-FEW:]
        tail = [runs[place] for place in places]
        return [segments[place] for place in places] if self._may_merge(runs, tail) else []

    def _like_the_newest(self, runs: list[Run]) -> list[int]:
        """Where the runs are that lie in the same window as the newest; all, if windows are none.

        Runs of several windows, which large blocks make, are alike.
        """
        if self._tumbling is None:
            return list(range(len(runs)))
        ends = np.array([(run.first, run.last) for run in runs])
        first, last = self._windows(ends[:, 0]), self._windows(ends[:, 1])
        alone = first == last
        like = (first == first[-1]) & alone if alone[-1] else ~alone
        return [int(place) for place in np.flatnonzero(like)]

    def _pieces(self, times: Times) -> Times:
        """Numbers that are equal for times that may be in one run."""
        of = epochs(times, self._shift)
        if self._tumbling is None:
            return of
        # Both numbers rise with time, so their sum is the same only where both are.
        within = of + self._windows(times)
        return within if len(np.unique(within)) <= FEW else of

    def _windows(self, times: Times) -> Times:
        assert self._tumbling is not None
        numbers: Times = (times - self._tumbling.origin) // self._tumbling.width
        return numbers

    def _may_merge(self, runs: list[Run], tail: list[Run]) -> bool:
        if len({run.first >> (self._shift + CELL_BITS) for run in tail}) > 1:
            return False
        if sum(run.rows.height for run in tail) <= SMALL:
            return True
        # It stays until the last of them could go; where they begin is all the same: results of
        # joins reach back into the window, all of them alike. Ends of n are n - 1 steps apart.
        return SPANS * FEW * _apart(tail) <= (FEW - 1) * _apart(runs)


def _apart(runs: list[Run]) -> int:
    """How far the ends of runs lie apart."""
    return max(run.last for run in runs) - min(run.last for run in runs)


def _span(runs: list[Run]) -> int:
    return max(run.last for run in runs) - min(run.first for run in runs)


def _parted(rows: pl.DataFrame, of: Times) -> Iterator[pl.DataFrame]:
    """Rows of one number each; nearly always there is only one."""
    if not len(of):
        return
    if of.min() == of.max():
        yield rows
        return
    for number in np.unique(of):
        yield rows[np.flatnonzero(of == number)]
