"""WID: one partial aggregate per group and open window.

Bucket has tagged each row with its range of wids; here a wid is one more grouping attribute. Rows
update the partial aggregates of all their windows when they come, and are not kept. A promise on
the wid closes windows: their results go out, and then the promise, as bounds on the windows' ends
and starts. An empty window has no result.

State is (group, wid) -> partials, where neighbouring wids of a group with the same rows behind them
share one entry, for a *range* of wids. It stands in segments sorted by the first wid, so the
windows to close are at the beginning of each. A batch adds a segment; when younger segments
together have grown as large as an older one, they are merged with it. So a batch costs what is new
in it, whether that is one row or a million, and however many windows are open.
Spec: window-queries 3.3, 3.4, Fig 6-4.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np
import polars as pl

from penstock.kernel.aggregates import FUNCTIONS, Function, Ids, take
from penstock.kernel.aggregation.bucket import WID, WID_END, WID_START
from penstock.kernel.aggregation.keys import Codes, code_column, code_integers, combine, group_rows
from penstock.kernel.aggregation.overlay import overlay, repeat_ranges
from penstock.kernel.aggregation.ranges import Ranges, stack
from penstock.kernel.block import Block
from penstock.kernel.expressions import compile_expression
from penstock.kernel.operator import Operator, Output
from penstock.kernel.state import Segment, State, Table
from penstock.model.aggregates import Aggregate
from penstock.model.expressions import Ref
from penstock.model.punctuation import Punctuation
from penstock.model.schema import WINDOW_END, WINDOW_START
from penstock.model.timestamps import BEGINNING, END
from penstock.windows.sliding import Sliding

#: Layers of ranges merged in one go: more would cut each range into more pieces at once.
FAN_IN = 32
#: Segments that may stand side by side before they are merged.
SEGMENTS = 8


@dataclass
class WidState(State):
    """Partials; windows below `closed` are over; `late` rows came too late for some of theirs."""

    partials: Table = field(default_factory=Table)
    closed: int = BEGINNING
    late: int = 0


class WidAggregate(Operator):
    """Aggregates rows that carry a range of wids."""

    state: WidState

    def __init__(
        self,
        groups: Sequence[str],
        results: Sequence[tuple[str, Aggregate]],
        window: Sliding,
    ) -> None:
        super().__init__()
        self.state = WidState()
        self._groups = list(groups)
        self._window = window
        self._computed: dict[str, pl.Expr] = {}
        self._functions = [(name, self._function(aggregate)) for name, aggregate in results]
        functions = [function for _, function in self._functions]
        self._parts = list(dict.fromkeys(part for f in functions for part in f.parts))
        self._arguments = {part.argument for part in self._parts if part.argument is not None}
        self._partials = [name for part in self._parts for name in part.columns]
        # Where all ranges are equally long, the end of one tells its beginning.
        self._equally_long = window.range % window.slide == 0

    def _function(self, aggregate: Aggregate) -> Function:
        argument = aggregate.argument
        if argument is None:
            return FUNCTIONS[aggregate.function](None, None)
        if isinstance(argument, Ref):
            return FUNCTIONS[aggregate.function](argument.name, argument.type)
        name = f"__{argument}"
        self._computed[name] = compile_expression(argument)
        return FUNCTIONS[aggregate.function](name, argument.type)

    def useful(self, wanted: frozenset[str] | None) -> frozenset[str]:
        return frozenset([WID])

    # -- rows ---------------------------------------------------------------------------------

    def on_batch(self, port: int, block: Block, out: Output) -> None:
        rows = self._open(block.rows)
        if not rows.height:
            return
        if self._computed:
            rows = rows.with_columns(**self._computed)
        start, stop = rows.get_column(WID_START).to_numpy(), rows.get_column(WID_END).to_numpy()
        keys = {name: rows.get_column(name) for name in self._groups}
        digits = [*map(code_column, keys.values()), code_integers(stop)]
        if not self._equally_long:
            digits.append(code_integers(stop - start))
        cells = combine(digits, rows.height).groups()
        one = cells.members
        values = {name: rows.get_column(name) for name in self._arguments}
        partials = self._named(part.start(values, cells) for part in self._parts)
        added = Ranges(start[one], stop[one], take(keys, one) | partials)
        self._append(self._merge(added, _layers(added)))

    def _open(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows without the windows that are closed, which must not open again."""
        closed = self.state.closed
        start = rows.get_column(WID_START).to_numpy()
        if not len(start) or start.min() >= closed:
            return rows
        self.state.late += int((start < closed).sum())
        rows = rows.with_columns(pl.col(WID_START).clip(lower_bound=closed))
        return rows.filter(pl.col(WID_START) < pl.col(WID_END))

    # -- promises -----------------------------------------------------------------------------

    def on_punctuation(self, port: int, punctuation: Punctuation, out: Output) -> None:
        bound = punctuation.bound
        if punctuation.on != WID or bound <= self.state.closed:
            return
        closing = self._close(bound)
        if closing is not None:
            out.batch(Block(self._present(closing)))
        self.state.closed = bound
        start, end = (END, END) if punctuation.is_final else self._window.bounds(bound)
        out.punctuation(Punctuation(WINDOW_END, end))
        out.punctuation(Punctuation(WINDOW_START, start))

    def _close(self, bound: int) -> Ranges | None:
        """Take what belongs to windows below the bound out of the state."""
        taken, kept = [], []
        for segment in self.state.partials.segments:
            rows = segment.rows
            split = int(np.searchsorted(rows.get_column(WID_START).to_numpy(), bound))
            if split:
                taken.append(rows.slice(0, split))
            if split < rows.height:
                kept.append(segment.without_front(split) if split else segment)
        if not taken:
            return None
        ranges, layers = stack(taken)
        ranges, index = ranges.cut_at(bound)
        ranges = self._merge(ranges, layers[index])
        below = ranges.start < bound
        if not below.all():
            kept.insert(0, Segment(ranges.take(np.flatnonzero(~below)).segment()))
            ranges = ranges.take(np.flatnonzero(below))
        self.state.partials = Table(kept)
        return ranges

    def _present(self, ranges: Ranges) -> pl.DataFrame:
        """One result per group and window."""
        rows = self._keys(ranges)
        rows |= {name: function.result(ranges.columns) for name, function in self._functions}
        wids, lengths = ranges.start, ranges.stop - ranges.start
        if lengths.max() > 1:
            rows = take(rows, np.repeat(np.arange(len(ranges)), lengths))
            wids = repeat_ranges(ranges.start, lengths)
        ends = self._window.origin + (wids + 1) * self._window.slide
        rows[WINDOW_START], rows[WINDOW_END] = pl.Series(ends - self._window.range), pl.Series(ends)
        return pl.DataFrame([column.alias(name) for name, column in rows.items()])

    # -- state --------------------------------------------------------------------------------

    def _append(self, added: Ranges) -> None:
        self.state.partials.append(added.segment())
        segments = self.state.partials.segments
        while len(segments) >= SEGMENTS:
            oldest, *younger = (segment.rows for segment in segments[-SEGMENTS:])
            if oldest.height > sum(rows.height for rows in younger):
                break
            merged = self._merge(*stack([oldest, *younger])).segment()
            segments[-SEGMENTS:] = [Segment(merged)]

    def _merge(self, ranges: Ranges, layers: Ids) -> Ranges:
        """One layer of several. Within a layer, ranges of one group do not overlap."""
        count = int(layers.max()) + 1
        if count == 1:
            return ranges
        groups = group_rows(self._keys(ranges).values(), len(ranges))
        ids = groups.ids
        while count > 1:
            layers, count = layers // FAN_IN, -(-count // FAN_IN)
            apart = Codes(ids * count + layers, groups.size * count)
            cut = overlay(apart, ranges.start, ranges.stop)
            pieces = take({name: ranges.columns[name] for name in self._partials}, cut.source)
            partials = self._named(part.merge(pieces, cut.pieces) for part in self._parts)
            keys = take(self._keys(ranges), cut.relative)
            ranges = Ranges(cut.start, cut.stop, keys | partials)
            ids, layers = ids[cut.relative], layers[cut.relative]
        return ranges

    def _keys(self, ranges: Ranges) -> dict[str, pl.Series]:
        return {name: ranges.columns[name] for name in self._groups}

    def _named(self, partials: Iterable[tuple[pl.Series, ...]]) -> dict[str, pl.Series]:
        return dict(zip(self._partials, chain.from_iterable(partials), strict=True))


def _layers(added: Ranges) -> Ids:
    """Layers of ranges that do not overlap, for the ranges of one batch.

    Equal ranges belong to different groups, and so do not overlap; neither do two that begin at
    least as far apart as the longest is long.
    """
    lengths = added.stop - added.start
    begins = code_integers(added.start % lengths.max())
    return combine((begins, code_integers(lengths)), len(added)).compact().codes
