"""Packing: each row comes out once, in a block of its group; each group hears how far it is."""

from __future__ import annotations

from typing import Any

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
from penstock.spark.exchange.exchange import (
    DDL,
    MALFORMED_ROWS,
    SCHEMA,
    STREAM_PROGRESS,
    Packer,
)
from penstock.spark.exchange.preaggregation import Preaggregation
from penstock.spark.exchange.spreading import spread
from penstock.spark.placement.partitioning import PartitionKeys

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


def packed(each: list[list[tuple[int | None, int]]], on: str | None = "ts") -> list[dict[str, Any]]:
    lines = list(packer(on)(batch(rows) for rows in each))
    assert all(line.schema == SCHEMA for line in lines)
    return [line for batch in lines for line in batch.to_pylist()]


@given(blocks)
def test_every_row_is_in_one_block_of_its_group_in_order(each):
    lines = [line for line in packed(each) if line["seq"] >= 0]
    for place, group in enumerate(GROUPS):
        mine = [from_ipc(line["payload"]) for line in lines if line["g"] == group]
        got = [row for part in mine for row in part.rows()]
        values = pl.DataFrame({"v": [v for rows in each for _, v in rows]}, {"v": pl.Int32})
        places = spread(values, ["v"], len(GROUPS)).to_list()
        rows = [row for rows in each for row in rows]
        assert got == [row for row, at in zip(rows, places, strict=True) if at == place]
    assert [line["seq"] for line in lines] == list(range(len(lines)))
    assert all(line["rows"] == from_ipc(line["payload"]).height for line in lines)


@given(blocks)
def test_every_group_hears_the_newest_time_of_the_task(each):
    lines = [line for line in packed(each) if line["seq"] < 0]
    rows = [row for block in each for row in block]
    if not rows:
        assert lines == []
        return
    newest = max((ts for ts, _ in rows if ts is not None), default=BEGINNING)
    assert [line["g"] for line in lines] == list(GROUPS)
    for line in lines:
        assert (line["newest"], line["rows"], line["stream"]) == (newest, len(rows), 7)
        assert line["payload"] is None


def test_a_stream_without_time_has_nothing_newest() -> None:
    lines = packed([[(5, 0)]], on=None)
    assert {line["newest"] for line in lines if line["seq"] < 0} == {BEGINNING}


def test_a_time_beyond_all_bounds_is_not_the_newest() -> None:
    lines = packed([[(END, 0), (5, 2), (END + 7, 0)], [(END, 0)]])
    assert {line["newest"] for line in lines if line["seq"] < 0} == {5}


def test_blocks_do_not_carry_the_group() -> None:
    [line, *_] = packed([[(5, 0)]])
    assert from_ipc(line["payload"]).schema == {"ts": pl.Int64, "v": pl.Int32}


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
    told = Told(now=100).as_text()
    lines = [line for b in packer.run(iter([rows]), 0, told) for line in b.to_pylist()]
    [bad] = [from_ipc(line["payload"]) for line in lines if line["seq"] == MALFORMED_ROWS]
    assert bad.to_dicts() == [
        {
            "ts": "111",
            "v": "2",
            "reason": f"ts: 1970-01-01 00:00:00.000111 is more than {reason} of the clock",
        }
    ]
    [good] = [from_ipc(line["payload"]) for line in lines if line["seq"] >= 0]
    assert good.rows() == [(5, 1), (110, 3), (None, 4)]
    assert {(line["newest"], line["rows"]) for line in lines if line["seq"] == STREAM_PROGRESS} == {
        (110, 4)
    }
