"""Global-order join: the older algorithm, right only if rows of both inputs come in one order.

Every new row purges the other side of rows that are too old for *it*, then meets all that are left:
purge, join, insert. Where an input is late that forgets rows which were still needed, and joins
rows that are too far apart. A baseline that shows what OA-Join is for.
Spec: window-queries 2.6; dynamic-optimization 1.6, 1.7.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from penstock.kernel.block import Block
from penstock.kernel.joins.oa_join import OAJoin, OAJoinState
from penstock.kernel.joins.partners import partners
from penstock.kernel.operator import Output
from penstock.model.timestamps import BEGINNING, END

#: From when on the other side is still there for a row.
SINCE = "__since"


@dataclass
class GlobalOrderState(OAJoinState):
    """OA-Join's, and below which time each side is forgotten."""

    forgotten: list[int] = field(default_factory=lambda: [BEGINNING, BEGINNING])


class GlobalOrderJoin(OAJoin):
    """Purge, join, insert, row by row in the order of arrival."""

    knows_keys = False

    state: GlobalOrderState
    state_type = GlobalOrderState

    def on_batch(self, port: int, block: Block, out: Output) -> None:
        side, other = self._sides[port], self._sides[1 - port]
        rows = side.can_match(side.named(block.rows))
        if not rows.height:
            return
        times = rows.get_column(side.on).cast(pl.Int64).to_numpy()
        # What the rows before it have purged is gone for a row as well.
        purging = np.maximum.accumulate(partners(self._spec.band, port, times)[0])
        arrived = side.arrive(rows.with_columns(pl.Series(SINCE, purging)))
        since = arrived.rows.get_column(SINCE).to_numpy()
        since = np.maximum(since, self.state.forgotten[1 - port])
        arrived = replace(arrived, rows=arrived.rows.drop(SINCE))
        stored = self.state.stored(1 - port)
        needles = replace(arrived.needles, first=since, last=np.full(len(since), END))
        pairs = self._pairing.find(port, replace(arrived, needles=needles), stored)
        if pairs is not None:
            out.batch(Block(pairs.rows))
        self.state.forgotten[1 - port] = int(since.max())
        other.store.purge(stored, int(since.max()))
        side.store.add(self.state.stored(port), arrived.rows, arrived.times)
