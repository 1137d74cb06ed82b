"""Cells of joins, put together from what groups tell batch by batch."""

from __future__ import annotations

from typing import Any

import polars as pl

from penstock.kernel.block import Block
from penstock.kernel.statistics.cell import Cell
from penstock.kernel.statistics.join_meter import UNHURRIED, JoinMeter
from penstock.kernel.statistics.measured_join import MeasuredInput, MeasuredJoin
from penstock.model.punctuation import Punctuation
from penstock.model.schema import Column
from penstock.model.types import Type
from penstock.spark.delivery.join_cells import JoinCells

JOIN = MeasuredJoin((), (), (), width=10, is_time=True)


def said(
    *parts: tuple[int, int], reached: int, over: dict[int, int] | None = None, one_in: int = 1
) -> dict[str, Any]:
    """A group's report: rows of cells that have come, and all rows of those that are over."""
    cells = [Cell(number, 0, [rows], [rows], [rows], [1.0]).as_json() for number, rows in parts]
    totals = {str(number): [rows] for number, rows in (over or {}).items()}
    looks = [one_in, one_in, 0]
    return {JOIN.key: {"looks": looks, "reached": reached, "parts": cells, "over": totals}}


def rows(cells: list[Cell]) -> dict[int, int]:
    return {cell.number: cell.rows[0] for cell in cells}


def test_parts_of_all_batches_and_groups_add_up() -> None:
    cells = JoinCells()
    assert cells.note([said((0, 3), reached=4), said((0, 2), reached=4)]) == {}
    first, second = said((0, 1), (1, 9), reached=12, over={0: 4}), said(reached=12, over={0: 2})
    assert rows(cells.note([first, second])[JOIN.key]) == {0: 6}


def test_a_cell_of_which_a_report_is_missing_is_left_out() -> None:
    cells = JoinCells()
    assert cells.note([said((0, 1), reached=11, over={0: 4})]) == {}
    assert rows(cells.note([said((1, 5), reached=21, over={1: 5})])[JOIN.key]) == {1: 5}


def test_a_cell_that_some_group_does_not_look_at_is_left_out() -> None:
    cells = JoinCells()
    cells.note([said((1, 3), (2, 3), reached=14), said((2, 1), reached=14, one_in=2)])
    over = said(reached=31, over={1: 3, 2: 3}), said(reached=31, over={2: 1}, one_in=2)
    assert rows(cells.note(over)[JOIN.key]) == {2: 4}


def test_a_cell_is_known_before_it_is_over_if_more_than_half_of_it_has_come_everywhere() -> None:
    cells = JoinCells()
    cells.note([said((0, 3), reached=6), said((0, 2), reached=4)])
    assert cells.halves(JOIN) == []
    cells.note([said((0, 1), (1, 1), reached=6), said(reached=5)])
    assert rows(cells.halves(JOIN)) == {0: 6}


def test_what_comes_to_a_cell_that_is_over_is_left_out() -> None:
    cells = JoinCells()
    cells.note([said((0, 3), reached=11, over={0: 3})])
    assert cells.note([said((0, 1), reached=12, over={0: 1})]) == {}


def test_joins_that_are_gone_are_forgotten() -> None:
    cells = JoinCells()
    cells.note([said((0, 3), reached=6)])
    cells.forget(())
    assert cells.halves(JOIN) == []


def test_the_first_cell_counts_where_few_are_looked_at_from_then_on() -> None:
    of = MeasuredInput("a", "a", "a", (Column("ts", Type.BIGINT),), "ts")
    join = MeasuredJoin((of,), (), (), width=10, is_time=True)
    meter, cells, found = JoinMeter(join), JoinCells(), []
    meter.least = UNHURRIED
    for number in range(17, 41):
        meter.taps[0](Block(pl.DataFrame({"ts": [10 * number, 10 * number + 5]})))
        meter.taps[0](Punctuation("ts", 10 * (number + 1)))
        found += cells.note([{join.key: meter.report()}]).get(join.key, [])
    assert rows(found) == {17: 2, 24: 2, 32: 2, 40: 2}
