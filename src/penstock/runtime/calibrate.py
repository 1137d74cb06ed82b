"""Calibrate: how fast this machine computes windows, in each way there is, and joins, by our own
operators.

Streams of a fixed seed go through both ways to compute windows, with panes, groups and functions
that differ. All costs of a way are those of the reference machine (`optimizer/cost/costs.py`) times
what the samples of that way take, compared with their estimate; of joins each cost is measured by
itself, for it depends on a machine how much more some take than others. Times are of the processor,
the better of two runs: what else the machine does counts as little as can be. It takes some
seconds.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from statistics import median

import numpy as np
import polars as pl

from penstock.kernel.aggregation.aggregate_set import AggregateSet
from penstock.kernel.block import Block
from penstock.kernel.graph import Graph
from penstock.kernel.progress.describe import describe
from penstock.kernel.scheduling.executor import Executor
from penstock.model.aggregates import Aggregate
from penstock.model.distances import within
from penstock.model.expressions import Expression, Named, Ref
from penstock.model.punctuation import Punctuation
from penstock.model.schema import Column
from penstock.model.streams import Stream, TimestampKind
from penstock.model.types import Type
from penstock.optimizer.build import build
from penstock.optimizer.cost.aggregation import WID, Load, way_of_panes, work
from penstock.optimizer.cost.costs import JOIN, REFERENCE
from penstock.optimizer.cost.joins import JoinUnits, tree_cost
from penstock.optimizer.joins.join_graph import JoinGraph
from penstock.optimizer.joins.join_tree import JoinTree, at_once, left_deep
from penstock.optimizer.joins.join_windows import JoinWindows
from penstock.optimizer.joins.tactic import MJOIN
from penstock.optimizer.optimize import optimize
from penstock.optimizer.options import WRITTEN, Options
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
    """Streams of as many rows, a row a tick, that join within a window by one of many keys.

    `chain`: each with the next by a key of these two, so that an MJoin asks by what it has found.
    `in_twos`: by joins of two, of which the second reads the first.
    """

    keys: int
    rows: int = 100_000
    window: int = 10_000
    block: int = BLOCK
    streams: int = 2
    chain: bool = False
    in_twos: bool = False

    @property
    def tree(self) -> JoinTree:
        return left_deep(self.streams) if self.in_twos else at_once(self.streams)

    @property
    def graph(self) -> JoinGraph:
        """What the cost model knows of it."""
        all_pairs = [*combinations(range(self.streams), 2)]
        joined = [*pairwise(range(self.streams))] if self.chain else all_pairs
        pairs = dict.fromkeys(joined, 1 / self.keys)
        bands = dict.fromkeys(all_pairs, (-self.window - 0.5, self.window + 0.5))
        everyone = (1 << self.streams) - 1
        return JoinGraph(
            (1.0,) * self.streams,
            pairs,
            JoinWindows(self.streams, bands, whole_runs=True),
            (24.0,) * self.streams,
            (everyone,) if self.streams > 2 and not self.chain else (),
            frozenset(pairs),
            (1 / self.block,) * self.streams,
        )

    @property
    def work(self) -> list[float]:
        """How many units of each kind there are, by the model."""
        alone = map(JoinUnits.of_kinds, np.eye(JoinUnits.KINDS).tolist())
        return [self.rows * tree_cost(self.graph, self.tree, each).processor for each in alone]


#: Small blocks and large ones, few runs and many, hardly a pair and a hundred a row, two inputs and
#: three, with one key and two, all at once and two by two.
JOINS = (
    JoinSample(1_000_000, rows=20_000, window=1_000, block=200),
    JoinSample(1_000_000, rows=60_000, window=10_000, block=2_000),
    JoinSample(1_000, rows=20_000, window=1_000, block=200),
    JoinSample(4_000, rows=60_000, window=10_000, block=2_000),
    JoinSample(1_000_000, rows=400_000, window=10_000, block=50_000),
    JoinSample(1_000_000, window=100_000, rows=300_000),
    JoinSample(10_000),
    JoinSample(1_000),
    JoinSample(20_000, streams=3),
    JoinSample(4_000, rows=50_000, block=5_000, streams=3),
    JoinSample(1_500, rows=30_000, block=10_000, streams=3),
    JoinSample(20_000, rows=60_000, streams=3, chain=True),
    JoinSample(4_000, rows=40_000, block=5_000, streams=3, chain=True),
    JoinSample(2_000, rows=20_000, window=4_000, block=1_000, streams=3, chain=True),
    JoinSample(8_000, rows=60_000, block=15_000, streams=3, chain=True, in_twos=True),
    JoinSample(1_200, rows=20_000, block=10_000, streams=3, chain=True, in_twos=True),
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
    found = {
        way: [median(speeds[way]) * cost for cost in costs]
        for way, costs in REFERENCE.units.items()
        if way != JOIN
    }
    return {**found, JOIN: calibrated_join([join_samples() for _ in range(RUNS)])}


#: Of several runs, so many are quicker than what counts.
QUICK = 0.25
#: How much the reference counts beside what was measured, so that noise makes no cost vanish.
_PRIOR = 0.02


def join_samples() -> list[float]:
    """How long each sample of joins takes just now."""
    return [*map(seconds_of_join, JOINS)]


def calibrated_join(runs: Sequence[Sequence[float]]) -> list[float]:
    """What joins cost on this machine, in the order of `Costs`, by how long samples
    took in each of several runs.

    By least squares of relative errors: samples differ in what they have most of. Of several runs
    the quick ones count, but not the quickest, which is an exception, too.
    """
    work = np.array([sample.work for sample in JOINS])
    seconds = np.quantile(runs, QUICK, axis=0)
    reference = np.array(REFERENCE.units[JOIN])
    took = 1e6 * seconds
    speed = median(took / (work @ reference))
    # Unknown is how much more than the reference, at the machine's speed, each kind costs.
    known = work * reference * speed / took[:, None]
    prior = np.sqrt(_PRIOR) * np.eye(len(reference))
    factors, *_ = np.linalg.lstsq(
        np.vstack([known, prior]), np.append(np.ones(len(took)), np.diag(prior)), rcond=None
    )
    return [float(cost) for cost in reference * speed * np.maximum(factors, 0.1)]


def _seconds(sample: Sample, aggregation: str) -> float:
    """How long the operators take for a sample."""
    result = nodes.Result("x", sample.aggregate)
    source = nodes.Source(_stream("s"))
    plan = nodes.WindowAggregate(source, sample.window, ("k",), (result,))
    return _run(plan, Options(aggregation=aggregation), {"s": _rows(sample)})


def seconds_of_join(sample: JoinSample) -> float:
    """How long a join takes for a sample."""
    names = "abc"[: sample.streams]
    band = Band(-sample.window, sample.window)
    edges = tuple(nodes.Edge("a.ts", f"{name}.ts", band) for name in names[1:])
    apart = [bounds for pair in combinations(names[1:], 2) for bounds in _within(*pair, band)]
    inputs = tuple(nodes.Source(_stream(name)) for name in names)
    if sample.chain:
        equal = tuple((f"{one}.v", f"{next_}.k") for one, next_ in pairwise(names))
    else:
        equal = tuple(("a.k", f"{name}.k") for name in names[1:])
    join = nodes.Join(inputs, tuple(names), edges, equal, tuple(apart))
    plan = nodes.Project(join, tuple(Named(name, _of(name, "v")) for name in names))
    draw = np.random.default_rng(7)
    times = np.arange(sample.rows)
    streams = {}
    for name in names:
        keys, values = draw.integers(0, sample.keys, (2, sample.rows))
        streams[name] = pl.DataFrame({"k": keys, "v": values, "ts": times})
    options = Options(join_order=WRITTEN) if sample.in_twos else Options(join=MJOIN)
    return _run(plan, options, streams, sample.block)


def _within(one: str, other: str, band: Band) -> Iterable[Expression]:
    return within(_of(one, "ts"), _of(other, "ts"), band.low, band.high)


def _of(name: str, column: str) -> Ref:
    return Ref(f"{name}.{column}", Type.BIGINT)


def _stream(name: str) -> Stream:
    columns = (Column("k", Type.BIGINT), Column("v", Type.BIGINT), Column("ts", Type.BIGINT))
    return Stream(name, columns, TimestampKind.EXTERNAL, "ts")


def _run(
    plan: nodes.Node, options: Options, streams: Mapping[str, pl.DataFrame], size: int = BLOCK
) -> float:
    """How long a plan takes for streams that come in turn, block by block."""
    graph = Graph()
    sources = {name: graph.add_source(name) for name in streams}
    [physical] = optimize({"q": plan}, options).plans.values()
    sink = graph.add_sink("q", build(physical, graph, lambda spec: sources[spec.stream.name]))
    describe(graph)
    executor = Executor(graph)
    begun = time.process_time()
    for blocks in zip(*(rows.iter_slices(size) for rows in streams.values()), strict=True):
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
