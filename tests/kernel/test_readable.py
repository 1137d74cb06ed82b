"""Times beyond Python's years can be looked at like all others."""

from __future__ import annotations

from datetime import date, datetime

import polars as pl
import pytest

from penstock.kernel.readable import as_dicts, readable
from penstock.model.timestamps import BEGINNING, DAY, END, SECOND, time_text, to_ticks

LAST = to_ticks(datetime.max)
FIRST = to_ticks(datetime.min)


def times(*ticks: int | None) -> pl.DataFrame:
    return pl.DataFrame({"t": pl.Series(ticks, dtype=pl.Int64).cast(pl.Datetime("us"))})


def test_times_that_python_knows_stay_what_they_are() -> None:
    rows = times(0, None, FIRST, LAST).with_columns(d=pl.col("t").cast(pl.Date))
    assert readable(rows).equals(rows)
    assert as_dicts(rows)[2] == {"t": datetime.min, "d": date.min}


def test_a_column_with_a_time_that_python_does_not_know_is_text() -> None:
    rows = times(0, 500_000, None, LAST + 1, FIRST - DAY).with_columns(d=pl.col("t").cast(pl.Date))
    assert [tuple(row.values()) for row in as_dicts(rows)] == [
        ("1970-01-01 00:00:00", "1970-01-01"),
        ("1970-01-01 00:00:00.500000", "1970-01-01"),
        (None, None),
        ("+10000-01-01 00:00:00", "+10000-01-01"),
        ("0000-12-31 00:00:00", "0000-12-31"),
    ]


@pytest.mark.parametrize(
    "ticks",
    [0, -1, FIRST - 1, LAST + 1, END - 1, BEGINNING + 1, 10**17 + 123, -(10**17), 12345 * SECOND],
)
def test_a_single_time_has_the_same_text(ticks: int) -> None:
    [[shown, _]] = readable(times(ticks, LAST + 1)).to_dict(as_series=False).values()
    assert time_text(ticks) == shown


def test_there_is_nothing_beyond_the_ends_of_time() -> None:
    rows = times(2**63 - 1, -(2**63)).with_columns(
        d=pl.Series([2**31 - 1, -(2**31)], dtype=pl.Int32).cast(pl.Date)
    )
    assert as_dicts(rows) == [{"t": None, "d": None}] * 2
