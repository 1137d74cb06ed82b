"""Packing: each row comes out once, in a block of its group; each group hears how far it is."""

from __future__ import annotations

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel.state import from_ipc
from penstock.model.schema import Column
from penstock.model.streams import Stream, TimestampKind, Timing
from penstock.model.timestamps import BEGINNING, END
from penstock.model.types import Type
from penstock.spark.control.told import Told
from penstock.spark.exchange.exchange import Packer
from penstock.spark.exchange.messages import (
    DDL,
    SCHEMA,
    MalformedRows,
    Message,
    RowBlock,
    TaskProgress,
    in_order,
    message_of,
)
from penstock.spark.exchange.preaggregation import Preaggregation
from penstock.spark.exchange.spreading import spread
from penstock.spark.placement.partitioning import PartitionKeys
from tests.spark.exchange.records import addressed, records_in

GROUPS = (2, 0, 14)
COLUMNS = (Column("ts", Type.BIGINT), Column("v", Type.INT))
blocks = st.lists(
    st.lists(st.tuples(st.none() | st.integers(-50, 50), st.integers(0, 9)), max_size=6),
    max_size=4,
)


def batch(rows: list[tuple[int | None, int]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [pa.array([ts for ts, _ in rows], pa.int64()), pa.array([v for _, v in rows], pa.int32())],
        ["ts", "v"],
    )


def packer(on: str | None = "ts", keys: PartitionKeys = ("v",)) -> Packer:
    kind = TimestampKind.LATENT if on is None else TimestampKind.EXTERNAL
    return Packer(7, Stream("s", COLUMNS, kind, on), keys, GROUPS)


def packed(
    each: list[list[tuple[int | None, int]]], on: str | None = "ts"
) -> list[tuple[int, Message]]:
    return addressed(packer(on)(batch(rows) for rows in each))


def progress(sent: list[tuple[int, Message]]) -> list[tuple[int, TaskProgress]]:
    return [(group, each) for group, each in sent if isinstance(each, TaskProgress)]


@given(blocks)
def test_every_row_is_in_one_block_of_its_group_in_order(each):
    sent = [(group, line) for group, line in packed(each) if isinstance(line, RowBlock)]
    for place, group in enumerate(GROUPS):
        mine = [from_ipc(line.payload) for of, line in sent if of == group]
        got = [row for part in mine for row in part.rows()]
        values = pl.DataFrame({"v": [v for rows in each for _, v in rows]}, {"v": pl.Int32})
        places = spread(values, ["v"], len(GROUPS)).to_list()
        rows = [row for rows in each for row in rows]
        assert got == [row for row, at in zip(rows, places, strict=True) if at == place]


@given(blocks)
def test_messages_of_a_task_are_numbered_in_their_order_and_taken_in_it(each):
    records = records_in(packer()(batch(rows) for rows in each))
    numbers = [record.number for record in records]
    assert numbers == sorted(numbers)
    assert in_order(records[::-1]) == [message_of(record) for record in records]


@given(blocks)
def test_every_group_hears_the_newest_time_of_the_task(each):
    sent = progress(packed(each))
    rows = [row for block in each for row in block]
    if not rows:
        assert sent == []
        return
    newest = max((ts for ts, _ in rows if ts is not None), default=BEGINNING)
    assert [group for group, _ in sent] == list(GROUPS)
    assert {line for _, line in sent} == {TaskProgress(7, 0, newest, len(rows))}


def test_a_stream_without_time_has_nothing_newest() -> None:
    assert {line.newest for _, line in progress(packed([[(5, 0)]], on=None))} == {BEGINNING}


def test_a_time_beyond_all_bounds_is_not_the_newest() -> None:
    sent = progress(packed([[(END, 0), (5, 2), (END + 7, 0)], [(END, 0)]]))
    assert {line.newest for _, line in sent} == {5}


def test_blocks_do_not_carry_the_group() -> None:
    [(_, line), *_] = packed([[(5, 0)]])
    assert from_ipc(line.payload).schema == {"ts": pl.Int64, "v": pl.Int32}


def test_spark_is_told_the_same_columns() -> None:
    assert [part.split()[0] for part in DDL.split(", ")] == SCHEMA.names


@pytest.mark.parametrize(
    ("declared", "jump", "reason"),
    [(10, 5, "MAX AHEAD"), (10, None, "MAX AHEAD"), (None, 10, "max_jump ahead")],
)
def test_rows_from_the_future_are_set_aside_and_raise_no_bound(
    declared: int | None, jump: int | None, reason: str
) -> None:
    timing = Timing(max_ahead=declared)
    columns = (Column("ts", Type.TIMESTAMP), Column("v", Type.INT))
    stream = Stream("s", columns, TimestampKind.EXTERNAL, "ts", timing=timing)
    rows = batch([(5, 1), (111, 2), (110, 3), (None, 4)])
    packer = Packer(7, stream, (), GROUPS, Preaggregation(max_jump=jump))
    sent = addressed(packer.run(iter([rows]), 0, Told(now=100)))
    [bad] = [from_ipc(line.payload) for _, line in sent if isinstance(line, MalformedRows)]
    assert bad.to_dicts() == [
        {
            "ts": "111",
            "v": "2",
            "reason": f"ts: 1970-01-01 00:00:00.000111 is more than {reason} of the clock",
        }
    ]
    [good] = [from_ipc(line.payload) for _, line in sent if isinstance(line, RowBlock)]
    assert good.rows() == [(5, 1), (110, 3), (None, 4)]
    assert {(line.newest, line.rows) for _, line in progress(sent)} == {(110, 4)}
