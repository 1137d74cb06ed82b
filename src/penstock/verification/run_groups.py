"""A case through Spark's host, without Spark: micro-batches, tasks, groups, lost workers."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import polars as pl

from penstock.model.streams import Stream
from penstock.model.timestamps import END
from penstock.plan.nodes import Node, Ordered
from penstock.spark import faults
from penstock.spark.exchange.messages import Record
from penstock.spark.in_memory.micro_batches import (
    Exchange,
    FakePipeline,
    Killed,
    MicroBatch,
    Worker,
)
from penstock.spark.in_memory.row_batches import FakeRowPipeline
from penstock.spark.placement.groups import group_keys
from penstock.spark.placement.pipeline_groups import PipelineGroup, assign_pipelines
from penstock.spark.rows.host import GROUP
from penstock.verification.case import Batch, Row, VerificationCase, cut, rows_of
from penstock.verification.script import Script
from penstock.verification.ways import Way

#: Where a worker may fail, be killed, or do a step twice.
_POINTS = sorted({**faults.IN_EXCHANGE, **faults.IN_GROUP})
#: The same where there are no groups.
_POINTS_OF_ROWS = sorted({**faults.IN_EXCHANGE, **faults.IN_ROWS})


def run_groups(
    script: Script, case: VerificationCase, way: Way, queries: Sequence[str] | None = None
) -> dict[str, list[Row]]:
    """What each query has put out once all streams have ended."""
    chance = random.Random(f"{way.seed} groups")
    found: dict[str, list[Row]] = {}
    planned = script.declared(way.settings, queries)
    options = {
        each.name: replace(
            each.options,
            strategy=way.strategy,
            rows_per_step=way.rows_per_step,
            ets_by=way.ets_by,
        )
        for each in planned
    }
    for group in assign_pipelines({each.name: each.plan for each in planned}, options):
        found |= _run_group(group, case, way, chance)
    return found


def _run_group(
    group: PipelineGroup, case: VerificationCase, way: Way, chance: random.Random
) -> dict[str, list[Row]]:
    program = group.program()
    streams = {stream.name: stream for stream in program.streams}
    keys = group_keys(way.groups, way.groups)
    salt = chance.randrange(4)
    end = MicroBatch(bounds=dict.fromkeys(streams, END))
    batches = [*(_micro_batch(batch, streams, chance) for batch in case.batches), end]
    with tempfile.TemporaryDirectory() as folder:
        if not group.form(program).has_groups:
            exchange = Exchange(program, group.keys, [GROUP], salt, has_groups=False)
            rows = FakeRowPipeline(exchange, Path(folder) / "rows")
            _process_rows(rows, batches, Path(folder), way, chance)
            lines = [rows.results(name) for name in program.queries]
        else:
            pipeline = FakePipeline(Exchange(program, group.keys, keys, salt))
            _process(pipeline, batches, Path(folder), way, chance)
            lines = [pipeline.results(name) for name in program.queries]
    queries = program.queries.items()
    return {
        name: _answer(plan, results) for (name, plan), results in zip(queries, lines, strict=True)
    }


def _answer(plan: Node, batches: Iterable[Sequence[pl.DataFrame]]) -> list[Row]:
    """What was put out, batch for batch; the driver puts a batch in order."""
    found: list[Row] = []
    for blocks in batches:
        rows = [row for block in blocks for row in rows_of(block)]
        if isinstance(plan, Ordered):
            rows.sort(key=lambda row: (row[plan.on] is not None, row[plan.on] or 0))
        found += rows
    return found


def _process_rows(
    pipeline: FakeRowPipeline,
    batches: Sequence[MicroBatch],
    folder: Path,
    way: Way,
    chance: random.Random,
) -> None:
    """Batches without groups; with losses, the driver fails at some step, or starts anew."""
    if not way.loses_workers:
        for batch in batches:
            pipeline.process(batch)
        return
    with _faults(folder / "faults"):
        for batch in batches:
            if chance.random() < 0.2:
                pipeline.restart()
            _arm(folder / "faults", _POINTS_OF_ROWS, chance)
            pipeline.process(batch)


def _process(
    pipeline: FakePipeline,
    batches: Sequence[MicroBatch],
    folder: Path,
    way: Way,
    chance: random.Random,
) -> None:
    if way.loses_workers:
        with _faults(folder / "faults"):
            _process_with_losses(pipeline, batches, folder, chance)
    else:
        worker = Worker(None)
        for batch in batches:
            pipeline.process(batch, worker=lambda group: worker)


def _arm(folder: Path, points: Sequence[str], chance: random.Random) -> None:
    """In every other batch have one step fail, be done twice, or be its process's last."""
    faults.disarm(folder)
    if chance.random() < 0.5:
        action = chance.choice(("fail", "kill", "repeat"))
        faults.arm(folder, chance.choice(points), action, occurrence=chance.choice((1, 1, 2, 3)))


def _process_with_losses(
    pipeline: FakePipeline, batches: Sequence[MicroBatch], folder: Path, chance: random.Random
) -> None:
    """Every group goes to any worker, after attempts that failed; now and then all start anew."""
    workers: list[Worker] = []

    def some(group: int) -> Worker:
        return chance.choice(workers)

    def failed(group: int) -> Sequence[Worker]:
        return chance.sample(workers, chance.choice((0, 0, 0, 1, 2)))

    def shuffled(lines: list[Record]) -> list[Record]:
        return chance.sample(lines, len(lines))

    for batch in batches:
        if not workers or chance.random() < 0.2:
            workers[:] = [Worker(folder), Worker(folder), Worker(None)]
        _arm(folder / "faults", _POINTS, chance)
        pipeline.process(batch, some, failed, shuffled)


@contextmanager
def _faults(folder: Path) -> Iterator[None]:
    """Let fault points look into a folder; all workers are this process, so none is killed."""
    before, kill = faults.folder(), faults.kill
    faults.use(folder)
    faults.kill = Killed.now
    try:
        yield
    finally:
        faults.kill = kill
        faults.use(before)


def _micro_batch(batch: Batch, streams: Mapping[str, Stream], chance: random.Random) -> MicroBatch:
    """Rows cut into tasks, and those of a task into blocks."""
    rows = {name: batch.of(stream) for name, stream in streams.items()}
    tasks = {
        name: [_cut(task, chance) for task in _cut(mine, chance)] for name, mine in rows.items()
    }
    bounds = {name: bound for name, bound in batch.bounds.items() if name in streams}
    return MicroBatch(tasks, bounds)


def _cut(rows: Sequence[Row], chance: random.Random) -> list[tuple[Row, ...]]:
    """The rows in order, in up to three pieces; there may be empty ones."""
    return cut(rows, [chance.randint(0, len(rows)) for _ in range(chance.choice((0, 0, 1, 2)))])
