"""Tables whose segments are each sorted by a column: rows leave from their fronts.

A batch adds a segment; when younger segments together have grown as large as an older one, they are
merged with it, so that there are few of them and a row is copied a logarithmic number of times.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import polars as pl

from penstock.kernel.state import Segment, Table

Mask = npt.NDArray[np.bool_]

#: Segments of about one size that are merged at a time.
FAN_IN = 4


def append_sorted(table: Table, rows: pl.DataFrame, on: str) -> None:
    """Add rows; rows of equal value keep the order they came in."""
    if not rows.height:
        return
    table.append(rows.sort(on, maintain_order=True))
    segments = table.segments
    while len(segments) >= FAN_IN:
        tail = [segment.rows for segment in segments[-FAN_IN:]]
        if tail[0].height > sum(rows.height for rows in tail[1:]):
            return
        merged = pl.concat(tail, rechunk=True).sort(on, maintain_order=True)
        segments[-FAN_IN:] = [Segment(merged)]


def take_below(table: Table, on: str, bound: int) -> pl.DataFrame | None:
    """Take out the rows below the bound, segment by segment; None if there are none."""
    taken, kept = [], []
    for segment in table.segments:
        rows = segment.rows
        split = int(rows.get_column(on).search_sorted(bound))
        if split:
            taken.append(rows.slice(0, split))
        if split < rows.height:
            kept.append(segment.without_front(split) if split else segment)
    table.segments = kept
    return pl.concat(taken) if taken else None


def lowest(table: Table, on: str) -> int | None:
    """The least value of all segments; None: there are no rows."""
    return min((int(rows.get_column(on)[0]) for rows in table if rows.height), default=None)


def drop_where(table: Table, going: Callable[[pl.DataFrame], Mask]) -> pl.DataFrame | None:
    """Take out the rows that are going, wherever they stand; segments without any stay as they are.

    What is left of the others is written anew: this is for rows that leave before their time.
    """
    taken, kept = [], []
    for segment in table.segments:
        leaves = going(segment.rows)
        if not leaves.any():
            kept.append(segment)
            continue
        taken.append(segment.rows.filter(leaves))
        if not leaves.all():
            kept.append(Segment(segment.rows.filter(~leaves)))
    table.segments = kept
    return pl.concat(taken) if taken else None
