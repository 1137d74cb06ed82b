"""JoinMeter: which rows it looks at."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from penstock.kernel.block import Block
from penstock.kernel.statistics.join_meter import UNHURRIED, JoinMeter
from penstock.kernel.statistics.measured_join import (
    MeasuredCondition,
    MeasuredInput,
    MeasuredJoin,
)
from penstock.model.expressions import Call, Ref
from penstock.model.punctuation import Punctuation
from penstock.model.schema import Column
from penstock.model.types import Type


@pytest.mark.parametrize("rows", [1, 7, 8, 9, 15])
def test_each_row_is_as_likely_looked_at_as_any_other_however_few_come_at_once(rows: int) -> None:
    meter = JoinMeter(MeasuredJoin((), (), (), width=10, is_time=True))
    times = [0] * rows
    for _ in range(4000):
        for row in meter._drawn(rows, one_in=8):
            times[row] += 1
    assert times == [pytest.approx(500, abs=120)] * rows


@pytest.mark.parametrize(("least", "looked_at"), [(1, 16), (UNHURRIED, 2)])
def test_where_nobody_waits_for_changes_few_cells_are_looked_at(least: int, looked_at: int) -> None:
    of = MeasuredInput("a", "a", "a", (Column("ts", Type.BIGINT),), "ts")
    meter = JoinMeter(MeasuredJoin((of,), (), (), width=10, is_time=True))
    meter.least = least
    [tap] = meter.taps
    cells = []
    for batch in range(16):
        times = np.full(50_000, 10 * batch)
        tap(Block(pl.DataFrame({"ts": times})))
        tap(Punctuation("ts", 10 * (batch + 1)))
        cells += [cell["number"] for cell in meter.report()["parts"]]
    assert len(cells) == looked_at
    assert cells[0] == 0  # the first of all


def test_a_meter_whose_changes_are_waited_for_again_looks_at_all_cells() -> None:
    of = MeasuredInput("a", "a", "a", (Column("ts", Type.BIGINT),), "ts")
    meter = JoinMeter(MeasuredJoin((of,), (), (), width=10, is_time=True))
    [tap] = meter.taps
    meter.least, cells = UNHURRIED, []
    for batch in range(64):
        tap(Block(pl.DataFrame({"ts": np.full(200_000, 10 * batch)})))
        tap(Punctuation("ts", 10 * (batch + 1)))
        cells += [cell["number"] for cell in meter.report()["parts"]]
        if batch == 8:
            meter.least = 1
    assert cells[-8:] == list(range(56, 64))


def test_conditions_of_a_stream_that_is_joined_twice_are_tried_on_the_rows_that_came() -> None:
    """Rows of one of the two may come to a cell before those of the other."""

    def column(name: str) -> Ref:
        return Ref(f"{name}.v", Type.BIGINT)

    columns = (Column("v", Type.BIGINT), Column("ts", Type.BIGINT))
    inputs = tuple(
        MeasuredInput(key, n, n, columns, "ts") for key, n in zip("abb", "acd", strict=True)
    )
    conditions = tuple(
        MeasuredCondition("a < b", "", (0, port), Call("<", (column("a"), column(name))))
        for port, name in ((1, "c"), (2, "d"))
    )
    meter = JoinMeter(MeasuredJoin(inputs, (), conditions, width=100, is_time=True))
    meter.taps[0](Block(pl.DataFrame({"v": [1, 2], "ts": [1, 2]})))
    meter.taps[2](Block(pl.DataFrame({"v": [2], "ts": [3]})))
    [part] = meter.report()["parts"]
    assert part["tried"]["a < b"][:2] == (2, 1)
    for port in (0, 1, 2):
        meter.taps[port](Block(pl.DataFrame({"v": [5, 6], "ts": [4, 5]})))
    [part] = meter.report()["parts"]
    assert part["tried"]["a < b"][:2] == (8, 2)
