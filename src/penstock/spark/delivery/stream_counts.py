"""What became of a stream's rows: how many came, how many did not go in.

Late and malformed rows are counted for good, and the latest are kept to be looked at. Counts are by
batch, because Spark may repeat one (`batch_counts`).

A stream may be read by several pipelines, each at its own pace: a row may be late in one and on
time in another. Each counts what it has set aside, and of all of them the most is told.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, fields

import polars as pl

from penstock.io.late_rows import CLOSED, LATE
from penstock.kernel.rejected import Rejected
from penstock.spark.delivery.batch_counts import BatchCounts
from penstock.spark.delivery.totals import Totals, stream_counts

MALFORMED = "malformed"
#: Batches of rows kept for looking at.
KEPT = 100


@dataclass(frozen=True)
class Total:
    """Rows that went in, late ones, those of them that passed, and malformed ones."""

    rows: int
    late: int
    passed: int
    malformed: int


@dataclass
class StreamCounts:
    """Counts since the engine started; `pipeline` names the queries that run in it."""

    pipeline: str = ""
    rows_by_batch: BatchCounts = field(default_factory=BatchCounts)
    late_by_batch: BatchCounts = field(default_factory=BatchCounts)
    closed_by_batch: BatchCounts = field(default_factory=BatchCounts)
    malformed_by_batch: BatchCounts = field(default_factory=BatchCounts)
    passed_by_batch: BatchCounts = field(default_factory=BatchCounts)
    others: dict[str, StreamCounts] = field(default_factory=dict)  # by pipeline
    totals: Totals | None = None  # of the pipeline
    stream: str = ""
    _lateness: int = 0
    _rejected_before: Rejected = field(default_factory=Rejected)  # in batches that are long over
    _rejected_by_batch: dict[int, Rejected] = field(default_factory=dict)
    _kept: dict[tuple[str, int], pl.DataFrame] = field(default_factory=dict)

    def of(self, pipeline: str) -> StreamCounts:
        """Where a pipeline counts."""
        if pipeline == self.pipeline:
            return self
        return self.others.setdefault(pipeline, StreamCounts(pipeline, stream=self.stream))

    def forget(self) -> None:
        """Drop what this pipeline has counted: it starts again from the beginning."""
        kept = {"pipeline", "stream", "totals", "others"}
        anew = StreamCounts()
        for each in fields(self):
            if each.name not in kept:
                setattr(self, each.name, getattr(anew, each.name))

    @property
    def rows(self) -> int:
        """Rows that went in, in all pipelines."""
        return max(each.rows_by_batch.total for each in self._all) - self.set_aside

    @property
    def late(self) -> int:
        """Late rows, also those that passed; of several pipelines, the most that any has seen."""
        return max(each._late + each.passed_by_batch.total for each in self._all)

    @property
    def passed(self) -> int:
        """Late rows that went in everywhere, because no query that reads them has windows."""
        return self.late - max(self.late_by_pipeline.values())

    @property
    def late_by_pipeline(self) -> dict[str, int]:
        """Late rows by the queries whose answers lack them."""
        return {each.pipeline: each._late for each in self._all}

    @property
    def set_aside(self) -> int:
        """Rows that did not go in."""
        return self.late - self.passed + self.malformed

    @property
    def closed(self) -> int:
        """Late rows that would have been on time, had no earlier run ended and closed windows."""
        return max(each.closed_by_batch.total for each in self._all)

    @property
    def _late(self) -> int:
        """Late rows that one pipeline has set aside."""
        return self.late_by_batch.total + self.closed_by_batch.total

    @property
    def malformed(self) -> int:
        return max(each.malformed_by_batch.total for each in self._all)

    @property
    def _all(self) -> list[StreamCounts]:
        return [self, *self.others.values()]

    @property
    def lateness(self) -> int:
        """How far the latest row lay behind the newest of earlier batches."""
        return max(each._lateness for each in self._all)

    @property
    def reasons(self) -> dict[str, int]:
        """Malformed rows by what is wrong, as far as it is known."""
        return dict(self._rejected.reasons)

    @property
    def samples(self) -> list[dict[str, str]]:
        """The first malformed rows: text and reason."""
        return self._rejected.samples

    @property
    def _rejected(self) -> Rejected:
        """Of the pipeline that has seen most: malformed rows are malformed in all of them."""
        most = max(self._all, key=lambda each: each.malformed_by_batch.total)
        found = Rejected()
        for part in [most._rejected_before, *most._rejected_by_batch.values()]:
            found.add(part)
        return found

    @property
    def latest(self) -> list[tuple[str, pl.DataFrame]]:
        """The rows of the last batches that had any, oldest first, each with what they are.

        A row that is late in several pipelines comes once for each; a malformed one comes once.
        """
        # Copied first: the pipeline may be counting in another thread.
        mine = [(kind, rows) for (kind, _), rows in list(self._kept.items())]
        return mine + [
            (kind, rows)
            for other in self.others.values()
            for kind, rows in other.latest
            if kind in (LATE, CLOSED)
        ]

    def of_batch(self, batch: int) -> dict[str, int]:
        """What one batch has counted, of all rows that were read."""
        return {
            "read": self.rows_by_batch.get(batch),
            "late": self.late_by_batch.get(batch) + self.closed_by_batch.get(batch),
            "passed": self.passed_by_batch.get(batch),
            "malformed": self.malformed_by_batch.get(batch),
        }

    @property
    def total(self) -> Total:
        """The same counts since the checkpoint began, over all restarts."""
        found = [each._totals() for each in self._all]
        read, late, malformed = (
            max(counts[kind] for counts in found) for kind in ("read", "late", "malformed")
        )
        every = max(counts["late"] + counts["passed"] for counts in found)
        return Total(read - late - malformed, every, every - late, malformed)

    def _totals(self) -> Counter[str]:
        if self.totals is not None:
            return self.totals.of(stream_counts(self.stream))
        return Counter(
            read=self.rows_by_batch.total,
            late=self._late,
            passed=self.passed_by_batch.total,
            malformed=self.malformed_by_batch.total,
        )

    def add(self, kind: str, batch: int, rows: pl.DataFrame) -> None:
        self.count(kind, batch, rows.height)
        if "reason" in rows.columns and kind == MALFORMED:
            self._rejected_by_batch[batch] = Rejected.of(rows)
            if len(self._rejected_by_batch) > KEPT:
                oldest = next(iter(self._rejected_by_batch))
                self._rejected_before.add(self._rejected_by_batch.pop(oldest))
        self._kept[kind, batch] = rows
        if len(self._kept) > KEPT:
            del self._kept[next(iter(self._kept))]

    def count(self, kind: str, batch: int, rows: int) -> None:
        """Count rows that cannot be looked at."""
        by_kind = {
            LATE: self.late_by_batch,
            CLOSED: self.closed_by_batch,
            "passed": self.passed_by_batch,
        }
        by_kind.get(kind, self.malformed_by_batch)[batch] = rows

    def note_lateness(self, lateness: int) -> None:
        """Take note of how late the latest row of a batch was."""
        self._lateness = max(self._lateness, lateness)
