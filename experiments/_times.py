"""Times as ticks in rows, and as the points in time that engines are pushed."""

from __future__ import annotations

import polars as pl


def with_times(rows: pl.DataFrame, on: str = "ts") -> pl.DataFrame:
    """Rows whose times are ticks, with points in time instead."""
    return rows.with_columns(pl.col(on).cast(pl.Datetime("us")))
