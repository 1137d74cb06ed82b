"""Windows over the rows of each partition: `[RANGE 1000 rows, SLIDE 10 rows, WA n, PA src]`.

"The last 1000 packets of EACH source" first partitions, then windows; grouping the last
1000 packets overall by source windows first. A row is placed by its rank in its partition,
so partitions progress independently and have different numbers of extents. Ids are pairs:

    extent((id, pa)) = { t | t.p = pa, (id+1)s - r <= rank(t) < (id+1)s }

Ranks count from 0 in order of `on`, ties in order of arrival. NULLs in the partitioning
attributes form a partition of their own. The last extent of a partition is the last in whose last
step there is a row. Over time such windows would be grouping by
another name, so lengths are always rows.  Spec: window-queries 2.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

from penstock.errors import CannotWindow
from penstock.windows.sliding import Sliding
from penstock.windows.window import Row, Window, format_length, present, require_positive

Partition: TypeAlias = tuple[Any, ...]
PartitionedWid: TypeAlias = tuple[int, Partition]


@dataclass(frozen=True)
class Partitioned(Window):
    """`RANGE` and `SLIDE` count the rows of one partition, in order of `on`."""

    range: int
    slide: int
    partition: tuple[str, ...]

    def __post_init__(self) -> None:
        require_positive("RANGE", self.range, "rows")
        require_positive("SLIDE", self.slide, "rows")
        if not self.partition:
            raise CannotWindow(
                "cannot partition a window: PA names no attribute",
                hint="name one or more attributes after PA, or leave PA out",
            )

    @cached_property
    def _over_ranks(self) -> Sliding:
        """The window of one partition, on the ranks of its rows."""
        return Sliding("rank", self.range, self.slide, origin=0, unit="rows")

    def partition_of(self, row: Row) -> Partition:
        return tuple(row[attribute] for attribute in self.partition)

    def windows(self, rows: Sequence[Row]) -> Sequence[PartitionedWid]:
        """Partition by partition as they first appear, ids ascending in each."""
        found = []
        for partition in dict.fromkeys(map(self.partition_of, rows)):
            ranks = range(len(self._ranked(partition, rows)))
            ids = {wid for rank in ranks for wid in self._ids(rank, len(ranks))}
            found += [(wid, partition) for wid in sorted(ids)]
        return found

    def _ids(self, rank: int, count: int) -> Sequence[int]:
        """The ids of a row's extents: up to the last that has a row in its last step."""
        first, stop = self._over_ranks.wid_range(rank)
        return range(first, min(stop, (count - 1) // self.slide + 1))

    def extent(self, wid: PartitionedWid, rows: Sequence[Row]) -> list[Row]:
        """The rows of extent `wid`, in order of rank."""
        number, partition = wid
        ranked = self._ranked(partition, rows)
        start, end = self._over_ranks.covers(number)
        if number > (len(ranked) - 1) // self.slide:
            return []
        return ranked[max(start, 0) : max(end, 0)]

    def wids(self, row: Row, rows: Sequence[Row]) -> Sequence[PartitionedWid]:
        partition = self.partition_of(row)
        ranked = self._ranked(partition, rows)
        for rank, other in enumerate(ranked):
            if other is row:
                return [(number, partition) for number in self._ids(rank, len(ranked))]
        return ()

    def bounds(self, wid: PartitionedWid) -> tuple[int, int]:
        """Ranks within the partition."""
        return self._over_ranks.covers(wid[0])

    @property
    def progresses(self) -> tuple[bool, bool]:
        return False, False  # a new partition counts from 0 again

    def columns(self) -> frozenset[str]:
        return frozenset({self.on, *self.partition})

    def __str__(self) -> str:
        range_, slide = format_length(self.range, "rows"), format_length(self.slide, "rows")
        return f"[RANGE {range_}, SLIDE {slide}, WA {self.on}, PA {', '.join(self.partition)}]"

    def _ranked(self, partition: Partition, rows: Sequence[Row]) -> list[Row]:
        """The rows of one partition by rank; sorting is stable, so ties keep arrival order."""
        mine = [row for row in present(rows, self.on) if self.partition_of(row) == partition]
        return sorted(mine, key=lambda row: row[self.on])
