"""What one micro-batch brings of one stream to one group."""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

from penstock.model.punctuation import Where
from penstock.model.timestamps import BEGINNING


@dataclass
class Folded:
    """Rows that are on time, as an aggregate keeps them.

    `target` is the aggregate's name, and `head` that of the operator at which its rows come in.
    """

    target: str
    head: str
    partials: pl.DataFrame
    rows: int


@dataclass
class Arrivals:
    """What one micro-batch brings of one stream."""

    blocks: list[pl.DataFrame] = field(default_factory=list)
    newest: int = BEGINNING  # of the whole stream
    rows: int = 0  # of the whole stream
    bound: int = BEGINNING  # from outside
    about: list[tuple[int, Where]] = field(default_factory=list)  # the same of some rows only
    malformed: list[pl.DataFrame] = field(default_factory=list)  # as text
    foremost: list[int] = field(default_factory=list)  # timestamps, where lateness counts rows
    punctuation: list[pl.DataFrame] = field(default_factory=list)  # rows that are marked as such
    answers_for_punctuation: bool = False  # whether this group reports those that are refused
    ends: bool = False  # whether the run ends with this batch
    highest: dict[str, int] = field(default_factory=dict)  # of the stream's further times
    folded: list[Folded] = field(default_factory=list)
    #: rows that were folded, for those whom they were not folded for
    for_others: list[pl.DataFrame] = field(default_factory=list)
    #: late rows that went in where they were read: how many, and the oldest of them
    passed: list[tuple[int, int]] = field(default_factory=list)
    clocks: dict[str, int] = field(default_factory=dict)  # bounds on columns of stamps
