"""Order: what waits, for how long, and what is written for it."""

from __future__ import annotations

import polars as pl

from penstock.kernel.operators.order import Order
from penstock.model.punctuation import Punctuation
from penstock.model.timestamps import END
from tests.kernel.joins.feeding import Collected, punctuate, push, rows


def test_a_row_comes_out_once_nothing_lower_can_come_and_not_before() -> None:
    order, out = Order("ts"), Collected()
    push(order, 0, rows(("a", 1, 5), ("b", 2, 3), ("c", 3, 9)), out)
    assert out.rows == []
    punctuate(order, 0, 5, out)
    assert [row[2] for row in out.rows] == [3], "others at 5 may still come"
    push(order, 0, rows(("d", 4, 5), ("e", 5, 7)), out)
    punctuate(order, 0, 8, out)
    assert [row[0] for row in out.rows] == ["b", "a", "d", "e"]
    assert out.bounds == [("ts", 5), ("ts", 8)]
    punctuate(order, 0, END, out)
    assert [row[0] for row in out.rows][4:] == ["c"]
    assert order.state.waiting.rows == 0


def test_a_row_without_a_time_has_no_place_in_the_order_and_passes() -> None:
    order, out = Order("ts"), Collected()
    push(order, 0, rows(("a", 1, None), ("b", 2, 3)), out)
    assert out.rows == [("a", 1, None)]


def test_bounds_on_other_columns_end_here() -> None:
    order, out = Order("ts"), Collected()
    order.on_punctuation(0, Punctuation("v", 7), out)
    assert out.bounds == []


def test_waiting_rows_are_copied_a_few_times_however_small_the_blocks() -> None:
    order, out = Order("ts"), Collected()
    written = 0
    for n in range(300):
        before = {segment.id for segment in order.state.waiting.segments}
        push(order, 0, rows(("a", n, (n * 7) % 300)), out)
        segments = order.state.waiting.segments
        written += sum(s.rows.height for s in segments if s.id not in before)
    assert len(order.state.waiting.segments) < 16
    assert written < 300 * 7
    punctuate(order, 0, END, out)
    assert pl.concat(out.blocks).get_column("ts").to_list() == list(range(300))
