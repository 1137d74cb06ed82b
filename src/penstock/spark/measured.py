"""Measured: what a running pipeline knows of its joins, from the reports of its batches, and of the
plans that served them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.io.storage.storage_path import StoragePath
from penstock.kernel.statistics.measured_join import MeasuredJoin
from penstock.optimizer.adaptation.plan_memory import Plans
from penstock.optimizer.join_statistics import JoinStatistics
from penstock.optimizer.measured_joins import measured_joins
from penstock.optimizer.physical import Program
from penstock.spark.delivery.join_cells import JoinCells
from penstock.spark.state.remembered import MOST, remember, remembered, remembered_plans

#: Batches after which what is known is written down.
EVERY = 64


class Measured:
    """`place` is where it is kept, if anywhere; what was kept there is known from before."""

    def __init__(self, place: StoragePath | None) -> None:
        self._place = place
        self.joins = JoinStatistics()
        #: The same, and what cells say of pairs that are not over.
        self.so_far = self.joins
        self.remembered = JoinStatistics() if place is None else remembered([place])
        #: Of its queries; whoever looks for better ones says what is known by then.
        self.plans: Plans = {} if place is None else remembered_plans(place)
        self._cells = JoinCells()
        self._halves: set[tuple[str, int]] = set()  # cells that are not over and were looked at
        self._program: Program | None = None
        self._known: dict[str, MeasuredJoin] = {}
        self._last = self._written = -1

    def note(self, batch: int, groups: Sequence[Mapping[str, Any]], program: Program) -> bool:
        """Take what groups say of a batch; one that is repeated has said it already.

        Gives whether more is known by it.
        """
        if batch <= self._last or not groups:
            return False
        self._last = batch
        if program is not self._program:
            self._program = program
            joins = measured_joins(program.queries, program.plans)
            self._known = {join.key: join for join in joins}
            self._cells.forget(self._known)
        cells = self._cells.note(groups)
        for key, found in cells.items():
            if key in self._known:  # else its query is gone
                self.joins = self.joins.plus(self._known[key], found).latest(MOST)
        if cells and batch >= self._written + EVERY:
            self.write(batch)
        before, self.so_far = self._halves, self.joins
        halves = {key: self._cells.halves(join) for key, join in self._known.items()}
        for key, open_cells in halves.items():
            self.so_far = self.so_far.plus_pairs(self._known[key], open_cells)
        self._halves = {(key, cell.number) for key, some in halves.items() for cell in some}
        return bool(cells or self._halves - before)

    def write(self, batch: int | None = None) -> None:
        """Write down what is known."""
        self._written = self._last if batch is None else batch
        if self._place is not None and self.joins.inputs:
            remember(self._place, self.remembered | self.joins, self.plans)
