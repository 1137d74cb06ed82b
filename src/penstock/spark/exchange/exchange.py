"""Exchange: rows of a Spark partition become one binary block per partition group.

Rows are cut apart by the group their partitioning key belongs to (`spreading`) and packed as Arrow
IPC; they come from Spark, or straight from files that Spark has named (`direct_files`). At its end
every task sends a *progress* message to every group, with the newest timestamp it saw, so that each
group learns in the same micro-batch how far the whole stream has come, even if none of its own keys
was there. Of a stream that no query reads any more nothing else is sent. On one machine large
blocks lie in shared memory, and payloads say where (`hand_over`).

What tasks send is in `messages`. Malformed rows were recognised by `conforming`; they belong to no
group, and one carries them to where they are handed out. Rows that are punctuation (PUNCTUATED BY)
go to every group; one of them answers for those that are refused.

Rows may be aggregated here already (`preaggregation`): partial aggregates are sent instead, those
of aggregates that are alike in one message (`alike_aggregates`), with the number of rows in them,
shared out to the groups. Other operators get such rows as they are. Results of queries that look at
single rows are written here, or sent on where the task cannot write them. Where messages go to the
driver, since there are only such queries (`spark/rows/`), few results are sent so, too, with
figures of late rows and operators.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import polars as pl
import pyarrow as pa

from penstock.io.storage.storage_path import local_path
from penstock.kernel.conform import with_derived
from penstock.kernel.progress.future import as_future, may_be_future
from penstock.kernel.progress.late import is_ahead
from penstock.kernel.state import to_ipc
from penstock.kernel.types import polars_type
from penstock.model.streams import Stream
from penstock.model.timestamps import BEGINNING, END
from penstock.spark.control.told import TOLD, Told
from penstock.spark.exchange.folding import Folding, Partials
from penstock.spark.exchange.hand_over import HandOver
from penstock.spark.exchange.messages import (
    FurtherProgress,
    MalformedRows,
    Message,
    PartialAggregates,
    PunctuationRows,
    QueryResults,
    RowBlock,
    RowFigures,
    SharedRows,
    StagedResults,
    TaskProgress,
    record_batch,
)
from penstock.spark.exchange.preaggregation import Preaggregation
from penstock.spark.exchange.reached import Reached
from penstock.spark.exchange.row_query import RowResults
from penstock.spark.exchange.spreading import spread
from penstock.spark.faults import reach
from penstock.spark.placement.partitioning import PartitionKeys
from penstock.spark.shipped_programs import packed_early, shipped, unpacked_early
from penstock.spark.sources.conforming import MALFORMED_COLUMN, texts
from penstock.spark.sources.direct_files import PATH, read_file
from penstock.spark.sources.narrow_reading import Needed
from penstock.spark.worker import forget_ended, leave_out_modules

GROUP = "penstock_group"
#: Spark handles many messages of a few megabytes better than one of hundreds.
ROWS_PER_MESSAGE = 1 << 18

Batches = Iterator[pa.RecordBatch]
#: Messages, and the groups they go to.
Addressed = Iterator[tuple[Sequence[int], Message]]

_NONE = Preaggregation()


@dataclass(frozen=True)
class Packer:
    """The function that `mapInArrow` runs over each partition of a stream."""

    number: int
    stream: Stream
    keys: PartitionKeys
    groups: Sequence[int]
    preaggregation: Preaggregation = _NONE

    def __reduce__(self) -> tuple[Any, ...]:
        # Filters of a thousand queries take seconds to compile, and every task gets its own code.
        early = packed_early(self.preaggregation)
        return _unpacked, (self.number, self.stream, self.keys, self.groups, early)

    def __call__(self, batches: Batches) -> Batches:
        from pyspark import TaskContext

        context = TaskContext.get()
        if context is None:
            yield from self.run(batches, 0, Told())
            return
        leave_out_modules()
        told = Told.of(context.getLocalProperty(TOLD))
        forget_ended(told.running)
        yield from self._for(told.program).run(batches, context.partitionId(), told)

    def _for(self, program: str) -> Packer:
        """The same for another program than it came with."""
        if not program:
            return self
        early = shipped(program).early[self.stream.name]
        return replace(self, preaggregation=early)

    def run(self, batches: Batches, task: int, told: Told) -> Batches:
        """The messages of one task, as records."""
        for number, (groups, message) in enumerate(self._messages(batches, task, told)):
            yield record_batch(groups, number, message)

    def _messages(self, batches: Batches, task: int, told: Told) -> Addressed:
        """The messages of one task, and the groups they go to."""
        reach("exchange.begin")
        how = self.preaggregation
        since = how.on_time_from(told, self.stream.name)
        hand_over = HandOver(told)
        results = RowResults(self.stream.name, how.queries, told, sends=not how.has_groups)
        folding = Folding(how, len(self.stream.exchanged))
        marker, reached = self.stream.timing.marker, Reached(self.stream)
        count = 0
        all_from = told.on_time_from.get(self.stream.name, END) if how.is_read else BEGINNING
        needed = how.needed(BEGINNING if results.passes_late else all_from, self.stream)
        blocks = (self._blocks(batch, needed, told) for batch in batches)
        for rows, bad in chain.from_iterable(blocks):
            count += rows.height
            if bad is not None and bad.height and how.is_read:
                count += bad.height
                yield self._any_group(task), MalformedRows(self.number, task, payload=to_ipc(bad))
            if marker is not None and rows.get_column(marker).any():
                is_punctuation = rows.get_column(marker).fill_null(False)
                yield from self._punctuation(task, rows.filter(is_punctuation))
                rows = rows.filter(~is_punctuation)
            reached.take(rows)
            if not how.is_read:
                continue
            if since < END and rows.height >= how.least:
                left, ready = self._ready(rows, since, results)
                if folding.take(ready):
                    rows = left
                    yield from self._shared_out(folding.full(), task, hand_over)
                    yield from self._served(results, ready, task)
                    others = how.others.rows(ready)
                    others = others if needed is None else needed.of(others, self.stream)
                    for group, part in self._parts(others, task, self.keys):
                        payload = hand_over.payload(part)
                        yield [group], SharedRows(self.number, task, payload=payload)
                else:
                    # Where a task's rows do not become fewer, those that follow will not either.
                    since = END
            sent = rows if needed is None else needed.of(rows, self.stream)
            for group, part in self._parts(sent, task, self.keys):
                payload = hand_over.payload(part)
                yield [group], RowBlock(self.number, task, payload=payload)
        yield from self._shared_out(folding.rest(), task, hand_over)
        reach("exchange.packed")
        if count:
            yield from self._progress(task, reached, count)
        if count and not how.has_groups:
            late, oldest, operators = results.figures()
            yield self.groups, RowFigures(self.number, task, late, oldest, operators)
        reach("exchange.over")

    def _blocks(
        self, batch: pa.RecordBatch, needed: Needed | None, told: Told
    ) -> Iterator[tuple[pl.DataFrame, pl.DataFrame | None]]:
        """Rows that can go in, and malformed ones as text."""
        if not batch.num_rows:
            return
        now = told.now
        if PATH in batch.schema.names:
            skipped = frozenset(told.unreadable.get(self.stream.name, ()))
            for path in batch.column(PATH).to_pylist():
                if skipped and str(local_path(path)) in skipped:
                    continue
                for block in read_file(path, self.stream, needed):
                    yield self._not_ahead(block.rows, block.rejected, now)
        else:
            rows = pl.from_arrow(pa.Table.from_batches([batch]))
            assert isinstance(rows, pl.DataFrame)
            rows = rows.with_columns(
                pl.col(column.name).cast(polars_type(column.type))
                for column in self.stream.read_by_spark
                if column.type.is_nested and column.name in rows.columns
            )
            good, bad = self._apart(rows) if MALFORMED_COLUMN in rows.columns else (rows, None)
            yield self._not_ahead(with_derived(good, self.stream), bad, now)

    def _apart(self, rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The rows that fit, and the malformed ones as text."""
        marks = rows.get_column(MALFORMED_COLUMN)
        good = rows.drop(MALFORMED_COLUMN)
        names = [column.name for column in self.stream.arriving]
        if marks.null_count() == rows.height:
            return good, texts((), names)
        return good.filter(marks.is_null()), texts(marks.drop_nulls(), names)

    def _not_ahead(
        self, rows: pl.DataFrame, bad: pl.DataFrame | None, now: int | None
    ) -> tuple[pl.DataFrame, pl.DataFrame | None]:
        """Rows from the future would close every window before them: they join the malformed."""
        declared, on = self.stream.timing.max_ahead, self.stream.timestamp
        limit = self.preaggregation.max_jump if declared is None else declared
        if limit is None or on is None or now is None:
            return rows, bad
        times = rows.get_column(on)
        if not may_be_future(times, now, now, limit):
            return rows, bad
        ahead = is_ahead(times, now, limit)
        if not ahead.any():
            return rows, bad
        told = as_future(self.stream, rows.filter(ahead))
        return rows.filter(~ahead), told if bad is None else pl.concat([bad, told])

    def _parts(
        self, rows: pl.DataFrame, task: int, keys: PartitionKeys
    ) -> Iterator[tuple[int, pl.DataFrame]]:
        """The rows of each group that has any, by what the keys are called in them."""
        if not rows.height:
            return
        if keys is None:
            yield self.groups[task % len(self.groups)], rows
        elif not keys or len(self.groups) == 1:
            yield self.groups[0], rows
        else:
            marked = rows.with_columns(spread(rows, keys, len(self.groups)).alias(GROUP))
            parts = marked.partition_by(GROUP, include_key=False, as_dict=True)
            for (place,), part in parts.items():
                yield self.groups[place], part

    def _ready(
        self, rows: pl.DataFrame, since: int, results: RowResults
    ) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Rows that must be looked at in the groups, and those that are on time."""
        times = rows.get_column(str(self.stream.timestamp))
        times = times.cast(pl.Int64)  # which holds all bounds
        first = BEGINNING if results.passes_late else since
        is_ready = ((times >= first) & (times < END)).fill_null(False)
        if first < since:
            results.note_late(times.filter(is_ready & (times < since)))
        if is_ready.all():
            return rows.clear(), rows
        return rows.filter(~is_ready), rows.filter(is_ready)

    def _served(self, results: RowResults, rows: pl.DataFrame, task: int) -> Addressed:
        """Results of queries that look at single rows, for some group or the driver to hand on."""
        groups = self._any_group(task)
        for query, count, content in results.of(rows):
            if isinstance(content, bytes):
                yield groups, StagedResults(self.number, task, count, payload=content)
                continue
            for part in content.iter_slices(ROWS_PER_MESSAGE):
                payload = to_ipc(part)
                yield groups, QueryResults(self.number, task, query, part.height, payload=payload)

    def _shared_out(self, folded: Iterable[Partials], task: int, hand_over: HandOver) -> Addressed:
        """Partial aggregates to the groups they belong to."""
        for aggregates, partials, rows in folded:
            left, of = rows, partials.height
            for group, part in self._parts(partials, task, aggregates.keys):
                share = left if part.height == of else round(left * part.height / of)
                left, of = left - share, of - part.height
                number, payload = aggregates.number, hand_over.payload(part)
                yield [group], PartialAggregates(self.number, task, number, share, payload=payload)

    def _progress(self, task: int, reached: Reached, rows: int) -> Addressed:
        """How far a task has come."""
        foremost = reached.foremost
        payload = to_ipc(foremost.to_frame()) if foremost.len() else b""
        yield self.groups, TaskProgress(self.number, task, reached.newest, rows, payload=payload)
        for column, newest in reached.newest_of.items():
            yield self.groups, FurtherProgress(self.number, task, column, newest)

    def _punctuation(self, task: int, rows: pl.DataFrame) -> Addressed:
        # What is computed of such a row says nothing about others.
        payload = to_ipc(rows.drop(each.name for each in self.stream.computed))
        first, *others = self.groups
        yield [first], PunctuationRows(self.number, task, reports=True, payload=payload)
        if others:
            yield others, PunctuationRows(self.number, task, reports=False, payload=payload)

    def _any_group(self, task: int) -> list[int]:
        """Some group, which hands a message on; another one for each task."""
        return [self.groups[task % len(self.groups)]]


def _unpacked(
    number: int, stream: Stream, keys: PartitionKeys, groups: Sequence[int], early: bytes
) -> Packer:
    return Packer(number, stream, keys, groups, unpacked_early(early))
