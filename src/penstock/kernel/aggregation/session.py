"""SessionAggregate: one partial aggregate per group and piece of a session.

Rows of a batch that follow each other closely make a *piece*: where it begins, where its last row
is, and the partials of its groups. A piece may turn out to go on in another batch, or to fill the
gap between two that are there; so pieces stay as they came until a promise says that some of them
can meet no new row. These are put together with whatever they touch:

    pieces  ├──┤  ├────┤   ├──┤          ├──┤
                └──┘ a late row           └────┘ still open
    close   ├─────────────────┤          both wait

What touches a piece that is still open waits with it: its `due` is put off to the open piece's end.
Segments are sorted by `due`, so what a promise can close stands at the front of each.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from penstock.kernel.aggregates import Ids, take
from penstock.kernel.aggregation.aggregate_set import AggregateSet
from penstock.kernel.aggregation.keys import Groups, code_column, code_integers, combine
from penstock.kernel.aggregation.wid.wid import present
from penstock.kernel.block import Block
from penstock.kernel.buffer import Cursor
from penstock.kernel.operator import Operator, Output
from penstock.kernel.progress.patterns import matching
from penstock.kernel.progress.release import Need, Needs, Times, Waiting
from penstock.kernel.segments import Table, table, where
from penstock.kernel.state import State
from penstock.model.aggregates import Aggregate
from penstock.model.punctuation import Punctuation
from penstock.model.schema import WINDOW_END
from penstock.model.timestamps import BEGINNING, END
from penstock.windows.session import Session

_FIRST, _LAST, _DUE = "__first", "__last", "__due"

#: Pieces that are looked through to say which session ends next.
MOST_PIECES = 1 << 12


@dataclass
class SessionState(State):
    """Pieces; rows below `closed` come too late; rows without a time are `unplaced`."""

    pieces: Table = table(_DUE)
    closed: int = BEGINNING
    late: int = 0
    unplaced: int = 0


class SessionAggregate(Operator):
    """Aggregates rows that come at most one gap after each other."""

    state: SessionState

    def __init__(
        self, groups: Sequence[str], results: Sequence[tuple[str, Aggregate]], window: Session
    ) -> None:
        super().__init__()
        self.state = SessionState()
        self._window = window
        self._calculation = AggregateSet(groups, results)

    def useful(self, wanted: frozenset[str] | None) -> frozenset[str]:
        return frozenset([self._window.on])

    def on_batch(self, port: int, block: Block, out: Output) -> None:
        on = self._window.on
        rows = block.rows.drop_nulls(on)
        self.state.unplaced += len(block) - rows.height
        in_time = rows.filter(pl.col(on) >= self.state.closed)
        self.state.late += rows.height - in_time.height
        if not in_time.height:
            return
        rows = self._calculation.prepare(in_time)
        times = rows.get_column(on).cast(pl.Int64).to_numpy()
        sessions, first, last = self._sessions(rows, times, times)
        cells = self._cells(rows, sessions)
        keys = {name: rows.get_column(name) for name in self._calculation.groups}
        one = sessions[cells.members]
        columns = take(keys, cells.members) | self._calculation.start(rows, cells)
        self._append(columns, first[one], last[one], last[one])

    def on_punctuation(self, port: int, punctuation: Punctuation, out: Output) -> None:
        bound = punctuation.bound
        if punctuation.on != self._window.on or bound <= self.state.closed:
            return
        self.state.closed = bound
        # A row at the bound may go on with what ended one gap before it, but no longer.
        due = self.state.pieces.take_below(bound - self._window.gap if bound < END else END)
        if due:
            self._close(pl.concat(due), out)
        out.punctuation(Punctuation(WINDOW_END, bound))

    def on_pattern(self, port: int, punctuation: Punctuation, out: Output) -> None:
        """Close sessions of the partitions that are meant; a part of a partition says nothing."""
        bound, partition = punctuation.bound, self._window.partition
        if punctuation.on != self._window.on or bound <= self.state.closed:
            return
        if any(name not in partition for name, _ in punctuation.where):
            return
        horizon = bound - self._window.gap if bound < END else END
        meant = matching(punctuation.where) & (pl.col(_DUE) < horizon)
        due = self.state.pieces.take_where(where(meant))
        if due:
            self._close(pl.concat(due), out)
        if all(name in self._calculation.groups for name, _ in punctuation.where):
            out.punctuation(Punctuation(WINDOW_END, bound, punctuation.where))

    # -- what it waits for --------------------------------------------------------------------

    def held(self, inputs: Sequence[Cursor]) -> Iterable[Waiting]:
        if not self.state.pieces.rows:
            return ()
        if self.state.pieces.rows > MOST_PIECES:
            # What the first one touches may put it off; to look at all of them takes too long.
            due = int(min(rows.get_column(_LAST).min() for rows in self.state.pieces))  # type: ignore[arg-type, type-var]
            return self._ending(due, certain=False)
        pieces = pl.concat(self.state.pieces)
        first, last = pieces.get_column(_FIRST).to_numpy(), pieces.get_column(_LAST).to_numpy()
        _, _, ends = self._sessions(pieces, first, last)
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

    def known(self, port: int, on: str) -> int:
        return self.state.closed if on == self._window.on else BEGINNING

    def _close(self, due: pl.DataFrame, out: Output) -> None:
        """Put out the sessions that are over; put back what touches one that is not."""
        touching = self._of_same_partition(due)
        pieces = pl.concat([due, *touching])
        first, last = pieces.get_column(_FIRST).to_numpy(), pieces.get_column(_LAST).to_numpy()
        sessions, begin, end = self._sessions(pieces, first, last)
        is_open = np.zeros(len(begin), dtype=np.bool_)
        is_open[sessions[due.height :]] = True
        waiting = is_open[sessions[: due.height]]
        over = np.flatnonzero(~waiting)
        if len(over):
            columns, ids = self._merged(due[over], sessions[over])
            answers = self._calculation.keys(columns) | self._calculation.results(columns)
            out.batch(Block(present(answers, begin[ids], end[ids] + self._window.gap)))
        again = np.flatnonzero(waiting)
        if len(again):
            columns, ids = self._merged(due[again], sessions[again])
            self._append(columns, begin[ids], end[ids], end[ids])

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
        codes = combine(map(code_column, map(rows.get_column, self._window.partition)), len(first))
        partitions = codes.groups().ids
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

    def _cells(self, rows: pl.DataFrame, sessions: Ids) -> Groups:
        keys = map(code_column, map(rows.get_column, self._calculation.groups))
        return combine((*keys, code_integers(sessions)), rows.height).groups()

    def _merged(self, rows: pl.DataFrame, sessions: Ids) -> tuple[dict[str, pl.Series], Ids]:
        """One entry per group and session, and the session of each."""
        cells = self._cells(rows, sessions)
        columns = {name: rows.get_column(name) for name in rows.columns}
        partials = self._calculation.merge(self._calculation.kept(columns), cells)
        keys = take(self._calculation.keys(columns), cells.members)
        return keys | partials, sessions[cells.members]

    def _append(self, columns: dict[str, pl.Series], first: Ids, last: Ids, due: Ids) -> None:
        self.state.pieces.append(_segment(columns, first, last, due), self._level)

    def _level(self, segments: Sequence[pl.DataFrame]) -> pl.DataFrame:
        rows = pl.concat(segments)
        first, last = rows.get_column(_FIRST).to_numpy(), rows.get_column(_LAST).to_numpy()
        sessions, begin, end = self._sessions(rows, first, last)
        columns, ids = self._merged(rows, sessions)
        due = np.full(len(begin), BEGINNING)
        np.maximum.at(due, sessions, rows.get_column(_DUE).to_numpy())
        return _segment(columns, begin[ids], end[ids], due[ids])


def _segment(columns: dict[str, pl.Series], first: Ids, last: Ids, due: Ids) -> pl.DataFrame:
    times = {_FIRST: pl.Series(first), _LAST: pl.Series(last), _DUE: pl.Series(due)}
    rows = pl.DataFrame([c.alias(name) for name, c in (columns | times).items()])
    return rows.sort(_DUE, maintain_order=True)


def _running_max(values: Ids, partitions: Ids) -> Ids:
    """The greatest value so far, beginning afresh in each partition; partitions ascend."""
    ranks = np.argsort(np.argsort(values, kind="stable"), kind="stable")
    highest = np.maximum.accumulate(ranks + partitions * len(values)) - partitions * len(values)
    found: Ids = np.sort(values)[highest]
    return found
