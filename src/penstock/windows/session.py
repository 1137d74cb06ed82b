"""Session windows: rows that follow each other closely. `SESSION(TABLE s, DESCRIPTOR(ts), gap)`.

A session goes on as long as rows of its partition come at most one gap apart, and lasts one gap
longer than its last row:

    rows       *  *   *        *  *         gap = 4
    sessions   ├──────────┤    ├─────┤

A row exactly one gap after the last still belongs to the session, as in Spark and Flink. Extents of
one partition never overlap; a late row can join two of them, so a session is only final when no row
can come that is near enough to it. Ids are pairs: where a session starts, and the partition.
NULLs in the partitioning attributes form a partition of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from penstock.windows.window import Row, Unit, Window, format_length, present, require_positive

SessionWid: TypeAlias = tuple[int, int, tuple[Any, ...]]
"""Where the session starts, where it ends, and the values of its partition."""


@dataclass(frozen=True)
class Session(Window):
    """Rows of one partition with no more than `gap` between neighbours."""

    gap: int
    partition: tuple[str, ...] = ()
    unit: Unit = "time"

    def __post_init__(self) -> None:
        require_positive("GAP", self.gap, self.unit)

    def partition_of(self, row: Row) -> tuple[Any, ...]:
        return tuple(row[attribute] for attribute in self.partition)

    def windows(self, rows: Sequence[Row]) -> Sequence[SessionWid]:
        """Partition by partition as they first appear, sessions ascending in each."""
        placed = present(rows, self.on)
        found: list[SessionWid] = []
        for partition in dict.fromkeys(map(self.partition_of, placed)):
            values = sorted(row[self.on] for row in placed if self.partition_of(row) == partition)
            found += [(start, end, partition) for start, end in self._sessions(values)]
        return found

    def _sessions(self, values: Sequence[int]) -> Iterator[tuple[int, int]]:
        start = last = values[0]
        for value in values[1:]:
            if value - last > self.gap:
                yield start, last + self.gap
                start = value
            last = value
        yield start, last + self.gap

    def extent(self, wid: SessionWid, rows: Sequence[Row]) -> list[Row]:
        start, end, partition = wid
        return [
            row
            for row in present(rows, self.on)
            if self.partition_of(row) == partition and start <= row[self.on] <= end - self.gap
        ]

    def wids(self, row: Row, rows: Sequence[Row]) -> Sequence[SessionWid]:
        if row[self.on] is None:
            return ()
        value, partition = row[self.on], self.partition_of(row)
        return [
            (start, end, other)
            for start, end, other in self.windows(rows)
            if other == partition and start <= value <= end - self.gap
        ]

    def bounds(self, wid: SessionWid) -> tuple[int, int]:
        return wid[0], wid[1]

    @property
    def progresses(self) -> tuple[bool, bool]:
        return False, True  # a long session began before many that ended before it

    def columns(self) -> frozenset[str]:
        return frozenset({self.on, *self.partition})

    def __str__(self) -> str:
        by = f" PARTITION BY {', '.join(self.partition)}" if self.partition else ""
        return f"SESSION({self.on}, {format_length(self.gap, self.unit)}{by})"
