"""Calibrate: how fast this machine computes windows, in each way there is, and joins, by our own
operators.

Streams of a fixed seed go through both ways to compute windows, with panes, groups and functions
that differ. All costs of a way are those of the reference machine (`optimizer/cost/costs.py`) times
what the samples of that way take, compared with their estimate. Times are of the processor, the
better of two runs: what else the machine does counts as little as can be. It takes some seconds.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

import numpy as np
import polars as pl

from penstock.kernel.aggregation.aggregate_set import AggregateSet
from penstock.kernel.block import Block
from penstock.kernel.graph import Graph
from penstock.kernel.progress.describe import describe
from penstock.kernel.scheduling.executor import Executor
from penstock.model.aggregates import Aggregate
from penstock.model.expressions import Named, Ref
from penstock.model.punctuation import Punctuation
from penstock.model.schema import Column
from penstock.model.streams import Stream, TimestampKind
from penstock.model.types import Type
from penstock.optimizer.build import build
from penstock.optimizer.cost.aggregation import WID, Load, way_of_panes, work
from penstock.optimizer.cost.costs import JOIN, REFERENCE
from penstock.optimizer.optimize import optimize
from penstock.optimizer.options import Options
from penstock.plan import nodes
from penstock.windows.bands import Band
from penstock.windows.sliding import Sliding

#: Ticks of all windows, how much longer than that streams are, and rows that come at a time.
RANGE, LENGTH, BLOCK = 600, 2, 20_000
RUNS = 2

_V = Ref("v", Type.BIGINT)
_COUNT, _MAX, _STDDEV = Aggregate("count"), Aggregate("max", _V), Aggregate("stddev_samp", _V)


@dataclass(frozen=True)
class Sample:
    """A stream and a window over it."""

    aggregate: Aggregate
    panes: int
    groups: int
    rows: int  # of a window

    @property
    def window(self) -> Sliding:
        return Sliding("ts", RANGE, RANGE // self.panes, unit="number")

    @property
    def load(self) -> Load:
        return Load(self.rows / self.panes, BLOCK, self.groups, seen=True)


#: Every way to compute windows in some that lie far apart.
SAMPLES = (
    *(Sample(each, 10, 1, 300_000) for each in (_COUNT, _MAX, _STDDEV)),
    *(Sample(each, 60, 100, 300_000) for each in (_COUNT, _MAX, _STDDEV)),
    *(Sample(each, 12, 10_000, 300_000) for each in (_COUNT, _MAX, _STDDEV)),
    *(Sample(each, 60, 10_000, 60_000) for each in (_COUNT, _MAX)),  # too sparse for a table
)


@dataclass(frozen=True)
class JoinSample:
    """Two streams of as many rows, a row a tick, that join within a window by one of many keys."""

    keys: int
    rows: int = 200_000
    window: int = 10_000

    @property
    def work(self) -> tuple[float, float, float, float]:
        """Rows that are stored and forgotten, pairs, and rows that look for partners."""
        rows = 2 * self.rows
        return rows, rows, rows * self.window / self.keys, rows


#: Few pairs, a pair a row, and ten.
JOINS = (JoinSample(1_000_000), JoinSample(10_000), JoinSample(1_000))


def calibrated() -> dict[str, list[float]]:
    """The costs of this machine, by way to compute windows."""
    speeds: dict[str, list[float]] = {way: [] for way in REFERENCE.units}
    for sample in SAMPLES:
        slides = sample.panes * LENGTH
        columns = len(AggregateSet((), [("x", sample.aggregate)]).partials)
        rows, aggregates = sample.load.rows_per_slide, [sample.aggregate]
        paned = way_of_panes(sample.window, aggregates, rows, sample.groups)
        for aggregation, way in (("wid", WID), ("paned", paned)):
            each = work(way, sample.window, columns, sample.load, sample.groups)
            seconds = min(_seconds(sample, aggregation) for _ in range(RUNS))
            speeds[way].append(seconds * 1e6 / (REFERENCE.of(way, each) * slides))
    for join in JOINS:
        seconds = min(_seconds_of_join(join) for _ in range(RUNS))
        speeds[JOIN].append(seconds * 1e6 / REFERENCE.of(JOIN, join.work))
    return {
        way: [median(speeds[way]) * cost for cost in costs]
        for way, costs in REFERENCE.units.items()
    }


def _seconds(sample: Sample, aggregation: str) -> float:
    """How long the operators take for a sample."""
    result = nodes.Result("x", sample.aggregate)
    source = nodes.Source(_stream("s"))
    plan = nodes.WindowAggregate(source, sample.window, ("k",), (result,))
    return _run(plan, Options(aggregation=aggregation), {"s": _rows(sample)})


def _seconds_of_join(sample: JoinSample) -> float:
    """How long a join takes for a sample."""
    edge = nodes.Edge("a.ts", "b.ts", Band(-sample.window, sample.window))
    inputs = tuple(nodes.Source(_stream(name)) for name in "ab")
    join = nodes.Join(inputs, ("a", "b"), (edge,), (("a.k", "b.k"),))
    values = (Named(name, Ref(f"{name}.v", Type.BIGINT)) for name in "ab")
    plan = nodes.Project(join, tuple(values))
    draw = np.random.default_rng(7)
    columns = [(name, draw.integers(0, sample.keys, sample.rows)) for name in "ab"]
    times = np.arange(sample.rows)
    streams = {name: pl.DataFrame({"k": keys, "v": keys, "ts": times}) for name, keys in columns}
    return _run(plan, Options(), streams)


def _stream(name: str) -> Stream:
    columns = (Column("k", Type.BIGINT), Column("v", Type.BIGINT), Column("ts", Type.BIGINT))
    return Stream(name, columns, TimestampKind.EXTERNAL, "ts")


def _run(plan: nodes.Node, options: Options, streams: Mapping[str, pl.DataFrame]) -> float:
    """How long a plan takes for streams that come in turn, block by block."""
    graph = Graph()
    sources = {name: graph.add_source(name) for name in streams}
    [physical] = optimize({"q": plan}, options).plans.values()
    sink = graph.add_sink("q", build(physical, graph, lambda spec: sources[spec.stream.name]))
    describe(graph)
    executor = Executor(graph)
    begun = time.process_time()
    for blocks in zip(*(rows.iter_slices(BLOCK) for rows in streams.values()), strict=True):
        for source, block in zip(sources.values(), blocks, strict=True):
            source.output.batch(Block(block))
            executor.run_until_idle()
            source.output.punctuation(Punctuation("ts", int(block.get_column("ts")[-1])))
            executor.run_until_idle()
        while not sink.empty:
            sink.take()
    return time.process_time() - begun


def _rows(sample: Sample) -> pl.DataFrame:
    draw = np.random.default_rng(7)
    count = sample.rows * LENGTH
    return pl.DataFrame(
        {
            "k": draw.integers(0, sample.groups, count),
            "v": draw.integers(0, 1000, count),
            "ts": np.arange(count) * RANGE // sample.rows,
        }
    )
