"""Columns that no query uses are not read, unless some row may be handed on as a whole."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

from penstock.model.schema import Column
from penstock.model.streams import Origin, Stream, TimestampKind
from penstock.model.timestamps import BEGINNING, END
from penstock.model.types import Type
from penstock.spark.control.told import Told
from penstock.spark.exchange.exchange import Packer
from penstock.spark.exchange.messages import QueryResults, RowBlock
from penstock.spark.placement.pipeline_groups import assign_pipelines
from penstock.spark.rows.choice import row_queries
from penstock.spark.sources.direct_files import PATH, read_file
from penstock.spark.sources.narrow_reading import Needed, columns_needed, whole
from tests.engine.random_streams import Declared
from tests.spark.exchange.records import messages_in
from tests.spark.group_pipelines import plans_of

COLUMNS = {"k": Type.STRING, "v": Type.INT, "d": Type.DOUBLE, "ts": Type.TIMESTAMP}
STREAM = Stream(
    "a",
    tuple(Column(name, of) for name, of in COLUMNS.items()),
    TimestampKind.EXTERNAL,
    "ts",
    0,
    Origin("parquet", "x"),
)
NEEDED = Needed(frozenset({"v", "ts"}), 10)


def frame(**other: Any) -> pl.DataFrame:
    columns = {
        "k": pl.Series(["x", "y"]),
        "v": pl.Series([1, 2], dtype=pl.Int32),
        "d": pl.Series([0.5, None]),
        "ts": pl.Series([20, 10]).cast(pl.Datetime("us", "UTC")),
    }
    return pl.DataFrame({**columns, **other})


def columns_read(folder: Path, rows: pl.DataFrame, **how: Any) -> list[str]:
    rows.write_parquet(folder / "a.parquet", **how)
    [block] = read_file(str(folder / "a.parquet"), STREAM, NEEDED)
    return block.rows.columns


def test_columns_that_nobody_uses_are_not_read(tmp_path: Path) -> None:
    assert columns_read(tmp_path, frame()) == ["v", "ts"]
    assert columns_read(tmp_path, frame().select("ts", "d", "v", "k")) == ["v", "ts"]


@pytest.mark.parametrize(
    "other",
    [
        {"ts": pl.Series([20, 9]).cast(pl.Datetime("us", "UTC"))},  # late
        {"ts": pl.Series([20, None]).cast(pl.Datetime("us", "UTC"))},
        {"ts": pl.Series([20, END]).cast(pl.Datetime("us", "UTC"))},
        {"ts": pl.Series([20, 30]).cast(pl.Datetime("ms", "UTC"))},
        {"v": pl.Series([1.5, 2.5])},  # of which none is an integer
        {"k": pl.Series([1, 2])},
    ],
    ids=str,
)
def test_all_are_where_a_row_may_be_handed_on(tmp_path: Path, other: dict[str, Any]) -> None:
    rows = frame(**other)
    rows.write_parquet(tmp_path / "a.parquet")
    [block] = read_file(str(tmp_path / "a.parquet"), STREAM, NEEDED)
    assert block.rows.columns == list(COLUMNS)


def test_all_are_where_nothing_is_known_of_times(tmp_path: Path) -> None:
    assert columns_read(tmp_path, frame(), statistics=False) == list(COLUMNS)


def test_other_times_are_no_reason_to_read_all(tmp_path: Path) -> None:
    stream = replace(STREAM, columns=(*STREAM.columns, Column("until", Type.TIMESTAMP)))
    for type_, found in (
        (pl.Datetime("us"), ["v", "ts"]),
        (pl.Datetime("ns"), [*COLUMNS, "until"]),
    ):
        frame(until=pl.Series([1, None]).cast(type_)).write_parquet(tmp_path / "a.parquet")
        [block] = read_file(str(tmp_path / "a.parquet"), stream, NEEDED)
        assert block.rows.columns == found, type_


@pytest.mark.parametrize(
    ("times", "is_narrow"),
    [([10, 30], True), ([9, 30], False), ([10, None], False), ([10, END], False)],
)
def test_rows_go_to_groups_without_columns_that_nobody_uses(
    times: list[int | None], is_narrow: bool
) -> None:
    rows = frame(ts=pl.Series(times, dtype=pl.Int64))
    sent = NEEDED.of(rows, STREAM)
    assert sent.columns == (["v", "ts"] if is_narrow else list(COLUMNS))
    there = whole(sent, STREAM)
    assert there.schema == rows.schema
    assert there.equals(rows.with_columns(k=None, d=None) if is_narrow else rows)


def test_columns_are_needed_that_any_query_uses() -> None:
    text = "SELECT k, max(v) AS m FROM a [RANGE 10 MICROSECONDS] GROUP BY k"
    [share] = assign_pipelines(plans_of([Declared("a", 0)], [text]))
    assert columns_needed(share.program()) == {"a": frozenset({"k", "v", "ts"})}


@pytest.mark.parametrize("late", [True, False])
def test_results_are_the_same(tmp_path: Path, late: bool) -> None:
    texts = ["SELECT v * 2 AS w FROM a WHERE d IS NULL OR v < 2", "SELECT v FROM a"]
    [share] = assign_pipelines(plans_of([Declared("a", 0)], texts))
    queries = row_queries(share.program(), share.keys)["a"]
    assert queries.columns == frozenset({"v", "d", "ts"})
    frame().write_parquet(tmp_path / "a.parquet")
    packer = Packer(0, STREAM, None, [0], queries)
    batch = pa.RecordBatch.from_pydict({PATH: [str(tmp_path / "a.parquet")]})
    told = Told({"a": 15 if late else BEGINNING}, pass_late=["a"])
    lines = packer.run(iter([batch]), 0, told)
    sent = messages_in(lines)
    assert [each.rows for each in sent if isinstance(each, QueryResults)] == [2, 2]
    assert not [each for each in sent if isinstance(each, RowBlock)]
