"""Two-level aggregation: a small fixed-size table that reduces, and a level behind that rolls up.

    Bucket > LowLevel > HighLevel

The low level sees every row and must never stand still or grow: it keeps partial aggregates in a
table of fixed size, and whatever it has no room for goes on, half done. The high level sees far
fewer partials than there are rows, merges those of the same group and window (counts are added up),
and answers as WID does. A bound about windows goes on only when the last of their aggregates has
left the table; when that is, says `flush`.  Spec: window-queries 7.5, 7.6.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import polars as pl

from penstock.kernel.aggregates.keys import Groups
from penstock.kernel.aggregation.aggregate_set import AggregateSet
from penstock.kernel.aggregation.driver import Results, put_out
from penstock.kernel.aggregation.two_level.fixed_table import FixedTable, FixedTableState
from penstock.kernel.aggregation.two_level.flush import Flush
from penstock.kernel.aggregation.wid.bucket import WID, WID_END, WID_START
from penstock.kernel.aggregation.wid.wid import WidAggregate
from penstock.kernel.block import Block
from penstock.kernel.buffer import Cursor
from penstock.kernel.operator import Operator, Output
from penstock.kernel.progress.patterns import matching
from penstock.kernel.progress.release import Need, Needs, Times, Waiting
from penstock.model.punctuation import Punctuation
from penstock.model.timestamps import BEGINNING, END


@dataclass
class LowLevelState(FixedTableState):
    """The table; how far windows are over here, and how far that was passed on."""

    received: int = BEGINNING
    sent: int = BEGINNING
    since: int = 0  # rows since an old aggregate left by itself


class LowLevel(Operator):
    """Reduces rows that carry ranges of wids to partials that do."""

    state: LowLevelState

    def __init__(self, groups: Sequence[str], results: Results, size: int, flush: Flush) -> None:
        super().__init__()
        self.state = LowLevelState()
        self.aggregates = AggregateSet(groups, results)
        self._table = FixedTable(self.state, self.aggregates, size)
        self._flush = flush

    def useful(self) -> frozenset[str]:
        return frozenset([WID])

    def on_batch(self, port: int, block: Block, out: Output) -> None:
        if not len(block):
            return
        thrown_out = self._table.put(self.aggregates.prepare(block.rows))
        if thrown_out is not None:
            if self._flush.keeps_order:
                newest = int(thrown_out.get_column(WID_START).to_numpy().max())
                before = self._table.flush_all(newest)
                parts = [thrown_out] if before is None else [before, thrown_out]
                thrown_out = pl.concat(parts).sort(WID_START, maintain_order=True)
            out.batch(Block(thrown_out))
        leaving, self.state.since = self._flush.leaving(self.state.since + len(block))
        if leaving:
            put_out(self._table.flush_some(self.state.received, leaving), out)
            self._announce(out)

    def on_punctuation(self, port: int, punctuation: Punctuation, out: Output) -> None:
        state, bound = self.state, punctuation.bound
        if punctuation.on != WID or bound <= state.received:
            return
        overdue = END if bound >= END else self._flush.overdue_below(bound, state.received)
        put_out(self._table.flush_all(overdue), out)
        state.received = bound
        self._announce(out)

    def on_pattern(self, port: int, punctuation: Punctuation, out: Output) -> None:
        """What is over for some groups only leaves at once: they have no turn of their own."""
        if self._flush.keeps_order:
            return
        groups = self.aggregates.groups
        if punctuation.on == WID and all(name in groups for name, _ in punctuation.where):
            over = matching(punctuation.where) & (pl.col(WID_START) < punctuation.bound)
            if self._table.oldest() < punctuation.bound:
                put_out(self._table.flush_where(over), out)
            out.punctuation(punctuation)

    def held(self, inputs: Sequence[Cursor]) -> Iterable[Waiting]:
        oldest = self._table.oldest()
        if oldest >= END:
            return ()
        # It goes on as partials, when the policy or a bound about its group says so.
        times = {WID: oldest, WID_END: oldest + 1}
        return (Waiting((Need(0, WID, oldest + 1),), times, certain=False),)

    def passes(self, port: int, times: Times) -> Iterable[Waiting]:
        """It may throw out what was there, and more may leave for it."""
        first = times[WID]
        assert first is not None
        first = min(first, self._table.oldest())
        return (Waiting((), {WID: first, WID_END: first + 1}, certain=False),)

    def needed(self, on: str, bound: int) -> Needs | None:
        if on != WID:
            return None
        # What is in the table holds the bound back, until collisions or bounds throw it out;
        # and if collisions did, the next bound says so.
        need = Need(0, WID, max(bound, min(self.state.received + 1, END)))
        return Needs((need,), certain=self._table.oldest() >= bound)

    def rest(self, out: Output) -> None:
        put_out(self._table.flush_all(self.state.received), out)
        self._announce(out)

    def _announce(self, out: Output) -> None:
        """What no entry of the table can contradict any more."""
        bound = min(self.state.received, self._table.oldest())
        if bound > self.state.sent:
            self.state.sent = bound
            out.punctuation(Punctuation(WID, bound))


class HighLevel(WidAggregate):
    """WID over partials instead of rows: those of one group and range are rolled up."""

    def _prepared(self, rows: pl.DataFrame) -> pl.DataFrame:
        return rows

    def _partials(self, rows: pl.DataFrame, cells: Groups) -> dict[str, pl.Series]:
        return self.aggregates.merged(rows.to_dict(), cells)

    def passes(self, port: int, times: Times) -> Iterable[Waiting]:
        """What comes with a row may be a bound, too, that was held back: it needs no other."""
        first, mine = times[WID], self.first_open()
        assert first is not None
        [closing] = self._closing(first if mine is None else min(first, mine))
        return (Waiting((), closing.times, certain=False),)
