"""What a pipeline hands over: rows of a micro-batch, and how far things have come."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl


@dataclass(frozen=True)
class Delivery:
    """What one micro-batch put out, as (group, query or stream, kind, rows)."""

    batch: int
    lines: Sequence[tuple[int, str, str, pl.DataFrame]]


@dataclass(frozen=True)
class Report:
    """What became known about one micro-batch."""

    batch: int
    rows: Mapping[str, int]  # of each stream
    bounds: Mapping[str, int]  # of each stream
    state_rows: int
    state_bytes: int
    newest: Mapping[str, int]  # timestamp of each stream so far
    awaited: Collection[str]  # streams that something is held for
    #: (stream, kind) -> rows set aside of which nothing but their number is known
    aside: Mapping[tuple[str, str], int] = field(default_factory=dict)
