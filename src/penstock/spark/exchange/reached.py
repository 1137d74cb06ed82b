"""Reached: how far the rows of a stream have come, of those that a task has read."""

from __future__ import annotations

import polars as pl

from penstock.kernel.progress.late import is_placed
from penstock.model.streams import Stream, TimestampKind
from penstock.model.timestamps import BEGINNING, END

#: The column of the foremost timestamps.
FOREMOST = "foremost"


class Reached:
    """The newest times of a stream; the foremost ones, where lateness counts rows."""

    def __init__(self, stream: Stream) -> None:
        self._times = stream.times
        self._on = None if stream.kind is TimestampKind.LATENT else stream.timestamp
        self._late = stream.timing.rows_late
        self.newest = BEGINNING
        self.newest_of = {time.column: BEGINNING for time in stream.further}
        self.foremost = pl.Series(FOREMOST, [], pl.Int64)

    def take(self, rows: pl.DataFrame) -> None:
        """Take note of rows."""
        # What lacks one of several times is not a row, and says nothing by the others.
        dated = rows.filter(is_placed(rows, self._times)) if self.newest_of else rows
        if self._on is not None:
            self.newest = max(self.newest, _newest(dated.get_column(self._on)))
        for column, newest in self.newest_of.items():
            self.newest_of[column] = max(newest, _newest(dated.get_column(column)))
        if self._on is not None and self._late is not None:
            times = dated.get_column(self._on)
            self.foremost = _foremost(self.foremost, times, self._late + 1)


def _newest(times: pl.Series) -> int:
    """The newest of the times; one beyond all bounds is no time, and says nothing."""
    high = times.max()
    if isinstance(high, int) and high >= END:
        high = times.filter(times < END).max()
    return high if isinstance(high, int) else BEGINNING


def _foremost(before: pl.Series, times: pl.Series, number: int) -> pl.Series:
    """The so many largest of all timestamps."""
    times = times.drop_nulls().cast(pl.Int64)
    found: pl.Series = pl.concat([before, times.filter(times < END).alias(FOREMOST)]).top_k(number)
    return found
