"""What a pipeline hands over: rows of a micro-batch, and how far things have come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from penstock.model.releases import Releases
from penstock.runtime.status import OperatorStatus

#: What the lines are that groups put out, besides rejected rows (`Reason`).
RESULT, PROGRESS = "result", "progress"
#: Late rows that went in, because no query that reads them has windows.
PASSED = "passed"


@dataclass(frozen=True)
class Delivery:
    """What one micro-batch put out, as (group, query or stream, kind, rows)."""

    batch: int
    lines: Sequence[tuple[int, str, str, pl.DataFrame]]


@dataclass(frozen=True)
class BatchReport:
    """What became known about one micro-batch."""

    batch: int
    rows: Mapping[str, int]  # of each stream
    bounds: Mapping[str, int]  # of each stream
    newest: Mapping[str, int]  # timestamp of each stream so far
    awaited: Collection[str]  # streams that something is held for
    #: query -> what lets its next row out; a query that is not here has not said
    releases: Mapping[str, Releases] = field(default_factory=dict)
    #: (stream, kind) -> rows of which nothing but their number is known
    aside: Mapping[tuple[str, str], int] = field(default_factory=dict)
    #: stream -> how far its latest row lay behind the newest before it, where rows were late
    lateness: Mapping[str, int] = field(default_factory=dict)
    operators: tuple[OperatorStatus, ...] = ()
    #: what each stream has promised, but for what the ends of runs have
    own: Mapping[str, int] = field(default_factory=dict)


def largest(groups: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """The largest of what groups have found."""
    found: dict[str, int] = {}
    for group in groups:
        found |= {name: max(n, found.get(name, n)) for name, n in group.items()}
    return found


def releases_of(groups: Iterable[Mapping[str, Any]]) -> dict[str, Releases]:
    """By query, what any group waits for; each group says it in JSON."""
    found: dict[str, list[Releases]] = {}
    for group in groups:
        for query, said in group.items():
            found.setdefault(query, []).append(Releases.from_json(said))
    return {query: Releases.of_all(parts) for query, parts in found.items()}


def summed(groups: Iterable[Mapping[str, int]]) -> Counter[str]:
    """What all groups have counted."""
    found: Counter[str] = Counter()
    for group in groups:
        found.update(group)
    return found
