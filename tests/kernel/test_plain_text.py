"""Texts read in one go: just as the cast of SQL reads them, or not at all."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel.expressions import compile_expression
from penstock.kernel.plain_text import from_plain_text
from penstock.model.expressions import Cast, Ref
from penstock.model.types import Type
from tests.engine.draw import examples

TEXTS = [
    *("0", "-0", "+5", "7", " 7", "7 ", "2.0", "2.5", "1e3", "", "-", "x", "128", "3000000000"),
    *("9223372036854775807", "9223372036854775808", "-9223372036854775808", "1_000", "٣"),
    *("2026-03-01 10:00:00", "2026-03-01T10:00:00.9", "2026-03-01 10:00:00.123456"),
    *("2026-03-01 10:00:00.1234567", "2026-03-01 10:00:00Z", "2026-03-01 10:00:00+01:00"),
    *("2026-02-29 10:00:00", "2024-02-29 10:00:00", "2026-03-01 24:00:00", "2026-03-01 10:00:60"),
    *("2026-03-01", "2026-03-01 10:00", "2026-3-1 1:00:00.0000", "2026-03-01 10:00:00."),
    *("0000-01-01 00:00:00", "0001-01-01 00:00:00", "9999-12-31 23:59:59.999999"),
    *("1969-12-31 23:59:59.999999", "+2026-03-01 10:00:00", "20260301 100000.1234"),
    *("2026-03-01 101010.123456", " 2026-03-01 10:00:00", "2026-03-01  10:00:00"),
]
TYPES = [Type.TINYINT, Type.SMALLINT, Type.INT, Type.BIGINT, Type.TIMESTAMP, Type.STRING]


def by_sql(texts: pl.Series, to: Type) -> pl.Series:
    read = compile_expression(Cast(Ref("value", Type.STRING), to))
    return texts.to_frame("value").select(read).to_series()


@pytest.mark.parametrize("to", TYPES)
@examples(100)
@given(texts=st.lists(st.sampled_from([None, *TEXTS]), max_size=4))
def test_what_is_read_is_what_sql_reads(to: Type, texts: list[str | None]) -> None:
    column = pl.Series("value", texts, dtype=pl.String)
    found = from_plain_text(column, to)
    if found is not None:
        assert found.to_list() == by_sql(column, to).to_list()


@pytest.mark.parametrize(
    ("texts", "to"),
    [
        (["7", None, "-2"], Type.INT),
        (["2026-03-01 10:00:00", None, "2026-03-01T10:00:00.9"], Type.TIMESTAMP),
        ([None, None], Type.TIMESTAMP),
    ],
)
def test_plain_ones_are_read(texts: list[str | None], to: Type) -> None:
    column = pl.Series("value", texts, dtype=pl.String)
    found = from_plain_text(column, to)
    assert found is not None and found.to_list() == by_sql(column, to).to_list()
