"""SessionAggregate: one partial aggregate per group and piece of a session.

Rows of a batch that follow each other closely make a *piece*: where it begins, where its last row
is, and the partials of its groups. A piece may turn out to go on in another batch, or to fill the
gap between two that are there; so pieces stay as they came until a bound says that some of them
can meet no new row. These are put together with whatever they touch:

    pieces  ├──┤  ├────┤   ├──┤          ├──┤
                └──┘ a late row           └────┘ still open
    close   ├─────────────────┤          both wait

What touches a piece that is still open waits with it: its `due` is put off to the open piece's end.
Segments are sorted by `due`, so what a bound can close stands at the front of each; what it touches
is found by its partition (`partition_index`), so that closing costs what is closed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from penstock.kernel.aggregates.grouping import Columns, Ids, frame, take
from penstock.kernel.aggregates.keys import Codes, Groups, code_column, combine
from penstock.kernel.aggregation.driver import Results, WindowDriver, WindowState, present
from penstock.kernel.aggregation.partition_index import PartitionIndex
from penstock.kernel.aggregation.preaggregating import Preaggregating
from penstock.kernel.aggregation.session_ranges import (
    Sessions,
    sessions_of_pieces,
    sessions_of_rows,
)
from penstock.kernel.block import Block
from penstock.kernel.buffer import Cursor
from penstock.kernel.operator import Output
from penstock.kernel.progress.patterns import matching
from penstock.kernel.progress.release import Need, Needs, Times, Waiting
from penstock.kernel.segments import SegmentTable, table
from penstock.kernel.segments import where as where_holds
from penstock.model.punctuation import Where
from penstock.model.schema import WINDOW_END
from penstock.model.timestamps import BEGINNING, END
from penstock.windows.session import Session

_FIRST, _LAST, _DUE = "__first", "__last", "__due"

#: Pieces that are looked through to say which session ends next.
MOST_PIECES = 1 << 12


@dataclass
class SessionState(WindowState):
    """Pieces of sessions that are open."""

    pieces: SegmentTable = table(_DUE)


class SessionAggregate(WindowDriver, Preaggregating):
    """Aggregates rows that come at most one gap after each other."""

    state: SessionState
    state_class = SessionState

    def __init__(self, groups: Sequence[str], results: Results, window: Session) -> None:
        super().__init__(window.on, groups, results)
        self._window = window
        self._closed_by_key = frozenset(window.partition)
        self._index = PartitionIndex(window.partition)
        self._further = [name for name in groups if name not in window.partition]

    def on_batch(self, port: int, block: Block, out: Output) -> None:
        rows = self._in_time(block.rows)
        if rows.height:
            self.absorb(self.preaggregated(rows))

    def preaggregated(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Pieces of rows that have a time; they depend on no state, so anybody can make them."""
        rows = self.aggregates.prepare(rows)
        times = rows.get_column(self._window.on).cast(pl.Int64).to_numpy()
        sessions = sessions_of_rows(self._partitions(rows), times, self._window.gap)
        cells = self._cells(rows.to_dict(), sessions.groups)
        of = sessions.groups.ids[cells.members]
        columns = self.aggregates.started(rows, cells)
        return _segment(columns, sessions.begin[of], sessions.last[of], sessions.last[of])

    def absorb(self, folded: pl.DataFrame) -> None:
        """Add pieces of rows, none of which is late."""
        self.state.pieces.append(folded, self.merged)

    def _close(self, received: int, bound: int) -> pl.DataFrame | None:
        return self._ended(self.state.pieces.take_below(self._horizon(bound)))

    def _close_some(self, received: int, bound: int, where: Where) -> pl.DataFrame | None:
        due = matching(where) & (pl.col(_DUE) < self._horizon(bound))
        return self._ended(self.state.pieces.take_where(where_holds(due)))

    def _horizon(self, bound: int) -> int:
        """A row at the bound may go on with what ended one gap before it, but no longer."""
        return bound - self._window.gap if bound < END else END

    def _ends(self, bound: int) -> tuple[int | None, int]:
        return None, bound

    # -- what it waits for --------------------------------------------------------------------

    def held(self, inputs: Sequence[Cursor]) -> Iterable[Waiting]:
        if not self.state.pieces.rows:
            return ()
        if self.state.pieces.rows > MOST_PIECES:
            # What the first one touches may put it off; to look at all of them takes too long.
            due = int(min(rows.get_column(_LAST).min() for rows in self.state.pieces))  # type: ignore[arg-type, type-var]
            return self._ending(due, certain=False)
        sessions = self._sessions_of(pl.concat(self.state.pieces))
        return self._ending(int(sessions.last.min()))

    def passes(self, port: int, times: Times) -> Iterable[Waiting]:
        """It may go on with a session that is there, and be put off with it."""
        time = times[self._window.on]
        if time is None or time < self.state.closed:
            return ()
        return self._ending(time, certain=False)

    def _ending(self, last: int, *, certain: bool = True) -> tuple[Waiting]:
        """The session whose last row is there."""
        end = last + self._window.gap
        return (Waiting((Need(0, self._window.on, end + 1),), {WINDOW_END: end}, certain),)

    def needed(self, on: str, bound: int) -> Needs | None:
        return Needs((Need(0, self._window.on, bound),)) if on == WINDOW_END else None

    def _ended(self, taken: list[pl.DataFrame]) -> pl.DataFrame | None:
        """The sessions that are over; what touches one that is not is put back."""
        if not taken:
            return None
        due = pl.concat(taken)
        told = [*self._window.partition, _FIRST, _LAST]
        others = self._index.of_same(self.state.pieces.segments, due, told)
        sessions = self._sessions_of(pl.concat([due.select(told), *others]))
        of_due, of_others = np.split(sessions.groups.ids, [due.height])
        is_open = np.zeros(sessions.groups.size, dtype=np.bool_)
        is_open[of_others] = True
        cells = self._cells(due.to_dict(), Codes(of_due, sessions.groups.size).groups())
        columns, ids = self.aggregates.merged(due.to_dict(), cells), of_due[cells.members]
        waiting = is_open[ids]
        again, over = np.flatnonzero(waiting), np.flatnonzero(~waiting)
        if len(again):
            last = sessions.last[ids[again]]
            self.absorb(_segment(take(columns, again), sessions.begin[ids[again]], last, last))
        if not len(over):
            return None
        answers, ids = self.aggregates.answers(take(columns, over)), ids[over]
        return present(answers, sessions.begin[ids], sessions.last[ids] + self._window.gap)

    def _partitions(self, rows: pl.DataFrame) -> Codes:
        return combine(map(code_column, map(rows.get_column, self._window.partition)), rows.height)

    def _sessions_of(self, pieces: pl.DataFrame) -> Sessions:
        first, last = pieces.get_column(_FIRST).to_numpy(), pieces.get_column(_LAST).to_numpy()
        return sessions_of_pieces(self._partitions(pieces), first, last, self._window.gap)

    def _cells(self, columns: Columns, sessions: Groups) -> Groups:
        """Rows or pieces of one group and session; a session tells its partition."""
        if not self._further:
            return sessions
        keys = [code_column(columns[name]) for name in self._further]
        return combine((Codes(sessions.ids, sessions.size), *keys), len(sessions.ids)).groups()

    def merged(self, segments: Sequence[pl.DataFrame]) -> pl.DataFrame:
        rows = pl.concat(segments)
        sessions = self._sessions_of(rows)
        cells = self._cells(rows.to_dict(), sessions.groups)
        columns = self.aggregates.merged(rows.to_dict(), cells)
        of = sessions.groups.ids[cells.members]
        due = np.full(sessions.groups.size, BEGINNING)
        np.maximum.at(due, sessions.groups.ids, rows.get_column(_DUE).to_numpy())
        return _segment(columns, sessions.begin[of], sessions.last[of], due[of])


def _segment(columns: dict[str, pl.Series], first: Ids, last: Ids, due: Ids) -> pl.DataFrame:
    times = {_FIRST: pl.Series(first), _LAST: pl.Series(last), _DUE: pl.Series(due)}
    return frame(take(columns | times, due.argsort(kind="stable")))
