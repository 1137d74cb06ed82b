"""Patterns over every type of column: bounds are kept as JSON, and found again."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import polars as pl
import pytest

from penstock.errors import BadPunctuation
from penstock.kernel.progress.generate import Generator
from penstock.kernel.types import polars_type
from penstock.model.punctuation import where_of
from penstock.model.schema import Column
from penstock.model.streams import Stream, TimestampKind
from penstock.model.timestamps import to_ticks
from penstock.model.types import Type
from tests.kernel.moving import move

VALUES: dict[Type, tuple[Any, Any]] = {
    Type.BOOLEAN: (True, False),
    Type.TINYINT: (1, 2),
    Type.SMALLINT: (1, 2),
    Type.INT: (1, 2),
    Type.BIGINT: (1, 2),
    Type.FLOAT: (0.5, 0.25),
    Type.DOUBLE: (0.1, 0.2),
    Type.STRING: ("ä", '{"date": "2026-01-01"}'),
    Type.BINARY: (b"\x00\xff", b""),
    Type.DATE: (date(2026, 1, 1), date(1969, 12, 31)),
    Type.TIMESTAMP: (to_ticks(datetime(2026, 1, 1)), 0),
    Type.TIMESTAMP_NTZ: (to_ticks(datetime(2026, 1, 1)), 0),
    Type.INTERVAL: (1, 2),
}


def test_every_type_is_here() -> None:
    assert VALUES.keys() == set(Type) - {Type.NULL}


def stream_of(type_: Type) -> Stream:
    columns = (Column("k", type_), Column("ts", Type.BIGINT))
    return Stream("s", columns, TimestampKind.EXTERNAL, "ts", None)


def restored(generator: Generator) -> Generator:
    """The same, out of JSON."""
    found = Generator(generator.stream)
    move(generator.state, found.state)
    return found


@pytest.mark.parametrize("type_", VALUES, ids=str)
def test_a_bound_on_some_rows_outlives_its_process(type_: Type) -> None:
    meant, other = VALUES[type_]
    generator = Generator(stream_of(type_))
    [message] = generator.punctuate(10, where_of({"k": meant}))
    again = restored(generator)
    assert again.standing() == [message]
    rows = pl.DataFrame(
        {"k": [meant, other, meant], "ts": [5, 5, 10]},
        schema={"k": polars_type(type_), "ts": pl.Int64()},
    )
    assert again.judge(rows).late.rows() == [(meant, 5)]
    assert again.punctuate(10, where_of({"k": meant})) == []


def test_points_in_time_are_ticks_in_a_pattern() -> None:
    generator = Generator(stream_of(Type.TIMESTAMP))
    [message] = generator.punctuate(10, where_of({"k": datetime(1970, 1, 1, 0, 0, 1)}))
    assert message.where == (("k", (1_000_000,)),)


@pytest.mark.parametrize("value", ["x", 2.5, None, (1, "x")])
def test_a_pattern_that_can_match_nothing_is_refused(value: Any) -> None:
    with pytest.raises(BadPunctuation, match="that is not a valid INT"):
        Generator(stream_of(Type.INT)).punctuate(10, where_of({"k": value}))


@pytest.mark.parametrize("values", [(), (1, 2, 3)])
def test_a_pattern_has_one_value_or_two(values: Any) -> None:
    with pytest.raises(BadPunctuation, match=f"these are {len(values)} values"):
        Generator(stream_of(Type.INT)).punctuate(10, where_of({"k": values}))


@pytest.mark.parametrize("bound", ["2026-01-01", None, 1.5, date(2026, 1, 1)])
def test_a_bound_is_an_integer(bound: Any) -> None:
    with pytest.raises(BadPunctuation, match="that is not a bound"):
        Generator(stream_of(Type.INT)).punctuate(bound)
