"""SessionAggregate: one partial aggregate per group and piece of a session.

Rows of a batch that follow each other closely make a *piece*: where it begins, where its last row
is, and the partials of its groups. A piece may turn out to go on in another batch, or to fill the
gap between two that are there; so pieces stay as they came until a bound says that some of them
can meet no new row. These are put together with whatever they touch:

    pieces  ├──┤  ├────┤   ├──┤          ├──┤
                └──┘ a late row           └────┘ still open
    close   ├─────────────────┤          both wait

What touches a piece that is still open waits with it: its `due` is put off to the open piece's end.
Segments are sorted by `due`, so what a bound can close stands at the front of each.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from penstock.kernel.aggregates.grouping import Ids, frame, take
from penstock.kernel.aggregates.keys import group_rows
from penstock.kernel.aggregation.aggregate_set import Numbered
from penstock.kernel.aggregation.driver import Results, WindowDriver, WindowState, present
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


class SessionAggregate(WindowDriver):
    """Aggregates rows that come at most one gap after each other."""

    state: SessionState
    state_class = SessionState

    def __init__(self, groups: Sequence[str], results: Results, window: Session) -> None:
        super().__init__(window.on, groups, results)
        self._window = window
        self._closed_by_key = frozenset(window.partition)

    def on_batch(self, port: int, block: Block, out: Output) -> None:
        rows = self.aggregates.prepare(self._in_time(block.rows))
        if not rows.height:
            return
        times = rows.get_column(self._window.on).cast(pl.Int64).to_numpy()
        sessions, first, last = self._sessions(rows, times, times)
        columns, one = self.aggregates.started_by(rows, sessions)
        self._append(columns, first[one], last[one])

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
        _, _, ends = self._sessions_of(pl.concat(self.state.pieces))
        return self._ending(int(ends.min()))

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
        sessions, begin, end = self._sessions_of(pl.concat([due, *self._of_same_partition(due)]))
        is_open = np.zeros(len(begin), dtype=np.bool_)
        is_open[sessions[due.height :]] = True
        columns, ids = self._merged(due, sessions[: due.height])
        waiting = is_open[ids]
        again, over = np.flatnonzero(waiting), np.flatnonzero(~waiting)
        if len(again):
            self._append(take(columns, again), begin[ids[again]], end[ids[again]])
        if not len(over):
            return None
        answers, ids = self.aggregates.answers(take(columns, over)), ids[over]
        return present(answers, begin[ids], end[ids] + self._window.gap)

    def _of_same_partition(self, due: pl.DataFrame) -> list[pl.DataFrame]:
        """What is left of the partitions that have something due."""
        names = list(self._window.partition)
        if not names:
            return list(self.state.pieces)
        partitions = due.select(names).unique()
        return [
            rows.join(partitions, on=names, how="semi", nulls_equal=True)
            for rows in self.state.pieces
        ]

    def _sessions(self, rows: pl.DataFrame, first: Ids, last: Ids) -> tuple[Ids, Ids, Ids]:
        """The session of each piece, and where each session begins and has its last row."""
        partitions = group_rows(map(rows.get_column, self._window.partition), len(first)).ids
        order = np.lexsort((first, partitions))
        begins, partitions = first[order], partitions[order]
        reach = _running_max(last[order], partitions)
        cut = np.ones(len(order), dtype=np.bool_)
        cut[1:] = (begins[1:] - reach[:-1] > self._window.gap) | (partitions[1:] != partitions[:-1])
        numbers = np.cumsum(cut) - 1
        sessions = np.empty(len(order), dtype=np.int64)
        sessions[order] = numbers
        starts = np.flatnonzero(cut)
        stops = np.append(starts[1:], len(order)) - 1
        return sessions, begins[starts], reach[stops]

    def _sessions_of(self, pieces: pl.DataFrame) -> tuple[Ids, Ids, Ids]:
        first, last = pieces.get_column(_FIRST).to_numpy(), pieces.get_column(_LAST).to_numpy()
        return self._sessions(pieces, first, last)

    def _merged(self, rows: pl.DataFrame, sessions: Ids) -> Numbered:
        """One entry per group and session, and the session of each."""
        return self.aggregates.merged_by(rows.to_dict(), sessions)

    def _append(self, columns: dict[str, pl.Series], first: Ids, last: Ids) -> None:
        self.state.pieces.append(_segment(columns, first, last, last), self._level)

    def _level(self, segments: Sequence[pl.DataFrame]) -> pl.DataFrame:
        rows = pl.concat(segments)
        sessions, begin, end = self._sessions_of(rows)
        columns, ids = self._merged(rows, sessions)
        due = np.full(len(begin), BEGINNING)
        np.maximum.at(due, sessions, rows.get_column(_DUE).to_numpy())
        return _segment(columns, begin[ids], end[ids], due[ids])


def _segment(columns: dict[str, pl.Series], first: Ids, last: Ids, due: Ids) -> pl.DataFrame:
    times = {_FIRST: pl.Series(first), _LAST: pl.Series(last), _DUE: pl.Series(due)}
    return frame(columns | times).sort(_DUE, maintain_order=True)


def _running_max(values: Ids, partitions: Ids) -> Ids:
    """The greatest value so far, beginning afresh in each partition; partitions ascend."""
    ranks = np.argsort(np.argsort(values, kind="stable"), kind="stable")
    highest = np.maximum.accumulate(ranks + partitions * len(values)) - partitions * len(values)
    found: Ids = np.sort(values)[highest]
    return found
