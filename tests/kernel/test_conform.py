"""What fits a column and what is set aside, the same for lists of dicts and for data frames."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pytest

from penstock.errors import MalformedRow
from penstock.kernel.conform import Rows, conform, conform_column, conform_values
from penstock.kernel.types import polars_type
from penstock.model.schema import Column
from penstock.model.streams import Stream, TimestampKind
from penstock.model.timestamps import DAY, SECOND, from_ticks
from penstock.model.types import Type

CEST = timezone(timedelta(hours=2))

#: Type, what comes in, what is in the block; None where it does not fit.
CASES: list[tuple[Type, Any, Any]] = [
    (Type.BOOLEAN, True, True),
    (Type.BOOLEAN, 1, None),
    (Type.TINYINT, 127, 127),
    (Type.TINYINT, 128, None),
    (Type.INT, -5, -5),
    (Type.INT, 1 << 31, None),
    (Type.INT, True, None),
    (Type.INT, 2.0, 2),
    (Type.INT, 2.5, None),
    (Type.INT, float("nan"), None),
    (Type.INT, float("inf"), None),
    (Type.INT, Decimal("7"), 7),
    (Type.INT, Decimal("7.5"), None),
    (Type.INT, "12", 12),
    (Type.INT, "twelve", None),
    (Type.INT, "2.0", 2),
    (Type.INT, "2.5", None),
    (Type.INT, np.int64(3), 3),
    (Type.BIGINT, (1 << 63) - 1, (1 << 63) - 1),
    (Type.BIGINT, 1 << 63, None),
    (Type.BIGINT, 1 << 200, None),
    (Type.DOUBLE, 1.5, 1.5),
    (Type.DOUBLE, 3, 3.0),
    (Type.DOUBLE, "2.5", 2.5),
    (Type.DOUBLE, [1.0], None),
    (Type.FLOAT, 0.5, 0.5),
    (Type.STRING, "é", "é"),
    (Type.STRING, 5, None),
    (Type.STRING, "\ud800", None),
    (Type.BINARY, b"\x00\xff", b"\x00\xff"),
    (Type.DATE, date(2026, 1, 2), date(2026, 1, 2)),
    (Type.DATE, "2026-01-02", date(2026, 1, 2)),
    (Type.DATE, 5, None),
    (Type.TIMESTAMP, 5, None),
    (Type.TIMESTAMP, -5, None),
    (Type.TIMESTAMP, datetime(1970, 1, 1, 0, 0, 1), SECOND),
    (Type.TIMESTAMP, datetime(1970, 1, 1, 2, 0, 1, tzinfo=CEST), SECOND),
    (Type.TIMESTAMP, datetime(1969, 12, 31, 23, 59, 59), -SECOND),
    (Type.TIMESTAMP, date(1970, 1, 2), DAY),
    (Type.TIMESTAMP, "1970-01-01 00:00:01", SECOND),
    (Type.TIMESTAMP, "yesterday", None),
    (Type.TIMESTAMP, 1.5, None),
    (Type.INTERVAL, timedelta(seconds=1), SECOND),
    (Type.INTERVAL, 7, 7),
    (Type.INTERVAL, "x", None),
]


@pytest.mark.parametrize(("type_", "value", "inside"), CASES, ids=str)
def test_a_value_fits_or_becomes_null(type_: Type, value: Any, inside: Any) -> None:
    conformed = conform_values([value, None], type_)
    assert conformed.to_list() == [inside, None]
    assert conformed.dtype == polars_type(type_)


@pytest.mark.parametrize("type_", sorted({t for t, _, _ in CASES}, key=str), ids=str)
def test_values_of_several_python_types_do_not_disturb_each_other(type_: Type) -> None:
    cases = [(value, inside) for t, value, inside in CASES if t is type_]
    conformed = conform_values([value for value, _ in cases], type_)
    assert conformed.to_list() == [inside for _, inside in cases]


def test_columns_of_every_unit_of_time_become_ticks() -> None:
    moments = [datetime(1970, 1, 1, 0, 0, 1), datetime(1969, 12, 31, 23, 59, 59)]
    for unit in ("ms", "us", "ns"):
        for zone in (None, "UTC", "Europe/Berlin"):
            column = pl.Series(moments).cast(pl.Datetime(unit)).dt.replace_time_zone("UTC")
            column = (
                column.dt.convert_time_zone(zone) if zone else column.dt.replace_time_zone(None)
            )
            assert conform_column(column, Type.TIMESTAMP).to_list() == [SECOND, -SECOND]


def test_a_time_between_ticks_belongs_to_the_tick_before_it() -> None:
    column = pl.Series([-1, 1], dtype=pl.Datetime("ns"))
    assert conform_column(column, Type.TIMESTAMP).to_list() == [-1, 0]


def test_categories_are_their_texts() -> None:
    column = pl.Series(["a", "b"], dtype=pl.Categorical())
    assert conform_column(column, Type.STRING).to_list() == ["a", "b"]


STREAM = Stream(
    "bids",
    (Column("item", Type.STRING), Column("price", Type.INT), Column("ts", Type.TIMESTAMP)),
    TimestampKind.EXTERNAL,
    "ts",
)

ROWS: list[dict[str, Any]] = [
    {"item": "lamp", "price": 42, "ts": from_ticks(1)},
    {"ts": from_ticks(2), "price": 1 << 40, "item": "moon"},
    {"item": None, "price": None, "ts": None},
    {"item": "desk", "price": 7, "ts": from_ticks(3)},
]


@pytest.mark.parametrize("rows", [ROWS, pl.DataFrame(ROWS)], ids=["dicts", "frame"])
def test_good_rows_go_on_and_bad_ones_are_set_aside_with_the_reason(rows: Rows) -> None:
    conformed = conform(STREAM, rows)
    assert conformed.rows.rows() == [("lamp", 42, 1), (None, None, None), ("desk", 7, 3)]
    assert conformed.rows.schema == {"item": pl.String(), "price": pl.Int32(), "ts": pl.Int64()}
    assert conformed.rejected is not None
    assert conformed.rejected.to_dicts() == [
        {
            "item": "moon",
            "price": "1099511627776",
            "ts": "1970-01-01 00:00:00.000002",
            "reason": "price: 1099511627776 is not a valid INT",
        }
    ]


def test_a_row_with_two_bad_values_is_set_aside_once() -> None:
    conformed = conform(STREAM, [{"item": 5, "price": "x", "ts": 1}])
    assert conformed.rows.height == 0
    assert conformed.rejected is not None
    assert conformed.rejected.get_column("reason").to_list() == ["item: 5 is not a valid STRING"]


@pytest.mark.parametrize("rows", [[], pl.DataFrame(schema={"ts": pl.Int64, "item": pl.String})])
def test_no_rows_conform(rows: Rows) -> None:
    if isinstance(rows, pl.DataFrame):
        rows = rows.with_columns(price=pl.lit(1))
    conformed = conform(STREAM, rows)
    assert conformed.rows.schema == {"item": pl.String(), "price": pl.Int32(), "ts": pl.Int64()}
    assert conformed.rows.height == 0 and conformed.rejected is None


@pytest.mark.parametrize("frame", [False, True], ids=["dicts", "frame"])
@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"item": "a", "ts": 1}, "have no column `price`"),
        ({"item": "a", "price": 1, "ts": 1, "colour": 2}, "an unknown column `colour`"),
        (
            {"item": "a", "pric": 1, "ts": 1},
            "no column `price` and an unknown column `pric`\n  did you mean `price`?",
        ),
    ],
)
def test_wrong_columns_are_an_error_that_names_them(
    row: dict[str, Any], message: str, frame: bool
) -> None:
    with pytest.raises(MalformedRow) as raised:
        conform(STREAM, pl.DataFrame([row]) if frame else [row])
    assert message in str(raised.value)
    assert raised.value.stream == "bids"


@pytest.mark.parametrize("row", [(1,), ("item", "price", "ts"), ["a", 2, 3], "text", 1, None])
def test_a_row_that_is_not_a_dict_is_an_error_that_names_it(row: Any) -> None:
    with pytest.raises(MalformedRow) as raised:
        conform(STREAM, [{"item": "lamp", "price": 1, "ts": 1}, row])
    columns = ", ".join(column.name for column in STREAM.arriving)
    assert f"`bids` was given the row {row!r}, which is not a dict of its columns {columns}" in str(
        raised.value
    )


@pytest.mark.parametrize("rows", [None, 5, "text", dict(ROWS[0]), iter(ROWS), (r for r in ROWS)])
def test_what_is_not_a_list_of_rows_is_refused(rows: Any) -> None:
    with pytest.raises(MalformedRow, match=f"not a list of rows: it is a {type(rows).__name__}"):
        conform(STREAM, rows)


def test_a_missing_column_is_not_suggested_as_its_own_correction() -> None:
    with pytest.raises(MalformedRow, match="no column `ts`\n  give NULLs as None"):
        conform(STREAM, [{"item": "a", "price": 1}])


def test_one_dict_with_other_keys_is_found_among_many() -> None:
    with pytest.raises(MalformedRow, match="no column `ts`"):
        conform(STREAM, [*ROWS, {"item": "a", "price": 1}])


def test_a_row_may_consist_of_nothing_but_its_arrival() -> None:
    ticks = Stream("ticks", (Column("ts", Type.TIMESTAMP),), TimestampKind.INTERNAL, "ts")
    assert conform(ticks, [{}, {}]).rows.height == 2
