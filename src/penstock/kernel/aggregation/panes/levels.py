"""Levels: segments that are merged when younger ones have grown as large as an older one.

A batch adds a segment. As soon as there are enough of them, and the younger ones together are no
smaller than the one before, they become one. So every row is rewritten a logarithmic number of
times, and looking through all segments means looking at few.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl

from penstock.kernel.state import Segment, Table

#: Segments that may stand side by side before they are merged.
SEGMENTS = 8


def append_level(
    table: Table, rows: pl.DataFrame, merge: Callable[[Sequence[pl.DataFrame]], pl.DataFrame]
) -> None:
    """Add rows; `merge` makes one segment of several, oldest first."""
    table.append(rows)
    segments = table.segments
    while len(segments) >= SEGMENTS:
        last = [segment.rows for segment in segments[-SEGMENTS:]]
        if last[0].height > sum(rows.height for rows in last[1:]):
            break
        merged = merge(last)
        segments[-SEGMENTS:] = [Segment(merged)] if merged.height else []
