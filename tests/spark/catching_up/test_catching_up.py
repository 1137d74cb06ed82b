"""Queries that begin FROM START catch up in a pipeline that runs, without Spark.

Micro-batches run through the exchange and the groups' processors; what Spark would log of them is
written beside. Rows come in disorder, within their slack, and batches are cut off and repeated at
random, where a slice is written or at the end, by a driver and workers that remember nothing. What
a query gives from first to last is the oracle's answer over all rows.
"""

from __future__ import annotations

import json
import random
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from penstock.catalog.catalog import Catalog
from penstock.model.timestamps import END
from penstock.optimizer.optimize import optimize
from penstock.optimizer.options import Options
from penstock.optimizer.physical import Program
from penstock.oracle.evaluate import evaluate, same_rows
from penstock.plan.nodes import Node
from penstock.spark import faults
from penstock.spark.catching_up import slices
from penstock.spark.catching_up.catch_up import CatchUp
from penstock.spark.control.told import Told
from penstock.spark.faults import InjectedFault
from penstock.spark.in_memory.micro_batches import Exchange, FakePipeline, MicroBatch, Worker
from penstock.spark.in_memory.state_store import FakeStateStore
from penstock.spark.next_program import Coming, next_program
from penstock.spark.placement.partitioning import partitioning
from penstock.spark.processor import GroupProcessor
from penstock.spark.state.checkpoint import Checkpoint
from tests.engine.draw import seeds
from tests.sql.declared import execute, plan_of

Row = dict[str, Any]
SECOND = 1_000_000
SLACK = 2 * SECOND
GROUPS = (2, 0, 14)
TIME = pl.Datetime("us", "UTC")
STREAM = (
    "CREATE STREAM {name} (k STRING, v BIGINT, ts TIMESTAMP) FROM parquet '{folder}/{name}' "
    "TIMESTAMP BY ts SLACK 2 SECONDS"
)
TEXTS = [
    "SELECT k, count(*) AS n FROM a [RANGE 6 SECONDS, SLIDE 2 SECONDS] GROUP BY k",
    "SELECT k, sum(v) AS s FROM a [RANGE 4 SECONDS] GROUP BY k",
    "SELECT k, max(v) AS m FROM a UNION b [RANGE 9 SECONDS, SLIDE 3 SECONDS] GROUP BY k",
    "SELECT l.v AS v, r.v AS w FROM a l JOIN b r ON l.k = r.k WITHIN 3 SECONDS",
    "SELECT l.v AS v, r.v AS w FROM a l LEFT JOIN b r ON l.k = r.k WITHIN 2 SECONDS",
    "SELECT k, v FROM b WHERE v % 2 = 0",
]
STAYS = "SELECT k, min(v) AS least FROM a UNION b [RANGE 5 SECONDS] GROUP BY k"
#: The change with which queries come that begin FROM START.
START = -1


