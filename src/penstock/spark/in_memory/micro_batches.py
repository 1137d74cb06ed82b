"""Pipelines without Spark: the exchange, one processor per group, state in dicts.

Events are cut into micro-batches, the rows of each stream in one into tasks, those of a task into
blocks. Where Spark would hash the partitioning keys, any function of them will do. A batch brings
first its rows, then punctuation from outside, on the control stream.

Groups run on workers that come and go. Each keeps graphs and segments of its own, all share one
folder; an attempt that failed has run on one of them, and only its state is thrown away. So it is
with one that runs into a fault (`faults`): it is made again, by a worker that remembers nothing if
that one was killed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import polars as pl
import pyarrow as pa
from pyspark.sql import Row as SparkRow

from penstock.kernel.types import polars_type
from penstock.model.streams import Stream
from penstock.model.timestamps import BEGINNING
from penstock.optimizer.physical import Program
from penstock.spark import processor
from penstock.spark.alive_graphs import AliveGraphs
from penstock.spark.control.told import Told
from penstock.spark.delivery.delivery import PROGRESS, RESULT, SEVERAL, output_rows
from penstock.spark.delivery.group_reports import GroupReport
from penstock.spark.exchange.exchange import Packer
from penstock.spark.exchange.messages import CONTROL, SCHEMA, ControlLine, Record, record_batch
from penstock.spark.exchange.preaggregation import SAMPLE, folds_for, for_streams, on_time_in
from penstock.spark.faults import InjectedFault
from penstock.spark.in_memory.state_store import FakeStateStore
from penstock.spark.placement.partitioning import PartitionKeys
from penstock.spark.processor import GroupProcessor
from penstock.spark.rows.choice import row_queries
from penstock.spark.state.segment_cache import SegmentCache

Row = dict[str, Any]
T = TypeVar("T")
#: How often a task is tried.
TRIES = 4
#: The rows of one stream in one micro-batch: tasks of blocks.
Tasks = Sequence[Sequence[Sequence[Row]]]


@dataclass
class MicroBatch:
    """What one micro-batch brings."""

    rows: Mapping[str, Tasks] = field(default_factory=dict)
    bounds: Mapping[str, int] = field(default_factory=dict)

    def arrived(self, stream: str) -> list[Row]:
        """The rows of a stream in the order of their tasks and blocks."""
        return [row for blocks in self.rows.get(stream, ()) for block in blocks for row in block]


@dataclass
class Exchange:
    """Which rows go to which of the groups; `salt` chooses among functions of the keys.

    Rows are aggregated here wherever they may be, in one piece or two, whether or not it pays.
    """

    program: Program
    keys: Mapping[str, PartitionKeys]
    groups: Sequence[int]
    salt: int = 0
    has_groups: bool = True

    def __post_init__(self) -> None:
        queries = for_streams if self.has_groups else row_queries
        self.early = queries(self.program.live, self.keys)

    def messages(self, batch: MicroBatch, told: Told) -> list[Record]:
        """Everything that the exchange hands over in one micro-batch."""
        found = [
            message
            for number, stream in enumerate(self.program.streams)
            for task, blocks in enumerate(batch.rows.get(stream.name, ()))
            for message in self._packed(number, stream, task, blocks, told)
        ]
        return found + (control_messages(self.groups, batch.bounds) if batch.bounds else [])

    def _packed(
        self, number: int, stream: Stream, task: int, blocks: Sequence[Sequence[Row]], told: Told
    ) -> list[Record]:
        batches = (block_of(stream, block) for block in blocks)
        turn = self.salt % len(self.groups)
        groups = [*self.groups[turn:], *self.groups[:turn]]
        sample = 2 if self.salt % 2 else SAMPLE
        early = self.early[stream.name]
        early = replace(early, sample=sample, least=1, gain=0, gain_of_sets=0)
        packer = Packer(number, stream, self.keys[stream.name], groups, early)
        packed = pa.Table.from_batches(list(packer.run(batches, task, told)), schema=SCHEMA)
        return [Record(**each) for each in packed.to_pylist()]


def block_of(stream: Stream, rows: Sequence[Row]) -> pa.RecordBatch:
    """Rows as Spark hands them to the exchange: times in ticks."""
    columns = (*stream.read_by_spark, *(c for c in stream.columns if c.name in stream.stamped))
    schema = {column.name: polars_type(column.type) for column in columns}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    table = frame.to_arrow(compat_level=pl.CompatLevel.oldest()).combine_chunks()
    return table.to_batches()[0] if rows else pa.RecordBatch.from_pylist([], schema=table.schema)


def control_messages(groups: Sequence[int], bounds: Mapping[str, int]) -> list[Record]:
    """What the control stream hands over when these bounds are new."""
    line = ControlLine(CONTROL, 0, payload=json.dumps(dict(bounds)).encode())
    return [Record(**each) for each in record_batch(groups, 0, line).to_pylist()]


@dataclass
class Worker:
    """A Python worker of Spark: what it keeps between batches."""

    folder: Path | None

    def __post_init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """What is left of a process that was killed: nothing but what it shared."""
        self.alive = AliveGraphs()
        self.caches = {"": SegmentCache(self.folder)}

    def run(
        self, program: Program, group: int, store: FakeStateStore, messages: Sequence[Record]
    ) -> GroupOutput:
        """Attempt a batch of one group; what it keeps goes to `store`."""
        with self._at_work():
            operator = GroupProcessor(program)
            operator.init(store.handle())
            return GroupOutput(list(operator.handleInputRows((group,), iter(messages), None)))

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        """What a process keeps of its own, this worker has."""
        theirs = processor._ALIVE, processor._CACHES
        processor._ALIVE, processor._CACHES = self.alive, self.caches
        try:
            yield
        finally:
            processor._ALIVE, processor._CACHES = theirs


@dataclass
class GroupOutput:
    """What a processor handed out."""

    messages: list[SparkRow]

    def blocks(self, kind: str, name: str) -> Iterator[pl.DataFrame]:
        for message in self.messages:
            if message.kind != SEVERAL and (message.kind, message.name) != (kind, name):
                continue
            lines = output_rows(message.g, message.name, message.kind, message.payload)
            yield from (rows for _, whose, of, rows in lines if (of, whose) == (kind, name))

    def report(self) -> GroupReport:
        """What the group reports."""
        (message,) = (message for message in self.messages if message.kind == PROGRESS)
        return GroupReport.of(message.payload)

    def rows(self, kind: str, name: str) -> list[Row]:
        return [row for block in self.blocks(kind, name) for row in block.to_dicts()]


class Killed(InjectedFault):
    """A worker was killed; so `faults.kill` is played where all of them are one process."""

    @classmethod
    def now(cls, process: int) -> None:
        raise cls(f"process {process} was killed")


def until_it_works(attempt: Callable[[], T]) -> T:
    """As Spark tries a task: again, a few times."""
    for _ in range(TRIES - 1):
        with suppress(InjectedFault):
            return attempt()
    return attempt()


class FakePipeline:
    """A program over its groups, batch for batch; rows go to them through `memory`, if given.

    Blocks of fewer bytes than `shared_from` travel in messages all the same.
    """

    def __init__(
        self, exchange: Exchange, memory: Path | None = None, shared_from: int = 0
    ) -> None:
        self.exchange = exchange
        self._memory, self._shared_from = memory, shared_from
        self.stores = {group: FakeStateStore() for group in exchange.groups}
        self.outputs: list[dict[int, GroupOutput]] = []

    def process(
        self,
        batch: MicroBatch,
        worker: Callable[[int], Worker],
        failed: Callable[[int], Sequence[Worker]] = lambda group: (),
        shuffled: Callable[[list[Record]], list[Record]] = lambda messages: messages,
    ) -> None:
        """A batch, after attempts at it by the workers that `failed` names."""
        told = self.told()
        if self._memory is not None:
            told = replace(told, memory=str(self._memory), shared_from=self._shared_from)
        messages = until_it_works(lambda: self.exchange.messages(batch, told))
        outputs = {}
        for group in self.exchange.groups:
            mine = shuffled([message for message in messages if message.g == group])
            if not mine:
                continue
            for each in failed(group):
                with suppress(InjectedFault):  # a fault may hit it, too
                    each.run(self.exchange.program, group, self.stores[group].copy(), mine)
            outputs[group] = until_it_works(partial(self._attempt, group, worker, mine))
        self.outputs.append(outputs)
        for file in () if self._memory is None else self._memory.iterdir():
            file.unlink()

    def told(self) -> Told:
        """What the driver knows: nothing yet of what a checkpoint holds that is continued."""
        if self.outputs:
            groups = [output.report() for output in self.outputs[-1].values()]
            return Told(on_time_in(groups), folds=folds_for(groups, self.exchange.program.live))
        is_new = not any(store.maps.get("state") for store in self.stores.values())
        return Told(dict.fromkeys(self.exchange.early, BEGINNING) if is_new else {})

    def _attempt(
        self, group: int, worker: Callable[[int], Worker], messages: list[Record]
    ) -> GroupOutput:
        """One group's batch; its state counts only if the worker gets to the end."""
        attempt, chosen = self.stores[group].copy(), worker(group)
        try:
            output = chosen.run(self.exchange.program, group, attempt, messages)
        except Killed:
            chosen.forget()
            raise
        self.stores[group] = attempt
        return output

    def results(self, name: str) -> list[list[pl.DataFrame]]:
        """What all groups put out for a query, batch for batch."""
        return [
            [block for output in outputs.values() for block in output.blocks(RESULT, name)]
            for outputs in self.outputs
        ]

    def rows(self, kind: str, name: str, batches: slice = slice(None)) -> list[Row]:
        """What all groups put out."""
        return [
            row
            for outputs in self.outputs[batches]
            for output in outputs.values()
            for row in output.rows(kind, name)
        ]
