"""Python iterables as streams, in this process: what counts as rows, and how they go wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

from penstock.errors import HostError, MalformedRow, QueryError
from penstock.io.iterables import rows_of
from penstock.local.engine import LocalEngine
from penstock.model.schema import Column
from penstock.model.streams import Stream
from penstock.model.types import Type

COLUMNS = "k BIGINT, ts TIMESTAMP"
START = datetime(2026, 1, 1)
STREAM = Stream("s", (Column("k", Type.BIGINT), Column("ts", Type.TIMESTAMP)))


def dicts(numbers: range) -> list[dict[str, Any]]:
    return [{"k": k, "ts": START + timedelta(seconds=k)} for k in numbers]


def pandas_table(numbers: range) -> Any:
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(dicts(numbers), index=[f"row {k}" for k in numbers])


SHAPES: dict[str, Callable[[range], Any]] = {
    "dicts": dicts,
    "generator of dicts": lambda numbers: iter(dicts(numbers)),
    "tuples": lambda numbers: [tuple(row.values()) for row in dicts(numbers)],
    "polars": lambda numbers: pl.DataFrame(dicts(numbers)),
    "arrow": lambda numbers: pa.Table.from_pylist(dicts(numbers)),
    "arrow batches": lambda numbers: pa.Table.from_pylist(dicts(numbers)).to_batches(3),
    "pandas": pandas_table,
    "mixed": lambda n: [*dicts(n[:4]), pl.DataFrame(dicts(n[4:7])), *dicts(n[7:])],
    "function": lambda numbers: lambda skip: dicts(numbers[skip:]),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_rows_of_any_shape_are_the_same_stream(shape: str) -> None:
    engine = LocalEngine()
    engine.stream("s", SHAPES[shape](range(10)), columns=COLUMNS, timestamp="ts")
    query = engine.sql("SELECT sum(k) AS total, count(*) AS n FROM s [RANGE 5 SECONDS]")
    read = sum(count for _, count in engine.read_files())
    engine.finish()
    assert read == 10
    assert sorted(query.results().select("total", "n").rows()) == [(10, 5), (35, 5)]


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if "generator" not in shape])
@pytest.mark.parametrize("skip", [0, 1, 5, 10])
def test_what_can_begin_anew_is_passed_over_up_to_where_it_was(shape: str, skip: int) -> None:
    found: list[int] = []
    for rows in rows_of(STREAM, SHAPES[shape](range(10)), skip):
        singles: Any = rows.to_dicts() if isinstance(rows, pl.DataFrame) else rows
        found += [row["k"] for row in singles]
    assert found == list(range(skip, 10))


def test_finish_takes_what_nobody_has_read() -> None:
    engine = LocalEngine()
    engine.stream("s", (row for row in dicts(range(2500))), columns=COLUMNS, timestamp="ts")
    query = engine.sql("SELECT k FROM s WHERE k % 1000 = 0")
    engine.finish()
    assert query.results()["k"].to_list() == [0, 1000, 2000]


def test_an_iterable_that_fails_is_named_with_what_it_raised() -> None:
    def broken() -> Iterator[dict[str, Any]]:
        yield from dicts(range(3))
        raise ValueError("the sensor is gone")

    engine = LocalEngine()
    engine.stream("s", broken(), columns=COLUMNS, timestamp="ts")
    with pytest.raises(
        HostError, match="stream `s` failed: ValueError: the sensor is gone"
    ) as caught:
        engine.finish()
    assert isinstance(caught.value.__cause__, ValueError)


def test_a_value_that_does_not_fit_sets_its_row_aside() -> None:
    engine = LocalEngine()
    engine.stream("s", [(1, START), ("many", START), (3, START)], columns=COLUMNS, timestamp="ts")
    query = engine.sql("SELECT k FROM s")
    engine.finish()
    assert query.results()["k"].to_list() == [1, 3]
    assert engine.counts("s").malformed == 1


@pytest.mark.parametrize(
    ("rows", "complaint"),
    [
        ([(1,)], "given a row of 1 values for the columns k, ts"),
        ([7], "given `7`, which is not a row"),
        ([{"k": 1}], "no column `ts`"),
    ],
)
def test_what_is_no_row_of_the_stream_is_an_error(rows: list[Any], complaint: str) -> None:
    engine = LocalEngine()
    engine.stream("s", rows, columns=COLUMNS)
    with pytest.raises(MalformedRow, match=complaint):
        engine.finish()


def test_what_can_be_iterated_and_called_is_iterated() -> None:
    class Readings:
        def __iter__(self) -> Iterator[dict[str, Any]]:
            return iter(dicts(range(3)))

        def __call__(self) -> None:
            raise AssertionError

    engine = LocalEngine()
    engine.stream("s", Readings(), columns=COLUMNS)
    query = engine.sql("SELECT k FROM s")
    engine.finish()
    assert query.results()["k"].to_list() == [0, 1, 2]


def test_iterables_are_finished_in_turn() -> None:
    order: list[str] = []

    def noted(name: str) -> Iterator[dict[str, Any]]:
        for block in range(3):
            order.append(name)
            yield from dicts(range(block * 1000, block * 1000 + 1000))

    engine = LocalEngine()
    engine.stream("a", noted("a"), columns=COLUMNS)
    engine.stream("b", noted("b"), columns=COLUMNS)
    engine.sql("SELECT k FROM a UNION b")
    engine.finish()
    assert order == ["a", "b"] * 3


@pytest.mark.parametrize(
    ("slack", "on_time"),
    [("2 seconds", 3), ("1 rows", 3), (timedelta(seconds=2), 3), (2_000_000, 3), ("2000000", 3)],
)
def test_slack_is_a_duration_or_words_as_in_sql(slack: Any, on_time: int) -> None:
    engine = LocalEngine()
    rows = [dicts(range(10))[second] for second in (3, 5, 4)]
    engine.stream("s", rows, columns=COLUMNS, timestamp="ts", slack=slack)
    engine.finish()
    assert engine.counts("s").rows == on_time


@pytest.mark.parametrize("slack", [1.5, True, [5], "soon", "5 parsecs", 1 << 70])
def test_slack_that_is_not_a_duration_is_refused_with_the_way_out(slack: Any) -> None:
    with pytest.raises(QueryError) as refused:
        LocalEngine().stream("s", [], columns=COLUMNS, timestamp="ts", slack=slack)
    assert refused.value.hint


@pytest.mark.parametrize("convert", ["clone", "to_arrow", "to_pandas"])
def test_a_table_brings_its_columns(convert: str) -> None:
    table = pl.DataFrame({"k": [1, 2], "name": ["a", None], "ts": [START, START]})
    engine = LocalEngine()
    engine.stream("s", getattr(table, convert)(), timestamp="ts")
    query = engine.sql("SELECT k, name, ts FROM s")
    engine.finish()
    assert query.results().equals(table)
    with pytest.raises(MalformedRow, match="columns of stream `t` are not known"):
        engine.stream("t", [(1,)])
