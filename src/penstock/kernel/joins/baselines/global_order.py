"""Global-order join: the older algorithm, right only if rows of both inputs come in one order.

Every new row purges the other side of rows that are too old for *it*, then meets all that are left:
purge, join, insert. Where an input is late that forgets rows which were still needed, and joins
rows that are too far apart. A baseline that shows what OA-Join is for.
Spec: window-queries 2.6; dynamic-optimization 1.6, 1.7.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import polars as pl

from penstock.kernel.joins.inputs import Inputs
from penstock.kernel.joins.pair_inputs import PairInputs
from penstock.kernel.joins.partners import partners
from penstock.kernel.joins.tactics.tactic import Tactic
from penstock.model.timestamps import BEGINNING, END

#: From when on the other side is still there for a row.
SINCE = "__since"


class GlobalOrder(Tactic):
    """Purge, join, insert, row by row in the order of arrival."""

    name = "GlobalOrderJoin"

    def take(self, inputs: Inputs, port: int, rows: pl.DataFrame) -> Iterable[pl.DataFrame]:
        assert isinstance(inputs, PairInputs)  # it has a left side and a right one
        rows = inputs.can_match(port, rows)
        if not rows.height:
            return
        forgotten = inputs.state.noted.setdefault("forgotten", [BEGINNING, BEGINNING])
        # What the rows before it have purged is gone for a row as well.
        times = rows.get_column(inputs.times[port]).cast(pl.Int64).to_numpy()
        purging = np.maximum.accumulate(partners(inputs.band, port, times)[0])
        arrived = inputs.sides[port].arrive(rows.with_columns(pl.Series(SINCE, purging)))
        since = arrived.rows.get_column(SINCE).to_numpy()
        since = np.maximum(since, forgotten[1 - port])
        arrived = replace(arrived, rows=arrived.rows.drop(SINCE))
        needles = replace(arrived.needles, first=since, last=np.full(len(since), END))
        stored = inputs.stored(1 - port)
        pairs = inputs.pairing.find(port, replace(arrived, needles=needles), stored)
        if pairs is not None:
            yield pairs.rows
        forgotten[1 - port] = int(since.max())
        inputs.sides[1 - port].store.purge(stored, forgotten[1 - port])
        inputs.sides[port].store.add(inputs.stored(port), arrived.rows, arrived.times)
