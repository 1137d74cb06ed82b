"""Partitions in which many rows wait for the end of a match: only new rows are looked at.

Rows of short attempts are searched again together with those that come (`match_recognize`). Where
there are many, that would take longer with every block. So a partition with many rows is kept
apart: its rows are written once, behind those before them, and its attempts take the new ones
(`shared_attempts`). As long as no match is decided, nothing else happens; rows in which nothing
begins any more stay where they are. When a match is decided, or half of the rows are of no use,
they are *recalled*, and the partition is searched like any other.

What is known of attempts is not part of the state. Where it was lost, all rows are searched anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from penstock.kernel.matching.conditions import VariableConditions
from penstock.kernel.matching.lazy_dfa import Ints
from penstock.kernel.matching.scan import Scan
from penstock.kernel.matching.shared_attempts import SharedAttempts
from penstock.kernel.matching.sorted_rows import BACK, SEEN, SOON, START, SortedRows, key_of
from penstock.kernel.segments import SegmentTable, where
from penstock.model.match import MatchDefinition
from penstock.model.timestamps import END

#: Partitions with so many rows are kept apart.
MANY_ROWS = 1 << 12
#: Of a row: its partition, by a number that is given to it, and its number in there.
_PARTITION, _ROW = "__partition", "__row"


@dataclass
class _Partition:
    """One partition: where the search waits, and the last rows, which PREV may look back to."""

    attempts: SharedAttempts
    start: int
    last: pl.DataFrame


class LongPartitions:
    """Partitions with many rows; the rows themselves are in a table of the operator's state."""

    def __init__(
        self, match: MatchDefinition, conditions: VariableConditions, scan: Scan, back: int
    ) -> None:
        self._match = match
        self._conditions = conditions
        self._scan = scan
        self._back = back
        self._keys: pl.DataFrame | None = None  # of partitions, with their numbers
        self._partitions: dict[int, _Partition] = {}
        self._given = 0

    def forget(self) -> None:
        """Nothing is kept any more."""
        self._keys, self._partitions = None, {}

    def first_start(self, behind: int = 0) -> int:
        """The time of the oldest row at which a search waits, or of so many rows behind it."""
        times = (
            each.attempts.time(each.start + behind)
            for each in self._partitions.values()
            if each.start + behind < each.attempts.rows
        )
        return min(times, default=END)

    # -- rows come ----------------------------------------------------------------------------

    def take(
        self, table: SegmentTable, coming: list[pl.DataFrame], bound: int, over: int
    ) -> tuple[list[pl.DataFrame], list[pl.DataFrame]]:
        """Take rows in that have come; gives those that are recalled, and those of others.

        Attempts whose first row lies below `over` are decided.
        """
        if not self._partitions:
            return [], coming
        if bound >= END:
            return list(self._recalled(table, [*self._partitions])), coming
        numbered = [self._numbered(rows) for rows in coming]
        is_ours = pl.col(_PARTITION).is_not_null()
        rest = [rows.filter(~is_ours).drop(_PARTITION) for rows in numbered]
        met = self._feed(table, [rows.filter(is_ours) for rows in numbered], bound)
        recalled = [
            number
            for number, each in self._partitions.items()
            if (number in met or each.attempts.time(each.start) < over)
            and self._is_recalled(each, over)
        ]
        return list(self._recalled(table, recalled)), [rows for rows in rest if rows.height]

    def _numbered(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows with the number of their partition; NULL: it is not kept here."""
        assert self._keys is not None
        keys = list(self._match.partition)
        if not keys:
            return rows.with_columns(pl.lit(self._keys.item(), dtype=pl.Int64).alias(_PARTITION))
        return rows.join(self._keys, on=keys, how="left", nulls_equal=True, maintain_order="left")

    def _feed(
        self, table: SegmentTable, coming: Sequence[pl.DataFrame], bound: int
    ) -> dict[int, None]:
        """Let attempts go on; gives the partitions that rows came to."""
        new = pl.concat(coming) if coming else pl.DataFrame()
        if not new.height:
            return {}
        met = dict.fromkeys(new.get_column(_PARTITION).unique().to_list())
        new = new.with_columns(pl.lit(False).alias(BACK), pl.lit(False).alias(SEEN))
        last = (self._partitions[number].last.select(new.columns) for number in met)
        rows = SortedRows.of(pl.concat([*last, new]), self._match, bound)
        masks = self._conditions.masks(rows)
        numbers = rows.rows.get_column(_PARTITION).to_numpy()
        firsts = rows.partitions.tolist()
        begun, places = np.zeros((2, len(masks)), dtype=np.int64)
        for first in firsts:
            stop = rows.stops[first]
            known = first + int(rows.back[first:stop].sum())
            partition = self._partitions[int(numbers[first])]
            begun[first:stop] = partition.attempts.time(partition.start)
            places[first:stop] = np.arange(first, stop) + (partition.attempts.rows - known)
            partition.attempts.feed(masks[known:stop], rows.times[known:stop])
        self._note_last(rows, {int(numbers[first]): first for first in firsts})
        self._append(table, rows.rows.filter(~rows.back), (begun, numbers, places), ~rows.back)
        return met

    def _append(
        self,
        table: SegmentTable,
        rows: pl.DataFrame,
        noted: tuple[Ints, Ints, Ints],
        which: Any,
    ) -> None:
        """Write rows with the time at which the search waits, their partition, their number."""
        columns = zip((START, _PARTITION, _ROW), noted, strict=True)
        written = rows.select(
            *self._match.columns, BACK, *(pl.Series(name, of[which]) for name, of in columns)
        )
        table.append(written, lambda parts: pl.concat(parts, rechunk=True))

    def _note_last(self, rows: SortedRows, partitions: Mapping[int, int]) -> None:
        """Keep the rows that PREV may look back to, copied: nothing else is to stay for them.

        `partitions` are the first rows of partitions by their numbers.
        """
        stops = [rows.stops[first] for first in partitions.values()]
        sizes = [
            min(stop - first, self._conditions.rows_back)
            for stop, first in zip(stops, partitions.values(), strict=True)
        ]
        places = [np.arange(stop - size, stop) for stop, size in zip(stops, sizes, strict=True)]
        numbers = np.repeat(list(partitions), sizes)
        copied = rows.rows[np.concatenate(places)].with_columns(
            pl.lit(True).alias(BACK), pl.lit(True).alias(SEEN), pl.Series(_PARTITION, numbers)
        )
        begin = 0
        for number, size in zip(partitions, sizes, strict=True):
            self._partitions[number].last = copied.slice(begin, size)
            begin += size

    def _is_recalled(self, partition: _Partition, over: int) -> bool:
        """Go on to where the search waits now; whether that is for others to tell."""
        attempts, rows = partition.attempts, partition.attempts.rows
        while partition.start < rows:
            end, goes_on = attempts.outcome(partition.start)
            if goes_on and attempts.time(partition.start) >= over:
                break
            if end >= 0:
                return True
            partition.start += 1
        return 2 * (partition.start - attempts.first) > rows - attempts.first

    def _recalled(self, table: SegmentTable, numbers: Sequence[int]) -> Iterator[pl.DataFrame]:
        """Take the rows of partitions out, and let the search have their attempts."""
        if not numbers:
            return
        begins = pl.DataFrame(
            {
                _PARTITION: numbers,
                "__begin": [self._partitions[number].start for number in numbers],
            },
            schema={_PARTITION: pl.Int64(), "__begin": pl.Int64()},
        )
        taken = table.take_where(where(pl.col(_PARTITION).is_in(numbers)))
        assert self._keys is not None
        keys = self._keys.join(begins, on=_PARTITION)
        for number, *key in keys.select(_PARTITION, *self._match.partition).iter_rows():
            partition = self._partitions.pop(number)
            partition.attempts.forget(partition.start)
            self._scan.given_back(key_of(key), partition.attempts)
        self._keys = (
            self._keys.join(begins, on=_PARTITION, how="anti") if self._partitions else None
        )
        for rows in taken:
            yield (
                rows.join(begins, on=_PARTITION, maintain_order="left")
                .filter(pl.col(_ROW) >= pl.col("__begin") - self._back)
                .with_columns((pl.col(_ROW) < pl.col("__begin")).alias(BACK))
                .select(*self._match.columns, BACK)
            )

    # -- partitions come ----------------------------------------------------------------------

    def keep(self, table: SegmentTable, rows: SortedRows, starts: Sequence[int]) -> None:
        """Keep partitions apart from now on, in which the search waits at these rows."""
        numbers = range(self._given, self._given + len(starts))
        self._given += len(starts)
        keys = rows.rows[list(starts)].select(
            *self._match.partition, pl.Series(_PARTITION, numbers, dtype=pl.Int64)
        )
        self._keys = keys if self._keys is None else pl.concat([self._keys, keys])
        nothing = rows.rows.clear()
        taken, noted = [], []
        for number, start in zip(numbers, starts, strict=True):
            attempts, origin = self._scan.taken_over(start)
            self._partitions[number] = _Partition(attempts, start - origin, nothing)
            first = max(int(rows.first[start]), start - self._back)
            places = np.arange(first, rows.stops[start])
            taken.append(places)
            begun = np.full(len(places), rows.times[start])
            noted.append((begun, np.full(len(places), number), places - origin, places < start))
        begun, of, places, is_back = (np.concatenate(each) for each in zip(*noted, strict=True))
        kept = rows.rows[np.concatenate(taken)].with_columns(pl.Series(BACK, is_back))
        self._append(table, kept, (begun, of, places), slice(None))
        firsts = {
            number: int(rows.first[start]) for number, start in zip(numbers, starts, strict=True)
        }
        self._note_last(rows, firsts)


def unnumbered(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows of the table like those that are held elsewhere, where nothing else is known of them."""
    return rows.drop(_PARTITION, _ROW).with_columns(pl.col(START).alias(SOON))
