"""Four streams whose join changes from left-deep to right-deep, as the experiments on migration do.

A, B, C and D come at random, at mean intervals in ms; selectivities are those of equal keys, and
all rows of a result lie within one window.  Spec: dynamic-optimization 3.1, 5.2.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl
from _times import with_times

from penstock.kernel.graph import GraphNode
from penstock.kernel.joins.window_join import WindowJoin
from penstock.kernel.migration.box import box_of
from penstock.local.engine import LocalEngine
from penstock.optimizer.physical import walk
from penstock.optimizer.specs import ParallelTrackSpec

MILLISECOND = 1000
LEFT_DEEP, RIGHT_DEEP = "'(((a, b), c), d)'", "'(a, ((b, c), d))'"


@dataclass(frozen=True)
class Setting:
    """Window and mean intervals in ms; how often two rows of neighbours match."""

    window: int
    intervals: tuple[float, float, float, float]
    selectivities: tuple[float, float, float]


class Running:
    """A join of four that runs; times are in ms."""

    def __init__(self, setting: Setting, seed: int, order: str = LEFT_DEEP) -> None:
        self._setting = setting
        self._chance = random.Random(seed)
        self._next = {
            name: self._chance.expovariate(1 / interval)
            for name, interval in zip("abcd", setting.intervals, strict=True)
        }
        self.now = 0
        self.engine = LocalEngine()
        for name in "abcd":
            columns = "p INT, q INT, r INT, ts TIMESTAMP"
            self.engine.sql(f"CREATE STREAM {name} ({columns}) TIMESTAMP BY ts ORDERED")
        within = f"WITHIN {setting.window} MILLISECONDS"
        self.engine.sql(
            f"SET join_order = {order}; CREATE QUERY q AS SELECT a.ts AS t FROM a "
            f"JOIN b ON a.p = b.p {within} JOIN c ON b.q = c.q {within} "
            f"JOIN d ON c.r = d.r {within}"
        )
        self.results = 0
        self._work = 0
        self._seen: dict[str, int] = {}  # by join, the rows that it has read and found

    def run(self, until: int, tick: int) -> Iterator[int]:
        """Let time pass, a tick after the other; yields the time."""
        while self.now < until:
            self.now += tick
            for name, interval in zip("abcd", self._setting.intervals, strict=True):
                rows = list(self._rows(name, interval))
                if rows:
                    self.engine.push(name, with_times(pl.DataFrame(rows, orient="row")))
                self._count()
                self.engine.punctuate(name, self.now * MILLISECOND)
            self.results += self.engine.query("q").fetch().height
            yield self.now

    def _rows(self, name: str, interval: float) -> Iterator[dict[str, int]]:
        domains = [round(1 / each) for each in self._setting.selectivities]
        while self._next[name] < self.now:
            at = self._next[name]
            self._next[name] += self._chance.expovariate(1 / interval)
            keys = zip("pqr", domains, strict=True)
            drawn = {key: self._chance.randrange(domain) for key, domain in keys}
            yield {**drawn, "ts": int(at * MILLISECOND)}

    def _count(self) -> None:
        """Add up what joins have done; one that was built anew begins to count anew."""
        before, self._seen = self._seen, {}
        for name, node in self.engine._host.graph.nodes.items():
            if isinstance(node.operator, WindowJoin):
                done = sum(node.figures()[:2])  # read and put out
                self._seen[name] = done
                self._work += done - min(before.get(name, 0), done)

    def work(self) -> int:
        """Rows that joins have read and found since this was asked last."""
        done, self._work = self._work, 0
        return done

    def migrate(self, how: str, order: str = RIGHT_DEEP) -> float:
        """Change the shape; gives the processor's time in ms."""
        begun = time.process_time()
        self.engine.sql(f"ALTER QUERY q SET (join_order = {order}, migration = {how})")
        return (time.process_time() - begun) * 1000

    @property
    def recomputed(self) -> int:
        return self.engine.status().migrations[-1].recomputed

    @property
    def is_over(self) -> bool:
        return self.engine.status().migrations[-1].is_over

    def intermediate(self) -> int:
        """Rows that joins store of results of other joins."""
        found = 0
        for node in self._roots():
            box = box_of(node)
            assert box is not None
            for at in box.inputs.values():
                if at.child is not None:
                    index = next(i for i in at.join.inputs.indexes if i.port == at.port)
                    found += at.join.state.table(index.table).rows
        return found

    def _roots(self) -> list[GraphNode]:
        nodes = self.engine._host.graph.nodes
        plan = self.engine._plans["q"]
        tracks = [each for each in walk([plan]) if isinstance(each.spec, ParallelTrackSpec)]
        tops = tracks[0].inputs if tracks else (plan.inputs[0],)
        return [nodes[each.id] for each in tops]


@dataclass(frozen=True)
class Moment:
    """How far a run has come: rows of results of joins that are stored, results so far.

    `work` is how many rows joins have read and found since the moment before, a change included.
    """

    now: int
    intermediate: int
    results: int
    work: int


#: What runs: the joins to begin with, and how they change.
CASES = {
    "moving state": (LEFT_DEEP, "ms"),
    "parallel tracks": (LEFT_DEEP, "pt_published"),
    "new only": (RIGHT_DEEP, ""),
    "old only": (LEFT_DEEP, ""),
}


def history(setting: Setting, seed: int, case: str, until: int, at: int) -> list[Moment]:
    """A run that changes its joins at some time, a moment every tenth of a window."""
    order, how = CASES[case]
    running, found, tick = Running(setting, seed, order), list[Moment](), setting.window // 10
    for now in running.run(until, tick):
        moved = 0
        if how and now == at:
            running.migrate(how)
            moved = 2 * running.recomputed  # found, and stored
        found.append(Moment(now, running.intermediate(), running.results, running.work() + moved))
    return found


def moving_state(setting: Setting, seed: int) -> tuple[float, int]:
    """Processor's time in ms and rows that are computed, once windows are full."""
    running = Running(setting, seed)
    for _ in running.run(2 * setting.window, setting.window // 4):
        pass
    spent = running.migrate("ms")
    return spent, running.recomputed


def parallel_track(setting: Setting, seed: int, *, published: bool = False) -> float:
    """How long both run, in ms: until no result needs old rows, or no old row is stored."""
    running = Running(setting, seed)
    for _ in running.run(2 * setting.window, setting.window // 4):
        pass
    running.migrate("pt_published" if published else "pt")
    begun = running.now
    for now in running.run(begun + 6 * setting.window, max(1, setting.window // 20)):
        if running.is_over:
            return now - begun
    raise AssertionError("it does not end")