class Pipeline:
    """Batches, their files, and what Spark would have logged of them."""

    def __init__(self, seed: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.chance, self.folder = random.Random(seed), folder
        self._catalog = Catalog()
        for name in "ab":
            (folder / name).mkdir()
            execute(self._catalog, STREAM.format(name=name, folder=folder))
        for source in range(3):
            (folder / "spark" / "sources" / str(source)).mkdir(parents=True)
        (folder / "spark" / "offsets").mkdir()
        self.program: Program = optimize({"stays": self.plan(STAYS)})
        self.keys = partitioning(self.plan(STAYS))
        self.rows: dict[str, list[Row]] = {"a": [], "b": []}
        self.results: dict[str, list[Row]] = {}
        self.checkpoint = Checkpoint(folder / "checkpoint", self.program)
        self.checkpoint.confirm(self.program)
        self.faults = folder / "faults"
        self.faults.mkdir()
        monkeypatch.setattr(faults, "_folder", self.faults)
        self._next: Program | None = None  # what runs from the next batch on
        self.told = Told()
        monkeypatch.setattr(GroupProcessor, "_told", property(lambda _: self.told))
        self._logs: list[list[list[Row]]] = [[], [], []]
        self._worker = Worker(None)
        self._pipeline: FakePipeline | None = None
        self._time = self._v = self.batches = 0
        self._catch_up = self._driver()

    def plan(self, text: str) -> Node:
        return plan_of(text, self._catalog)

    def _driver(self) -> CatchUp:
        """What a driver knows that has just started."""
        spark = self.folder / "spark"
        return CatchUp(self.folder, spark, ["a", "b"], lambda: None, self._join)

    def _join(self, changes: Collection[int]) -> int:
        left = set(self.program.catching_up).difference(changes)
        self._next = self.program.with_catching_up(left)
        self.checkpoint.change(self._next, self.batches + 1, {})
        return self.batches + 1

    def come(self, texts: list[str]) -> None:
        """Queries come that see everything, and one that sees what comes."""
        come = {
            f"q{n}": Coming(self.plan(text), START, Options(), again=True)
            for n, text in enumerate(texts)
        }
        come["now"] = Coming(self.plan(TEXTS[0]), 1, Options())
        self.program = next_program(self.program, 1, (), come)
        self.checkpoint.change(self.program, self.batches, {})

    def batch(self, *, is_last: bool = False) -> None:
        rows: dict[str, list[Row]] = {"a": [], "b": []}
        for _ in range(self.chance.randrange(0, 12)):
            self._time += self.chance.randrange(SECOND // 2)
            self._v += 1
            time = self._time - self.chance.randrange(SLACK)
            row = {"k": self.chance.choice("xyz"), "v": self._v, "ts": time}
            rows[self.chance.choice("ab")].append(row)
        bounds = {}
        if is_last:
            bounds = {"a": END, "b": END}
        elif self.chance.random() < 0.8:
            bounds = {"nobody": 0}  # the control stream has something
        self._write(rows, bool(bounds))
        brought = {n: [[[row] for row in each]] for n, each in rows.items() if each}
        self._run(MicroBatch(brought, bounds))
        for name, each in rows.items():
            self.rows[name] += [{**row, "row_num": 1} for row in each]
        self.batches += 1

    def _write(self, rows: dict[str, list[Row]], has_control: bool) -> None:
        """Files, and Spark's logs of them."""
        number = self.batches
        for source, name in enumerate("ab", 1):
            files = []
            for part, some in enumerate((rows[name][:3], rows[name][3:])):
                if some:
                    file = self.folder / name / f"{number} {part}.parquet"
                    columns: Any = {"k": pl.String, "v": pl.Int64, "ts": TIME}
                    pl.DataFrame(some, schema=columns).write_parquet(file)
                    path = str(file).replace(" ", "%20")
                    files.append({"path": f"file://{path}", "timestamp": number})
            if files:
                self._log(source, files)
        if has_control:
            self._log(0, [{"path": f"file:///control/{number}", "timestamp": number}])
        offsets = [f'{{"logOffset":{len(log) - 1}}}' if log else "-" for log in self._logs]
        text = "\n".join(["v1", "{}", *offsets])
        (self.folder / "spark" / "offsets" / str(number)).write_text(text)

    def _log(self, source: int, files: list[Row]) -> None:
        log, folder = self._logs[source], self.folder / "spark" / "sources" / str(source)
        log.append([{**file, "batchId": len(log)} for file in files])
        number, lines = len(log) - 1, log[-1]
        name = str(number)
        if number % 4 == 3:  # as every tenth of Spark's
            name, lines = f"{number}.compact", [line for each in log for line in each]
            for file in folder.iterdir():
                file.unlink()
        text = "\n".join(["v1", *map(json.dumps, lines)])
        (folder / name).write_text(text)

    def _run(self, batch: MicroBatch) -> None:
        pipeline = FakePipeline(Exchange(self.program, self.keys, GROUPS))
        stores = {group: FakeStateStore() for group in GROUPS}
        if self._pipeline is not None:
            stores, pipeline.outputs = self._pipeline.stores, self._pipeline.outputs
        cut_off = self.chance.choice(["slice.begin", "slice.written", "over", *[""] * 6])
        if self.program.catching_up and cut_off.startswith("slice"):
            faults.arm(self.faults, cut_off, "fail")
            with suppress(InjectedFault):
                self._catch_up.begin(self.batches, self.program)
            self._restart()
        for attempt in range(1 + (cut_off == "over")):
            if self.chance.random() < 0.3 or attempt:
                self._worker = Worker(None)
            if attempt:
                pipeline.outputs.pop()
                self._restart()
            pipeline.stores = {group: store.copy() for group, store in stores.items()}
            again = self._catch_up.begin(self.batches, self.program)
            self.told = Told(
                again={str(change): files for change, files in again.items()},
                keys={name: list(key or ()) for name, key in self.keys.items()},
                groups=GROUPS,
            )
            self._catch_up.size.most = 1
            pipeline.process(batch, lambda group: self._worker)
            self._catch_up.end(self.batches, self.program)
            if not attempt:
                first = {n: pipeline.rows("result", n, slice(-1, None)) for n in self._names}
        for name in self._names:
            found = pipeline.rows("result", name, slice(-1, None))
            assert same_rows(found, first[name]), "a batch that is repeated gives the same"
            self.results.setdefault(name, []).extend(found)
        self.program, self._next = self._next or self.program, None
        self._pipeline = pipeline

    def _restart(self) -> None:
        """Another driver comes: what was noted for the batch behind does not hold yet."""
        faults.disarm(self.faults)
        self.checkpoint.finished = self.batches - 1
        program = self.checkpoint.going_on(self._next or self.program)
        assert program.catching_up == self.program.catching_up
        self.checkpoint.confirm(program)
        self._next = None
        self._catch_up = self._driver()
        self._catch_up.size.most = 2500  # what it would decide now

    @property
    def _names(self) -> list[str]:
        return list(self.program.queries)


@pytest.mark.parametrize("seed", seeds(1, slow=30))
def test_queries_from_start_give_the_answer_over_all_rows(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slices, "LEAST", 1)
    pipeline = Pipeline(seed, tmp_path, monkeypatch)
    for _ in range(pipeline.chance.randrange(6, 14)):
        pipeline.batch()
    pipeline.come(TEXTS)
    for _ in range(3):
        pipeline.batch()
    for _ in range(60):
        if pipeline.program.catching_up:
            pipeline.batch()
    assert pipeline.program.catching_up == (), "it comes to an end while rows come"
    pipeline.batch()
    pipeline.batch(is_last=True)
    for name, text in {"stays": STAYS, **{f"q{n}": t for n, t in enumerate(TEXTS)}}.items():
        expected = evaluate(pipeline.plan(text), pipeline.rows)
        assert same_rows(pipeline.results[name], expected), text
    pipeline.checkpoint.release()
