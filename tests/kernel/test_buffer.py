"""Buffers and cursors: first in, first out, each row kept once and dropped in time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import PenstockBug
from penstock.kernel.block import Block
from penstock.kernel.buffer import Buffer, Cursor
from penstock.model.punctuation import Punctuation
from tests.kernel.scheduling.graphs import block

BOUND = Punctuation("x", 5)


def taken(cursor: Cursor, limit: int | None = None) -> list[int] | Punctuation:
    item = cursor.take(limit)
    return item if isinstance(item, Punctuation) else item.rows.get_column("x").to_list()


def test_rows_come_out_in_the_order_they_went_in() -> None:
    buffer = Buffer()
    cursor = buffer.reader()
    buffer.batch(block(1, 2))
    buffer.batch(block(3))
    assert taken(cursor) == [1, 2, 3]
    assert cursor.empty


def test_a_limit_cuts_blocks_and_joins_them() -> None:
    buffer = Buffer()
    cursor = buffer.reader()
    buffer.batch(block(1, 2, 3, 4))
    buffer.batch(block(5, 6))
    assert [taken(cursor, 3), taken(cursor, 2), taken(cursor, 9)] == [[1, 2, 3], [4, 5], [6]]


def test_rows_never_pass_a_punctuation() -> None:
    buffer = Buffer()
    cursor = buffer.reader()
    buffer.batch(block(1))
    buffer.punctuation(BOUND)
    buffer.batch(block(7))
    assert [taken(cursor), taken(cursor), taken(cursor)] == [[1], BOUND, [7]]


def test_peeking_takes_nothing() -> None:
    buffer = Buffer()
    cursor = buffer.reader()
    assert cursor.peek() is None
    buffer.batch(block(1, 2, 3))
    cursor.take(1)
    front = cursor.peek()
    assert isinstance(front, Block) and front.first("x") == 2 and front.last("x") == 3
    assert cursor.rows == 2


def test_an_empty_block_is_not_kept() -> None:
    buffer = Buffer()
    cursor = buffer.reader()
    buffer.batch(block())
    assert cursor.empty and buffer.items == []


def test_a_new_reader_sees_what_comes_from_then_on() -> None:
    buffer = Buffer()
    first = buffer.reader()
    buffer.batch(block(1))
    second = buffer.reader()
    buffer.batch(block(2))
    assert (taken(first), taken(second)) == ([1, 2], [2])


def test_what_nobody_reads_is_gone_at_once() -> None:
    buffer = Buffer()
    buffer.batch(block(1))
    buffer.punctuation(BOUND)
    assert buffer.items == []
    cursor = buffer.reader()
    assert cursor.empty and cursor.length == 0


def test_readers_share_one_copy_which_goes_with_the_slowest() -> None:
    buffer = Buffer()
    fast, slow = buffer.reader(), buffer.reader()
    rows = block(1, 2, 3)
    buffer.batch(rows)
    assert fast.take() is rows
    assert buffer.items == [rows] and buffer.rows == 3
    slow.take(2)
    assert buffer.items == [rows] and buffer.rows == 1
    slow.take(2)
    assert buffer.items == [] and buffer.rows == 0


def test_a_reader_that_leaves_holds_nothing_back() -> None:
    buffer = Buffer()
    fast, slow = buffer.reader(), buffer.reader()
    buffer.batch(block(1))
    fast.take()
    buffer.release(slow)
    assert buffer.items == []
    buffer.release(fast)
    buffer.batch(block(2))
    assert buffer.items == []
    assert fast.empty and slow.empty


def test_taking_from_an_empty_buffer_is_our_bug() -> None:
    with pytest.raises(PenstockBug, match="nothing to take"):
        Buffer().reader().take()


actions = st.one_of(
    st.tuples(st.just("batch"), st.integers(0, 5)),
    st.tuples(st.just("punctuation"), st.just(0)),
    st.tuples(st.just("take"), st.integers(1, 4)),
    st.tuples(st.just("take all"), st.integers(0, 9)),
    st.tuples(st.just("open"), st.just(0)),
    st.tuples(st.just("close"), st.integers(0, 9)),
    st.tuples(st.just("refill"), st.just(0)),
)


@given(st.lists(actions, max_size=40))
def test_every_reader_sees_everything_once_in_order(script: list[tuple[str, int]]) -> None:
    """Against lists: what each reader has left, and therefore what must be kept."""
    buffer, model = Buffer(), [[]]  # type: ignore[var-annotated]
    cursors = [buffer.reader("first")]
    last = opened = 0
    for action, number in script:
        match action:
            case "batch":
                values = list(range(last, last + number))
                last += number
                buffer.batch(block(*values))
                for left in model:
                    left += values
            case "punctuation":
                buffer.punctuation(BOUND)
                for left in model:
                    left.append(BOUND)
            case "take" | "take all":
                who = number % len(cursors) if cursors else 0
                if cursors and not cursors[who].empty:
                    left, got = model[who], taken(cursors[who], number or None)
                    if isinstance(got, Punctuation):
                        assert left.pop(0) == got
                    else:
                        assert got and left[: len(got)] == got
                        del left[: len(got)]
            case "open":
                opened += 1
                cursors.append(buffer.reader(f"reader {opened}"))
                model.append([])
            case "close" if cursors:
                who = number % len(cursors)
                buffer.release(cursors.pop(who))
                model.pop(who)
            case "refill":
                items, places = buffer.items, buffer.places()
                buffer = Buffer()
                cursors = [buffer.reader(cursor.name) for cursor in cursors]
                buffer.refill(items, places)
        for cursor, left in zip(cursors, model, strict=True):
            assert cursor.length == len(left)
            assert cursor.rows == sum(isinstance(x, int) for x in left)
            assert cursor.empty == (not left)
        assert buffer.length == max(map(len, model), default=0)
        if buffer.length == 0:
            assert buffer.items == []


def test_a_reader_that_was_not_there_begins_at_the_tail_of_what_was_kept() -> None:
    kept = Buffer()
    kept.reader("old")
    kept.batch(block(1, 2))
    buffer = Buffer()
    new, old = buffer.reader("new"), buffer.reader("old")
    buffer.refill(kept.items, kept.places())
    assert (new.empty, taken(old, None)) == (True, [1, 2])
