"""Between ticks and the calendar."""

from __future__ import annotations

import polars as pl

from penstock.kernel.readable import within_time
from penstock.model.timestamps import DAY


def calendar(ticks: pl.Expr) -> pl.Expr:
    """Ticks as a point in time; NULL beyond the ends of time, where no calendar reaches."""
    return within_time(ticks).cast(pl.Datetime("us"))


def days_to_ticks(date: pl.Expr) -> pl.Expr:
    return date.cast(pl.Int32).cast(pl.Int64) * DAY


def ticks_to_days(ticks: pl.Expr) -> pl.Expr:
    return (within_time(ticks) // DAY).cast(pl.Int32).cast(pl.Date)
