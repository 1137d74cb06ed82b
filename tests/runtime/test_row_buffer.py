"""What nobody takes is kept up to a limit, and what is dropped is counted."""

from __future__ import annotations

import polars as pl

from penstock.runtime.row_buffer import LATEST, RowBuffer


def rows(*values: int) -> pl.DataFrame:
    return pl.DataFrame({"x": values}, schema={"x": pl.Int64})


def kept(buffer: RowBuffer[int]) -> list[int]:
    return [value for _, part in buffer.parts() for value in part["x"]]


def test_the_oldest_rows_beyond_the_limit_are_dropped_and_counted() -> None:
    buffer: RowBuffer[int] = RowBuffer(4)
    buffer.put(1, rows(1, 2, 3))
    buffer.put(2, rows(4, 5))
    assert (kept(buffer), buffer.rows, buffer.dropped) == ([2, 3, 4, 5], 4, 1)
    buffer.put(3, rows(6, 7, 8, 9, 10, 11))
    assert (kept(buffer), buffer.rows, buffer.dropped) == ([8, 9, 10, 11], 4, 7)


def test_a_part_that_comes_again_replaces_the_first() -> None:
    buffer: RowBuffer[int] = RowBuffer(4)
    buffer.put(1, rows(1, 2))
    buffer.put(2, rows(3))
    buffer.put(2, rows(3, 4))
    assert (kept(buffer), buffer.rows, buffer.dropped) == ([1, 2, 3, 4], 4, 0)


def test_what_is_taken_makes_room() -> None:
    buffer: RowBuffer[int] = RowBuffer(2)
    for number in range(5):
        buffer.put(number, rows(number))
        taken = buffer.take_first()
        assert taken is not None and taken[0] == number
    assert (buffer.take_first(), buffer.rows, buffer.dropped) == (None, 0, 0)


def test_without_a_limit_everything_is_kept() -> None:
    buffer: RowBuffer[int] = RowBuffer(None)
    for number in range(100):
        buffer.put(number, rows(number))
    assert (buffer.rows, buffer.dropped) == (100, 0)


def test_many_small_parts_become_few_and_the_latest_can_still_come_again() -> None:
    buffer: RowBuffer[int] = RowBuffer(None)
    count = 10 * LATEST
    for number in range(count):
        buffer.put(number, rows(number))
        buffer.put(number, rows(number))  # a batch that is repeated
    assert len(buffer.parts()) <= 2 * LATEST
    assert (kept(buffer), buffer.rows) == (list(range(count)), count)
    for number in range(count - LATEST // 2, count):
        buffer.put(number, rows(-number))
    assert kept(buffer)[-1] == 1 - count
    assert buffer.rows == count
    first = buffer.take_first()
    assert first is not None and first[0] == first[1]["x"][-1]  # the last of those put together


def test_batches_without_rows_take_no_place_but_replace_what_they_had() -> None:
    buffer: RowBuffer[int] = RowBuffer(None)
    buffer.put(1, rows())
    assert buffer.parts() == []
    buffer.put(2, rows(1))
    buffer.put(2, rows())
    assert (kept(buffer), buffer.rows) == ([], 0)


def test_only_parts_of_one_kind_are_put_together() -> None:
    buffer: RowBuffer[tuple[str, int]] = RowBuffer(None, lambda key: key[0])
    for number in range(4 * LATEST):
        buffer.put(("late", number), rows(number))
        buffer.put(("malformed", number), pl.DataFrame({"text": [str(number)]}))
    parts = buffer.parts()
    assert len(parts) <= 2 * LATEST
    texts = [text for (kind, _), part in parts if kind == "malformed" for text in part["text"]]
    assert texts == [str(number) for number in range(4 * LATEST)]
