"""What a worker and a group's state hold follows what is open, not how long a query has run."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import FunctionType, MethodType, ModuleType
from typing import Any

import pytest

from penstock.local.engine import LocalEngine
from penstock.model.timestamps import SECOND
from penstock.optimizer.optimize import optimize
from penstock.spark.alive_graphs import IDLE, AliveGraphs
from penstock.spark.in_memory.micro_batches import Exchange, FakePipeline, MicroBatch, Worker
from penstock.spark.in_memory.state_store import FakeStateStore
from penstock.spark.placement.pipeline_groups import assign_pipelines
from penstock.spark.state import segment_cache
from penstock.spark.state.segment_cache import SegmentCache

STREAM = "CREATE STREAM {} (k BIGINT, v BIGINT, ts TIMESTAMP) TIMESTAMP BY ts SLACK 2 SECONDS"
QUERIES = {
    "tumbling": "SELECT k, count(*) AS n FROM a [RANGE 5 SECONDS] GROUP BY k",
    "sliding": "SELECT k, max(v) AS v FROM a [RANGE 8 SECONDS SLIDE 1 SECOND] GROUP BY k",
    "pairs": "SELECT x.k, x.v, y.v AS w FROM a x LEFT JOIN b y ON x.k = y.k WITHIN 3 SECONDS",
    "sessions": "SELECT k, count(*) AS n FROM SESSION(TABLE b PARTITION BY k, DESCRIPTOR(ts), "
    "INTERVAL '2' SECOND) GROUP BY k, window_start, window_end",
}
#: What all of a program holds, and nobody counts.
SHARED = (type, ModuleType, FunctionType, MethodType)


class Run:
    """A pipeline in memory whose groups move between two workers, a second of rows a batch."""

    def __init__(self, folder: Path, clock: list[float]) -> None:
        engine = LocalEngine()
        for stream in "ab":
            engine.sql(STREAM.format(stream))
        plans = {name: engine.sql(text).plan for name, text in QUERIES.items()}
        [share] = assign_pipelines(plans)
        program = optimize(share.queries)
        self.pipeline = FakePipeline(Exchange(program, share.keys, (0, 1)))
        self.workers = [Worker(folder), Worker(folder)]
        for worker in self.workers:
            worker.alive = AliveGraphs(lambda: clock[0])
            worker.caches = {"": SegmentCache(folder, clock=lambda: clock[0])}
        self._clock = clock
        self._batch = 0

    def process(self, batches: int) -> None:
        for _ in range(batches):
            self._batch += 1
            self._clock[0] += 1.0
            now = self._batch
            rows = [
                {"k": n % 5, "v": n, "ts": now * SECOND + n * 10_000 - (n == 7) * 60 * SECOND}
                for n in range(20)
            ]
            # Keys of a session go and come again.
            few = [row for row in rows if now % 8 < 4]
            batch = MicroBatch({"a": [[rows]], "b": [[few]]})
            self.pipeline.process(batch, partial(self._worker, now // 7))
            del self.pipeline.outputs[:-1]

    def _worker(self, turn: int, group: int) -> Worker:
        return self.workers[(group + turn) % 2]

    @property
    def objects(self) -> int:
        """How many objects the workers hold."""
        return reachable([each.alive for each in self.workers], [w.caches for w in self.workers])

    @property
    def segments(self) -> int:
        """How many segments are kept in workers' caches."""
        return sum(len(cache._kept) for each in self.workers for cache in each.caches.values())

    @property
    def stores(self) -> Iterator[FakeStateStore]:
        yield from self.pipeline.stores.values()


def reachable(*roots: Any) -> int:
    """How many objects can be reached, but for those that all programs share."""
    seen: set[int] = set()
    left = list(roots)
    while left:
        each = left.pop()
        if id(each) not in seen and not isinstance(each, SHARED):
            seen.add(id(each))
            left += gc.get_referents(each)
    return len(seen)


@pytest.mark.slow
def test_workers_and_state_hold_no_more_after_hundreds_of_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segment_cache, "WORTH_SHARING", 0)
    run = Run(tmp_path, [0.0])
    most: list[dict[str, int]] = []
    for _ in range(3):
        found: dict[str, int] = {}
        for _ in range(4):
            run.process(int(IDLE) // 2)
            figures = {
                "objects": run.objects,
                "segments": run.segments,
                "state": sum(len(store.segments) for store in run.stores),
                "files": len(list(tmp_path.iterdir())),
                "progress": max(
                    len(output.report().as_bytes()) for output in run.pipeline.outputs[-1].values()
                ),
            }
            found = {name: max(value, found.get(name, 0)) for name, value in figures.items()}
        most.append(found)
    first, _, last = most
    for name, value in last.items():
        assert value <= 1.05 * first[name] + 2, (name, most)
