"""Future rows: times so far ahead that they would close everything before them.

A row with a wrong time raises the bound for all that come after it: the rest of the stream is late.
So a row is rejected that lies further ahead of the clock than its stream says (MAX AHEAD), or
without that, more than `max_jump` ahead of the clock and of the newest row before it. A row that
is rejected is no newest one. Only times have a clock to be measured by; integers have none.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from penstock.kernel.conform import as_text
from penstock.kernel.readable import as_dicts
from penstock.model.streams import Stream, TimestampKind
from penstock.model.timestamps import END, format_ticks


def has_clock(stream: Stream) -> bool:
    """Whether rows come with a time that a clock shows."""
    on = stream.timestamp
    is_external = stream.kind is TimestampKind.EXTERNAL
    return is_external and on is not None and stream.schema[on].type.is_time


def measures_by_clock(stream: Stream) -> bool:
    """Whether rows may be too far ahead of the clock."""
    return stream.timing.max_ahead is not None or has_clock(stream)


def may_be_future(times: pl.Series, newest: int, now: int, jump: int) -> bool:
    """Whether any row can be one: most blocks are asked no more than that."""
    # Times are numbers by now; to ask Polars for what is one already takes long for a single row.
    latest = (times if times.dtype.is_integer() else times.to_physical()).max()
    return isinstance(latest, int) and latest > max(newest, now) + jump


def is_future(times: pl.Series, newest: int, now: int, jump: int) -> pl.Series:
    """Which rows lie more than `jump` ahead of the clock and of the newest row before them.

    >>> is_future(pl.Series([5, 16, None, 12, 21, 40]), newest=0, now=4, jump=10).to_list()
    [False, True, False, False, False, True]
    """
    values, first = times.cast(pl.Int64), max(newest, now)
    suspect: pl.Series = ((values > first + jump) & (values < END)).fill_null(False)
    # Others cannot be too far ahead. How far they have come decides on the few that may be.
    others = values.set(suspect, None).fill_null(newest).to_numpy()
    reached = np.maximum(np.maximum.accumulate(others), first)
    accepted = first
    for place in suspect.arg_true().to_list():
        value = int(values[place])
        if value <= max(int(reached[place]), accepted) + jump:
            suspect[place] = False
            accepted = max(accepted, value)
    return suspect


def as_future(stream: Stream, rows: pl.DataFrame) -> pl.DataFrame:
    """Future rows as text, with the reason; of rows that were read in part, the rest is not known.

    Without a clock to tell the day by, times are the numbers that they are.
    """
    on = str(stream.timestamp)
    blank = dict.fromkeys(column.name for column in stream.arriving)
    told = [blank | row for row in as_dicts(rows)]
    limit = "max_jump ahead" if stream.timing.max_ahead is None else "MAX AHEAD"
    times = rows.get_column(on).cast(pl.Int64).to_list()
    shown = map(format_ticks, times) if has_clock(stream) else times
    reasons = [f"{on}: {time} is more than {limit} of the clock" for time in shown]
    return as_text(told, stream.arriving, reasons)
