"""What streams declare about time, and what is done with late rows, over groups and batches.

Random rows in random tasks and batches. A row is late by the bound of earlier batches; which that
is follows from the definition, and so do the answers.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from penstock import LocalEngine
from penstock.errors import LateRow
from penstock.model.timestamps import END
from penstock.optimizer.optimize import optimize
from penstock.oracle.evaluate import evaluate, same_rows
from penstock.spark.in_memory.micro_batches import (
    Exchange,
    FakePipeline,
    MicroBatch,
    Worker,
)
from penstock.spark.placement.pipeline_groups import assign_pipelines
from tests.engine.draw import seeds

COUNT = "SELECT k, count(*) AS n FROM s [RANGE 10 MICROSECONDS, SLIDE 5 MICROSECONDS] GROUP BY k"
Row = dict[str, Any]


class Pipeline:
    """One query over one stream, in two groups; `late` as in SET late."""

    def __init__(self, stream: str, late: str = "keep", mode: str = "oop") -> None:
        engine = LocalEngine()
        engine.sql(f"CREATE STREAM s {stream}; SET late = {late}; SET mode = {mode}")
        [share] = assign_pipelines({"q": engine.sql(COUNT).plan})
        self.plan = share.queries["q"]
        program = optimize(share.queries, engine.catalog.settings.options)
        self._fake = FakePipeline(Exchange(program, share.keys, (2, 0)))
        self._worker = Worker(None)

    def process(self, rows: list[Row], tasks: int = 2) -> None:
        cut = [rows[place::tasks] for place in range(tasks)]
        self._fake.process(MicroBatch({"s": [[part] for part in cut]}), lambda _: self._worker)

    def end(self) -> None:
        self._fake.process(MicroBatch(bounds={"s": END}), lambda _: self._worker)

    def rows(self, kind: str, name: str = "s") -> list[Row]:
        return self._fake.rows(kind, name)

    def expected(self, rows: list[Row]) -> list[Row]:
        return evaluate(self.plan, {"s": [{**row, "row_num": 0} for row in rows]})


def some_rows(rng: random.Random, around: int, spread: int) -> list[Row]:
    return [
        {"k": rng.randrange(3), "ts": around + rng.randrange(spread)}
        for _ in range(rng.randrange(8))
    ]


@pytest.mark.parametrize("seed", seeds(4, slow=20))
def test_the_bound_of_lateness_that_counts_rows_holds_in_any_order(seed: int) -> None:
    rng, places = random.Random(seed), random.Random(seed).randrange(5)
    pipeline = Pipeline(f"(k INT, ts TIMESTAMP) TIMESTAMP BY ts SLACK {places} ROWS")
    came: list[int] = []
    on_time: list[Row] = []
    late: list[Row] = []
    for step in range(12):
        rows = some_rows(rng, step * 6, 20)
        bound = sorted(came, reverse=True)[places] if len(came) > places else -END
        for row in rows:
            (on_time if row["ts"] >= bound else late).append(row)
        came += [row["ts"] for row in rows]
        pipeline.process(rows)
    pipeline.end()
    assert same_rows(pipeline.rows("late"), late)
    assert same_rows(pipeline.rows("result", "q"), pipeline.expected(on_time))


@pytest.mark.parametrize("seed", seeds(4, slow=20))
def test_bounds_among_the_rows_hold_for_all_groups(seed: int) -> None:
    rng = random.Random(seed)
    pipeline = Pipeline("(k INT, ts TIMESTAMP, over BOOLEAN) TIMESTAMP BY ts PUNCTUATED BY over")
    bounds: dict[int | None, int] = {}
    on_time: list[Row] = []
    late: list[Row] = []
    refused = 0
    for step in range(12):
        rows = [{**row, "over": rng.choice([None, False])} for row in some_rows(rng, step * 6, 20)]
        for row in rows:
            bound = max(bounds.get(None, -END), bounds.get(row["k"], -END))
            (on_time if row["ts"] >= bound else late).append(row)
        marks = [
            {"k": rng.choice([None, None, 0, 1]), "ts": rng.randrange(step * 8), "over": True}
            for _ in range(rng.randrange(3) if step else 0)
        ]
        for mark in sorted(marks, key=lambda mark: int(str(mark["ts"]))):
            key, bound = mark["k"], int(str(mark["ts"]))
            # What holds for all rows makes a lower bound on some of them forgotten.
            stands = bounds.get(key, -END) > bounds.get(None, -END) or key is None
            refused += stands and bound < bounds.get(key, -END)
            bounds[key] = max(bound, bounds.get(key, -END))
        pipeline.process([*rows, *marks])
    early = len(pipeline.rows("result", "q"))
    pipeline.end()
    assert same_rows(pipeline.rows("late"), late)
    assert same_rows(pipeline.rows("result", "q"), pipeline.expected(on_time))
    assert len(pipeline.rows("malformed")) == refused
    assert early > 0


def test_punctuation_without_a_bound_is_malformed_and_counted_once() -> None:
    pipeline = Pipeline("(k INT, ts TIMESTAMP, over BOOLEAN) TIMESTAMP BY ts PUNCTUATED BY over")
    pipeline.process([{"k": None, "ts": None, "over": True}])
    [row] = pipeline.rows("malformed")
    assert row["reason"] == "ts: punctuation needs a bound"


@pytest.mark.parametrize("policy", ["consistent", "generous"])
@pytest.mark.parametrize("seed", seeds(3, slow=10))
def test_late_rows_still_go_into_windows_that_are_open(policy: str, seed: int) -> None:
    rng = random.Random(seed)
    pipeline = Pipeline("(k INT, ts TIMESTAMP) TIMESTAMP BY ts ORDERED", policy)
    bound = -END
    counts: dict[tuple[int, int], int] = {}
    for step in range(12):
        rows = some_rows(rng, step * 6, 20)
        for row in rows:
            first = row["ts"] // 5 * 5 + 5  # the end of the first of its two windows
            ends = [first, first + 5]
            open_ones = [end for end in ends if end > bound // 5 * 5]
            if policy == "consistent" and open_ones != ends:
                open_ones = []
            for end in open_ones:
                counts[row["k"], end] = counts.get((row["k"], end), 0) + 1
        bound = max([bound, *(row["ts"] for row in rows)])
        pipeline.process(rows)
    pipeline.end()
    found = {(r["k"], r["window_end"]): r["n"] for r in pipeline.rows("result", "q")}
    assert found == counts


def test_a_late_row_can_be_an_error() -> None:
    pipeline = Pipeline("(k INT, ts TIMESTAMP) TIMESTAMP BY ts ORDERED", "fail")
    pipeline.process([{"k": 1, "ts": 50}])
    with pytest.raises(LateRow, match="1 of the rows of `s` are late"):
        pipeline.process([{"k": 1, "ts": 7}])


@pytest.mark.parametrize("seed", seeds(3, slow=10))
def test_in_order_gives_the_same_answers(seed: int) -> None:
    rng = random.Random(seed)
    pipeline = Pipeline("(k INT, ts TIMESTAMP) TIMESTAMP BY ts SLACK 20 MICROSECONDS", mode="iop")
    rows = []
    for step in range(10):
        new = some_rows(rng, step * 6, 20)
        rows += new
        pipeline.process(new)
    pipeline.end()
    assert same_rows(pipeline.rows("result", "q"), pipeline.expected(rows))
