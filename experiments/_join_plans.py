"""Plans of one join on our operators: processor time, stored rows and results, second by second.

The published sets: streams A, B, C (D) in a chain, Poisson arrivals, one window for all pairs. A
predicate holds for a share σ of all pairs and is not an equality, so operators compare every pair
in the window, as nested loops do. Rows come a second at a time, a stream after the other.

The published machine had a processor of 1.5 GHz and heaps of 30 or 300 MB, and a plan was too slow
where that was too little. Here the processor is scaled so that the fastest plan of a set is busy
for 60 % of the time; work then waits in a queue, and what is done by the end counts. Memory counts
in stored rows. Set 4 has a quarter of the rates and four times the selectivities, which keeps all
sizes in proportion.  Spec: dynamic-optimization 5.1.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise

import numpy as np
import polars as pl

from penstock.catalog.catalog import Catalog
from penstock.kernel.block import Block
from penstock.kernel.graph import Graph
from penstock.kernel.progress.describe import describe
from penstock.kernel.scheduling.executor import Executor
from penstock.model.punctuation import Punctuation
from penstock.model.timestamps import SECOND
from penstock.optimizer.build import build
from penstock.optimizer.join_statistics import InputFigures, JoinStatistics, PairFigures
from penstock.optimizer.joins.flat_join import flat_join
from penstock.optimizer.joins.join_graph import JoinGraph
from penstock.optimizer.measured_joins import joins_of, measured_join
from penstock.optimizer.optimize import optimize
from penstock.optimizer.options import Options
from penstock.optimizer.statistics import Statistics
from penstock.plan.nodes import Node
from penstock.runtime.declarations import apply
from penstock.sql.parse.parser import parse

NAMES = "abcd"
#: So often plans of a set run; of every second the quickest run counts.
ROUNDS = {1: 5, 2: 3, 3: 3}
#: How much of the time the fastest plan is busy.
BUSY = 0.6


@dataclass(frozen=True)
class JoinSet:
    """Rates a second, selectivities along the chain, the window in seconds, and for how long.

    `equal`: predicates are equalities of keys, of which there are 1/σ. Rows come in so many blocks
    a second.
    """

    rates: tuple[float, ...]
    selectivities: tuple[float, ...]
    window: int
    seconds: int
    equal: bool = False
    blocks: int = 1

    @property
    def graph(self) -> JoinGraph:
        pairs = {(n, n + 1): share for n, share in enumerate(self.selectivities)}
        return JoinGraph.within(self.rates, pairs, self.window)

    @property
    def sql(self) -> str:
        names = NAMES[: len(self.rates)]
        streams = "".join(
            f"CREATE STREAM {name} (p BIGINT, n BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;"
            for name in names
        )
        inputs = ", ".join(f"{name} [RANGE {self.window} SECONDS]" for name in names)
        where = " AND ".join(
            f"{NAMES[i]}.n = {NAMES[i + 1]}.p"
            if self.equal
            else f"({NAMES[i]}.n + {NAMES[i + 1]}.p) % 1000 < {round(1000 * share)}"
            for i, share in enumerate(self.selectivities)
        )
        return f"{streams}CREATE QUERY q AS SELECT a.n AS n FROM {inputs} WHERE {where}"

    @property
    def plan(self) -> Node:
        catalog = Catalog()
        for statement in parse(self.sql):
            apply(statement, catalog)
        [entry] = catalog.queries
        return entry.plan

    @property
    def _widths(self) -> list[float]:
        """Bytes of a row: its time, and keys by which it is joined with its neighbours."""
        inner = [24.0] * (len(self.rates) - 2)
        return [16.0, *inner, 16.0]

    def known(self) -> Statistics:
        """What would have been measured of it."""
        [join] = joins_of([self.plan])
        of = measured_join(flat_join(join))
        inputs = {
            each.key: InputFigures(each.title, rate, SECOND, width * rate, 1000)
            for each, rate, width in zip(of.inputs, self.rates, self._widths, strict=True)
        }
        keys = [each.key for each in of.pairs] or [each.key for each in of.conditions]
        pairs = {
            key: {of.width.bit_length(): PairFigures("", share, 1.0, 0.0, 1000)}
            for key, share in zip(keys, self.selectivities, strict=True)
        }
        return Statistics(joins=JoinStatistics(inputs, pairs))


SETS = {
    1: JoinSet((20, 20, 20), (0.05, 0.5), 5, 40),
    2: JoinSet((20, 20, 50), (0.02, 0.5), 15, 60),
    3: JoinSet((10, 10, 10, 10), (0.1, 0.15, 0.1), 15, 60),
    4: JoinSet((5, 5, 5, 5), (0.08, 0.8, 0.2), 50, 120),
}
#: Less to do: set 4 with shorter windows.
QUICK = {
    1: replace(SETS[1], seconds=25),
    2: replace(SETS[2], seconds=35),
    3: replace(SETS[3], seconds=35),
    4: replace(SETS[4], window=20, seconds=45),
}
PLANS: Mapping[int, Mapping[str, str]] = {
    1: {"mjoin": "(a, b, c)", "bjtree": "((a, b), c)"},
    2: {"mjoin": "(a, b, c)", "bjtree": "((a, b), c)"},
    3: {"mjoin": "(a, b, c, d)", "bjtree": "((a, b), (c, d))"},
    4: {"mjoin": "(a, b, c, d)", "hybrid": "((a, b), c, d)", "bjtree": "((a, b), (c, d))"},
}


@dataclass
class PlanRun:
    """By second: processor time, stored rows at its end, rows that came, and results."""

    busy: list[float] = field(default_factory=list)
    stored: list[float] = field(default_factory=list)
    came: list[int] = field(default_factory=list)
    results: list[int] = field(default_factory=list)

    def no_slower_than(self, other: PlanRun) -> PlanRun:
        """The same, each second as quick as in the quicker of both."""
        return replace(self, busy=[*map(min, self.busy, other.busy)])

    def steady(self, window: int) -> tuple[float, float]:
        """Mean processor time a second, and mean stored rows, once windows are full."""
        return statistics.fmean(self.busy[window:]), statistics.fmean(self.stored[window:])

    def queued(self, speed: float) -> tuple[list[int], list[int]]:
        """By second: rows that wait, and results so far, on a processor that is slower."""
        done = [0.0]
        for second, busy in enumerate(self.busy):
            done.append(max(done[-1], second + 1.0) + busy / speed)
        waiting, results = [], []
        for now in range(1, len(self.busy) + 1):
            finished = sum(end <= now + 1 for end in done[1 : now + 1])
            waiting.append(sum(self.came[finished:now]))
            results.append(sum(self.results[:finished]))
        return waiting, results


@cache
def runs(number: int, quick: bool, seed: int) -> dict[str, PlanRun]:
    """Every plan of a set over the same rows; all in turn, several times if that is soon done."""
    of = (QUICK if quick else SETS)[number]
    rows, found = _rows(of, seed), dict[str, PlanRun]()
    for _ in range(ROUNDS.get(number, 1)):
        for name, tree in PLANS[number].items():
            run = run_plan(of, tree, rows)
            found[name] = run.no_slower_than(found[name]) if name in found else run
    return found


def speed_of(number: int, found: Mapping[str, PlanRun]) -> float:
    """How fast the processor is, of which the fastest plan takes 60 %."""
    return min(run.steady(QUICK[number].window)[0] for run in found.values()) / BUSY


def _rows(of: JoinSet, seed: int) -> dict[str, pl.DataFrame]:
    draw = np.random.default_rng(seed)
    found = {}
    # By stream, of how many values its keys are: the one to the left, and the one to the right.
    keys = [round(1 / share) if of.equal else 1_000_000 for share in (1.0, *of.selectivities, 1.0)]
    for number, (name, rate) in enumerate(zip(NAMES, of.rates, strict=False)):
        count = draw.poisson(rate * of.seconds)
        times = np.sort(draw.uniform(0, of.seconds * SECOND, count)).astype(np.int64)
        values = {
            column: draw.integers(0, of_values, count)
            for column, of_values in zip("pn", keys[number : number + 2], strict=True)
        }
        found[name] = pl.DataFrame({**values, "ts": times})
    return found


def run_plan(of: JoinSet, tree: str, rows: Mapping[str, pl.DataFrame]) -> PlanRun:
    """One plan, fed second by second."""
    graph = Graph()
    sources = {name: graph.add_source(name) for name in rows}
    [physical] = optimize({"q": of.plan}, Options(join_order=tree), of.known()).plans.values()
    sink = graph.add_sink("q", build(physical, graph, lambda spec: sources[spec.stream.name]))
    describe(graph)
    executor, run = Executor(graph), PlanRun()
    step = SECOND // of.blocks
    blocks = {name: _cut(all_rows, of.seconds * of.blocks, step) for name, all_rows in rows.items()}
    for second in range(of.seconds):
        results, came, stored = 0, 0, []
        begun = time.process_time()
        for number in range(second * of.blocks, (second + 1) * of.blocks):
            for name, source in sources.items():
                block = blocks[name][number]
                came += block.height
                if block.height:
                    source.output.batch(Block(block))
                source.output.punctuation(Punctuation("ts", (number + 1) * step))
                executor.run_until_idle()
            while not sink.empty:
                item = sink.take()
                results += item.rows.height if isinstance(item, Block) else 0
            stored.append(sum(node.figures()[2] for node in graph.nodes.values()))
        run.busy.append(time.process_time() - begun)
        run.stored.append(statistics.fmean(stored))
        run.came.append(came)
        run.results.append(results)
    return run


def _cut(rows: pl.DataFrame, count: int, step: int) -> list[pl.DataFrame]:
    """Rows by the stretches of time that they come in."""
    ends = rows.get_column("ts").to_numpy().searchsorted(np.arange(count + 1) * step).tolist()
    return [rows.slice(first, last - first) for first, last in pairwise(ends)]
