"""Calibrate: how fast this machine computes windows, in each way there is, by our own operators.

Streams of a fixed seed go through both ways to compute windows, with panes, groups and functions
that differ. All costs of a way are those of the reference machine (`optimizer/cost/costs.py`) times
what the samples of that way take, compared with their estimate. Times are of the processor, the
better of two runs: what else the machine does counts as little as can be. It takes some seconds.
"""

from __future__ import annotations

import time
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
from penstock.model.expressions import Ref
from penstock.model.punctuation import Punctuation
from penstock.model.schema import Column
from penstock.model.streams import Stream, TimestampKind
from penstock.model.types import Type
from penstock.optimizer.build import build
from penstock.optimizer.cost.aggregation import WID, Load, way_of_panes, work
from penstock.optimizer.cost.costs import REFERENCE
from penstock.optimizer.optimize import optimize
from penstock.optimizer.options import Options
from penstock.plan import nodes
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
    return {
        way: [median(speeds[way]) * cost for cost in costs]
        for way, costs in REFERENCE.units.items()
    }


def _seconds(sample: Sample, aggregation: str) -> float:
    """How long the operators take for a sample."""
    columns = (Column("k", Type.BIGINT), Column("v", Type.BIGINT), Column("ts", Type.BIGINT))
    stream = Stream("s", columns, TimestampKind.EXTERNAL, "ts")
    result = nodes.Result("x", sample.aggregate)
    plan = nodes.WindowAggregate(nodes.Source(stream), sample.window, ("k",), (result,))
    graph = Graph()
    source = graph.add_source("s")
    [physical] = optimize({"q": plan}, Options(aggregation=aggregation)).plans.values()
    sink = graph.add_sink("q", build(physical, graph, lambda spec: source))
    describe(graph)
    executor = Executor(graph)
    rows = _rows(sample)
    begun = time.process_time()
    for block in rows.iter_slices(BLOCK):
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
