"""Rows that come too late, and rows that have no place in time.

A row is late when it lies below its stream's bound. Bounds are taken row by row: after a row with
timestamp t, a stream with slack d has the bound t - d, whether or not punctuation has been sent
yet. So whether a row is late does not depend on how rows were cut into
blocks. A row without a timestamp, or with one beyond all bounds, belongs to no window and no order:
it is *timeless*.  Spec: timestamps 3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import reduce
from operator import and_
from typing import TypeAlias

import numpy as np
import polars as pl

from penstock.model.timestamps import BEGINNING, END


class LatePolicy(Enum):
    """What happens to a late row; it is never dropped silently."""

    KEEP = "keep"  # counted, and handed to whoever collects rejected rows
    DROP = "drop"  # counted
    FAIL = "fail"  # an error
    # Counted, and still used by windows that are not closed: of each row all windows or none …
    CONSISTENT = "consistent"
    GENEROUS = "generous"  # … or as many as there are

    @property
    def lets_in(self) -> bool:
        """Whether late rows go on to the windows they are not too late for."""
        return self in (LatePolicy.CONSISTENT, LatePolicy.GENEROUS)


#: From the times of rows, in their order, to the bound before each of them, or before all.
BoundRule: TypeAlias = Callable[[pl.Series], pl.Series | int]


@dataclass(frozen=True)
class Split:
    """Rows of a block by what may become of them, each part in arrival order."""

    on_time: pl.DataFrame
    late: pl.DataFrame
    timeless: pl.DataFrame
    dated: pl.DataFrame  # on time or late
    is_on_time: pl.Series  # which of these are


def is_ahead(times: pl.Series, now: int, limit: int) -> pl.Series:
    """Where a time lies further ahead of the clock than rows of the stream may.

    >>> is_ahead(pl.Series([5, 16, None, 15]), now=10, limit=5).to_list()
    [False, True, False, False]
    """
    ahead: pl.Series = (times.cast(pl.Int64) > now + limit).fill_null(False)
    return ahead


def split(rows: pl.DataFrame, on: str, bound: int, slack: int | None) -> Split:
    """Sort rows out by their timestamp `on`.

    `bound` is the stream's before the first of them. With `slack`, each row raises it for those
    behind it; without (None), only punctuation from outside does.

    >>> parts = split(pl.DataFrame({"ts": [5, 9, None, 6, 4]}), "ts", bound=0, slack=3)
    >>> parts.on_time["ts"].to_list(), parts.late["ts"].to_list(), parts.timeless.height
    ([5, 9, 6], [4], 1)
    """
    return sort_out(rows, {on: bound_rule(bound, slack)})


def sort_out(rows: pl.DataFrame, rules: Mapping[str, BoundRule]) -> Split:
    """Sort rows out by several columns of time: a row must not lie below any of their bounds.

    A row that is late by one column has come, and counts for the bounds on the others.
    """
    nothing = rows.clear()
    placed = is_placed(rows, rules)
    if placed.all():
        dated, timeless = rows, nothing
    else:
        dated, timeless = rows.filter(placed), rows.filter(~placed)
    on_time = reduce(and_, (times >= bound for times, bound in bounded(dated, rules)))
    if on_time.all():
        return Split(dated, nothing, timeless, dated, on_time)
    return Split(dated.filter(on_time), dated.filter(~on_time), timeless, dated, on_time)


def bounded(
    dated: pl.DataFrame, rules: Mapping[str, BoundRule]
) -> Iterable[tuple[pl.Series, pl.Series | int]]:
    """The times in each column, and the bounds before them."""
    for on, rule in rules.items():
        times = dated.get_column(on).cast(pl.Int64)
        yield times, rule(times)


def is_placed(rows: pl.DataFrame, columns: Iterable[str]) -> pl.Series:
    """Which rows have a time in all of these columns."""
    times = (rows.get_column(on).cast(pl.Int64) for on in columns)
    placed = (each.is_between(BEGINNING, END, closed="none").fill_null(False) for each in times)
    found: pl.Series = reduce(and_, placed)
    return found


def bound_rule(bound: int, slack: int | None) -> BoundRule:
    """The rule of a bound that rows raise by their times less a slack; None: they do not."""

    def before(times: pl.Series) -> pl.Series | int:
        return bound if slack is None or len(times) <= 1 else bounds_by_slack(times, bound, slack)

    return before


def bounds_by_place(times: pl.Series, bound: int, last: Sequence[int], late: int) -> pl.Series:
    """The bound before each row, where a row must not lie below any but the last `late` before it.

    `last` are the timestamps of the last rows before these, at most `late` of them. A row that is
    late still takes its place: it has come.

    >>> bounds_by_place(pl.Series([5, 9, 6, 4]), 0, last=[], late=2).to_list()
    [0, 0, 0, 5]
    """
    came = np.concatenate([np.asarray([bound, *last], dtype=np.int64), times.to_numpy()])
    newest = np.maximum.accumulate(came)
    places = np.arange(1 + len(last), len(came))
    return pl.Series(newest[np.maximum(places - 1 - late, 0)])


def bounds_by_slack(times: pl.Series, bound: int, slack: int) -> pl.Series:
    """The bound before each row: what holds before all of them, or the newest one less the slack.

    >>> bounds_by_slack(pl.Series([5, 9, 6, 4]), bound=5, slack=1).to_list()
    [5, 5, 8, 8]
    """
    # A late row is no newest one, so it need not be left out of the running maximum.
    newest = times.cum_max().shift(1, fill_value=BEGINNING)
    bounds: pl.Series = (newest - slack).clip(lower_bound=bound)
    return bounds
