"""What became of a stream's rows: how many went in, and how many did not.

A `Tally` counts; every host keeps its own. `StreamCounts` is what users see of it, whatever the
host. On Spark a stream may be read by several pipelines, each at its own pace: a row may be late in
one and on time in another. Each counts what it has rejected, and of all of them the most is told.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import zip_longest
from typing import Any

import numpy as np
import polars as pl

from penstock.kernel.aggregates.grouping import Ids
from penstock.kernel.rejected import Reason, Rejected
from penstock.kernel.state import State


@dataclass(frozen=True)
class RejectedRows:
    """Rows that did not go into their stream.

    Late ones, and those ahead of their time, are in the stream's own columns. Malformed ones are
    text, because nothing else holds them all, with a further column `reason`.
    """

    stream: str
    reason: Reason
    rows: pl.DataFrame


@dataclass(frozen=True)
class Total:
    """Counts over all runs of a checkpoint."""

    rows: int = 0
    late: int = 0
    passed: int = 0
    malformed: int = 0


@dataclass(frozen=True)
class StreamCounts(Total):
    """Counts of one stream since its engine began.

    `rows` went in. Of the `late` ones those that `passed` went in as well: no query that reads them
    has windows. `closed` ones are late only because a run that ended before has closed their
    windows. `lateness` is how far the latest row lay behind the newest before it, and
    `late_by_slack` counts late rows by the least of the steps of slack that would have accepted
    them (`model/slack.py`).
    """

    closed: int = 0
    ahead: int = 0
    lateness: int = 0
    late_by_slack: Sequence[int] = ()
    reasons: Mapping[str, int] = field(default_factory=dict)  # malformed ones, by what is wrong
    samples: list[dict[str, str]] = field(default_factory=list)  # the first malformed ones
    #: late rows that did not go in, by the queries that lack them
    late_by_pipeline: Mapping[str, int] = field(default_factory=dict)
    total: Total = Total()  # since the checkpoint began

    @property
    def rejected(self) -> int:
        """Rows that did not go in."""
        return self.late - self.passed + self.malformed + self.ahead

    def as_json(self) -> dict[str, Any]:
        facts = asdict(self)
        del facts["late_by_slack"]  # which says nothing without its steps
        return facts


@dataclass
class Tally(State):
    """Counts of one reader of a stream; a row is counted under one name besides `read`."""

    read: int = 0
    late: int = 0  # and rejected
    closed: int = 0  # the same, because of a run that ended before
    passed: int = 0  # late, and went in
    malformed: int = 0
    ahead: int = 0
    lateness: int = 0  # of the latest row
    late_by_slack: list[int] = field(default_factory=list)  # by the first step that accepts them
    reasons: dict[str, int] = field(default_factory=dict)
    samples: list[dict[str, str]] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Count on by what another has counted."""
        for name in ("read", "late", "closed", "passed", "malformed", "ahead"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.lateness = max(self.lateness, other.lateness)
        pairs = zip_longest(self.late_by_slack, other.late_by_slack, fillvalue=0)
        self.late_by_slack = list(map(sum, pairs))
        self._note(Rejected(Counter(other.reasons), other.samples))

    def note_lateness(self, lateness: Ids, steps: Sequence[int]) -> None:
        """Count late rows by the least step that is no shorter than they are late."""
        counted = np.bincount(np.searchsorted(np.asarray(steps), lateness)).tolist()
        self.add(Tally(late_by_slack=counted))

    def reject(self, reason: Reason, rows: pl.DataFrame) -> None:
        """Count rows that did not go in; malformed ones are text with a column `reason`."""
        setattr(self, reason.value, getattr(self, reason.value) + rows.height)
        if reason is Reason.MALFORMED and "reason" in rows.columns:
            self.note(rows)

    def note(self, rows: pl.DataFrame) -> None:
        """Take note of why rows did not go in, which are text with a column `reason`."""
        self._note(Rejected.of(rows))

    def _note(self, found: Rejected) -> None:
        known = Rejected(Counter(self.reasons), self.samples)
        known.add(found)
        self.reasons, self.samples = dict(known.reasons), known.samples

    def for_totals(self) -> dict[str, int]:
        """What is kept over restarts."""
        return {
            "read": self.read - self.ahead,
            "late": self.late + self.closed,
            "passed": self.passed,
            "malformed": self.malformed,
        }


def counts_of(
    tallies: Mapping[str, Tally], totals: Iterable[Mapping[str, int]] | None = None
) -> StreamCounts:
    """What users see of a stream that these pipelines have counted.

    `totals` are the same counts since their checkpoints began; None: there was no earlier run.

    >>> counts = counts_of({"q": Tally(read=10, late=2, passed=1, malformed=3)})
    >>> counts.rows, counts.late, counts.rejected
    (5, 3, 5)
    """
    if not tallies:
        return StreamCounts()
    each = list(tallies.values())
    now = _most(tally.for_totals() for tally in each)
    # Malformed rows are malformed in all pipelines, of which only the first looks at them.
    seen = max(each, key=lambda tally: (tally.malformed, sum(tally.reasons.values())))
    return StreamCounts(
        now.rows,
        now.late,
        now.passed,
        now.malformed,
        closed=max(tally.closed for tally in each),
        ahead=max(tally.ahead for tally in each),
        lateness=max(tally.lateness for tally in each),
        late_by_slack=max((tally.late_by_slack for tally in each), key=sum),
        reasons=dict(seen.reasons),
        samples=list(seen.samples),
        late_by_pipeline={name: tally.late + tally.closed for name, tally in tallies.items()},
        total=now if totals is None else _most(totals),
    )


def _most(pipelines: Iterable[Mapping[str, int]]) -> Total:
    """Of what several pipelines have counted, the most: all of them read the same rows."""
    found = list(pipelines)
    read, rejected, malformed = (
        max(counts.get(name, 0) for counts in found) for name in ("read", "late", "malformed")
    )
    late = max(counts.get("late", 0) + counts.get("passed", 0) for counts in found)
    return Total(read - rejected - malformed, late, late - rejected, malformed)
