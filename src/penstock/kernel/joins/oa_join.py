"""OA-Join: a window join that asks for no order and gives none.

Rows meet the stored rows of the other side when they come, and the pairs go out at once, each with
both timestamps. A row is stored unless all its partners have come already. A promise on one side
purges the other's store, and becomes a promise on each of the timestamps in the results: a result
needs a row of either side, new or still stored.  Spec: window-queries 6.1, 6.2, Fig 7-1, 7-2.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import polars as pl

from penstock.kernel.block import Block
from penstock.kernel.expressions import compile_expression
from penstock.kernel.joins.keys import HASHED_BY
from penstock.kernel.joins.purge import keep_from, output_bound
from penstock.kernel.joins.run import CODE
from penstock.kernel.joins.side import Arrived, Side
from penstock.kernel.joins.spec import JoinSpec
from penstock.kernel.operator import Operator, Output
from penstock.kernel.state import State, Table
from penstock.model.punctuation import Punctuation
from penstock.model.timestamps import BEGINNING


@dataclass
class OAJoinState(State):
    """Stored rows of both sides; what each input has promised, and what was promised on."""

    left: Table = field(default_factory=Table)
    right: Table = field(default_factory=Table)
    bounds: list[int] = field(default_factory=lambda: [BEGINNING, BEGINNING])
    sent: list[int] = field(default_factory=lambda: [BEGINNING, BEGINNING])
    hashed_by: str = HASHED_BY

    def stored(self, side: int) -> Table:
        return self.right if side else self.left


class OAJoin(Operator):
    """Joins rows within a band, whatever order they come in."""

    state: OAJoinState
    ports = 2

    def __init__(self, spec: JoinSpec) -> None:
        super().__init__()
        self.state = OAJoinState()
        self._spec = spec
        self._sides = (Side(spec, 0), Side(spec, 1))
        compiled = [compile_expression(condition) for condition in spec.conditions]
        self._condition = pl.all_horizontal(compiled) if compiled else None

    # -- rows ---------------------------------------------------------------------------------

    def on_batch(self, port: int, block: Block, out: Output) -> None:
        if self.state.hashed_by != HASHED_BY:
            self._hash_again()
        side = self._sides[port]
        rows = side.can_match(side.named(block.rows))
        if not rows.height:
            return
        arrived = side.arrive(rows)
        pairs = self._pairs(port, arrived)
        if pairs is not None:
            out.batch(Block(pairs))
        self._store(port, arrived)

    def _pairs(self, port: int, arrived: Arrived) -> pl.DataFrame | None:
        """New rows with their partners among those stored."""
        other = self._sides[1 - port]
        found = list(other.store.candidates(self.state.stored(1 - port), arrived.needles))
        if not found:
            return None
        new = np.concatenate([mine for _, mine, _ in found])
        theirs = pl.concat([run.rows.select(other.names)[old] for run, _, old in found])
        mine = arrived.rows.select(self._sides[port].names)[new]
        pairs = theirs.hstack(mine) if port else mine.hstack(theirs)
        if self._condition is None:
            return pairs
        holds = pairs.select(self._condition).to_series()
        # Nearly always true of all, and then there is nothing to copy.
        return pairs if holds.all(ignore_nulls=False) else pairs.filter(holds)

    def _store(self, port: int, arrived: Arrived) -> None:
        first = keep_from(self._spec.band, port, self.state.bounds[1 - port])
        rows, times = arrived.rows, arrived.times
        needed = times >= first
        if not needed.all():
            rows, times = rows.filter(needed), times[needed]
        self._sides[port].store.add(self.state.stored(port), rows, times)

    def _hash_again(self) -> None:
        """Another version of Polars has kept this state: its hashes are not ours."""
        for side in self._sides:
            table = self.state.stored(side.number)
            stored, table.segments = list(table), []
            for rows in stored:
                arrived = side.arrive(rows.drop(CODE))
                side.store.add(table, arrived.rows, arrived.times)
        self.state.hashed_by = HASHED_BY

    # -- promises -----------------------------------------------------------------------------

    def on_punctuation(self, port: int, punctuation: Punctuation, out: Output) -> None:
        bounds, band = self.state.bounds, self._spec.band
        if punctuation.on != self._spec.sides[port].on or punctuation.bound <= bounds[port]:
            return
        bounds[port] = punctuation.bound
        other = 1 - port
        purged = keep_from(band, other, punctuation.bound)
        self._sides[other].store.purge(self.state.stored(other), purged)
        for side in self._sides:
            number = side.number
            bound = output_bound(band, number, bounds[number], bounds[1 - number])
            if bound > self.state.sent[number]:
                self.state.sent[number] = bound
                out.punctuation(Punctuation(side.on, bound))
