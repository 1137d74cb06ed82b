"""BatchCounts: a number for each micro-batch, and their sum.

Spark may repeat a batch that it has not committed; its number then replaces the earlier one. A
batch that is long over does not come again, so only the sum remembers it: memory and time stay the
same however long a query runs.
"""

from __future__ import annotations

#: Batches that may still be counted again. Spark repeats the last one only; with native lowering, a
#: batch is heard of when the next has begun.
KEPT = 100


class BatchCounts:
    """Counts by batch; `total` is their sum."""

    def __init__(self) -> None:
        self.total = 0
        self._latest: dict[int, int] = {}

    def __setitem__(self, batch: int, count: int) -> None:
        self.total += count - self._latest.pop(batch, 0)
        self._latest[batch] = count
        if len(self._latest) > KEPT:
            del self._latest[next(iter(self._latest))]

    def get(self, batch: int) -> int:
        """The count of one of the last batches; 0 if it has none."""
        return self._latest.get(batch, 0)
