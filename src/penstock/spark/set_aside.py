"""What became of a stream's rows: how many came, how many did not go in.

Late and malformed rows are counted for good, and the latest are kept to be looked at. Counts are by
batch, because Spark may repeat one.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

#: Batches of rows kept for looking at.
KEPT = 100


@dataclass
class StreamCounts:
    """Counts since the engine started."""

    rows_by_batch: dict[int, int] = field(default_factory=dict)
    late_by_batch: dict[int, int] = field(default_factory=dict)
    malformed_by_batch: dict[int, int] = field(default_factory=dict)
    passed_by_batch: dict[int, int] = field(default_factory=dict)
    _kept: dict[tuple[str, int], pl.DataFrame] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """Rows that went in."""
        return sum(self.rows_by_batch.values()) - self.set_aside

    @property
    def late(self) -> int:
        """Late rows, also those that passed."""
        return sum(self.late_by_batch.values()) + self.passed

    @property
    def passed(self) -> int:
        """Late rows that went in, because no query that reads them has windows."""
        return sum(self.passed_by_batch.values())

    @property
    def set_aside(self) -> int:
        """Rows that did not go in."""
        return self.late - self.passed + self.malformed

    @property
    def malformed(self) -> int:
        return sum(self.malformed_by_batch.values())

    @property
    def latest(self) -> list[tuple[str, pl.DataFrame]]:
        """The rows of the last batches that had any, oldest first, each with what they are."""
        return [(kind, rows) for (kind, _), rows in self._kept.items()]

    def add(self, kind: str, batch: int, rows: pl.DataFrame) -> None:
        self.count(kind, batch, rows.height)
        self._kept[kind, batch] = rows
        if len(self._kept) > KEPT:
            del self._kept[next(iter(self._kept))]

    def count(self, kind: str, batch: int, rows: int) -> None:
        """Count rows that cannot be looked at."""
        by_kind = {"late": self.late_by_batch, "passed": self.passed_by_batch}
        by_kind.get(kind, self.malformed_by_batch)[batch] = rows
