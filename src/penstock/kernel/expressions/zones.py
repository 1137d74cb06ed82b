"""Between points in time and what a clock shows in a zone.

A time that a clock never shows, because it was put forward, is as much later as it was put forward
by; one that it shows twice is the first of both. So does Java, and with it Spark.
"""

from __future__ import annotations

import polars as pl

from penstock.kernel.expressions.calendar import calendar
from penstock.model.timestamps import DAY


def to_clock(ticks: pl.Expr, zone: str) -> pl.Expr:
    """What a clock in the zone shows, in ticks."""
    if zone == "UTC":
        return ticks
    shown = calendar(ticks).dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
    return shown.dt.replace_time_zone(None).cast(pl.Int64)


def from_clock(ticks: pl.Expr, zone: str) -> pl.Expr:
    """The point in time at which a clock in the zone shows that."""
    if zone == "UTC":
        return ticks
    # Where there is no such time, the day before had it, with the clock as it was before.
    return pl.coalesce(_existing(ticks, zone), _existing(ticks - DAY, zone) + DAY)


def _existing(ticks: pl.Expr, zone: str) -> pl.Expr:
    local = calendar(ticks).dt.replace_time_zone(zone, ambiguous="earliest", non_existent="null")
    return local.dt.convert_time_zone("UTC").cast(pl.Int64)
