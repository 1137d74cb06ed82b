"""Event time as Spark gets it: shifted, so that all of it lies after 1970.

Spark's watermark begins at 1970 and only rises, so what came before 1970 would be late from the
start; and its clock can be told no end. So the time that Spark watches is a column of its own, our
ticks moved by a constant. Columns of the user's keep their times. The constant is a number of
whole cycles of the calendar, 400 years each: what Spark prints of it differs by the year alone.

    ours       FIRST …        0001       1970       9999 …      END
    Spark's    1970           68001      69970      77999       LAST
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime

from pyspark.sql import Column
from pyspark.sql import functions as F

from penstock.model.timestamps import BEGINNING, DAY, END, to_ticks

#: The column that Spark watches.
TIME = "penstock_time"

_CYCLES = 170
_YEARS = 400 * _CYCLES
SHIFT = 146_097 * DAY * _CYCLES
#: The first tick that Spark can watch.
FIRST = 1 - SHIFT
#: In Spark's time: behind every window.
LAST = (1 << 63) - 1 - DAY

_PRINTED = re.compile(r"^\+?(\d+)(-.*)$")


def spoken(bound: int, slack: int) -> int:
    """The time of a row from which Spark derives `bound`, in Spark's time.

    >>> spoken(5, slack=2) - SHIFT, spoken(END, slack=2) == LAST
    (7, True)
    """
    return LAST if bound >= END else max(FIRST, bound + slack) + SHIFT


def watched(time: Column) -> Column:
    """A time in Spark's time; NULL where Spark cannot watch it."""
    ticks = F.unix_micros(time)
    return F.when(ticks.between(FIRST, END - 1), F.timestamp_micros(ticks + F.lit(SHIFT)))


def ours(time: Column) -> Column:
    """A time of Spark's in our time."""
    return F.timestamp_micros(F.unix_micros(time) - F.lit(SHIFT))


def printed(text: str) -> str:
    """A time that Spark has printed, as we would have it.

    >>> printed("+70026-01-01T00:00:05.000Z")
    '2026-01-01T00:00:05.000Z'
    """
    found = _PRINTED.match(text)
    if found is None or not 0 < int(found[1]) - _YEARS < 10_000:
        return text
    return f"{int(found[1]) - _YEARS:04d}{found[2]}"


def shown(progress: Mapping[str, object]) -> dict[str, object]:
    """Spark's report on a batch, with times as we have them."""
    times = progress.get("eventTime")
    if not isinstance(times, Mapping):
        return dict(progress)
    return {**progress, "eventTime": {name: printed(str(text)) for name, text in times.items()}}


def bound_of(watermark: str | None) -> int:
    """The bound that a printed watermark stands for.

    >>> bound_of("+69970-01-01T00:00:01.000Z"), bound_of("1970-01-01T00:00:00.000Z") == BEGINNING
    (1000000, True)
    """
    if watermark is None or watermark.startswith("1970-01-01T00:00:00.000"):
        return BEGINNING
    try:
        return to_ticks(datetime.fromisoformat(printed(watermark).replace("Z", "")))
    except ValueError:
        return END  # beyond what people have years for
