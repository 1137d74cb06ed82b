"""State is found again by fingerprint: whatever order queries are declared in, and beside others.

Micro-batches are run by one program, and go on by another over the state that it has left.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from penstock.model.timestamps import END
from penstock.optimizer.physical import Program, from_json, to_json, walk
from penstock.oracle.evaluate import evaluate, same_rows
from penstock.plan.nodes import Node
from penstock.spark.in_memory.micro_batches import Exchange, FakePipeline, MicroBatch, Worker
from penstock.spark.placement.partitioning import partitioning
from penstock.spark.placement.pipeline_groups import PipelineGroup, assign_pipelines
from penstock.spark.rows.choice import GROUPS
from penstock.spark.state.checkpoint import Continued
from tests.spark.placement.plans import plan

Row = dict[str, Any]

QUERIES = {
    "counted": "SELECT k, count(*) AS n FROM a [RANGE 6 SECONDS, SLIDE 2 SECONDS] GROUP BY k",
    "summed": "SELECT k, max(v) AS m FROM a [RANGE 9 SECONDS, SLIDE 3 SECONDS] GROUP BY k",
    "joined": "SELECT l.k, r.v FROM a l JOIN a r ON l.k = r.k WITHIN 3 SECONDS",
}
#: Shares rows, groups and panes with the others.
BESIDE = "SELECT k, sum(v) AS s FROM a [RANGE 4 SECONDS, SLIDE 2 SECONDS] GROUP BY k"


def batches(first: int, last: int) -> list[MicroBatch]:
    return [
        MicroBatch({"a": [[[row(n)] for n in range(start, start + 4)]]})
        for start in range(first, last, 4)
    ]


def row(n: int) -> Row:
    return {"k": "xyz"[n % 3], "j": "j", "v": n % 7, "d": 0.5, "ts": n * 500_000}


def plans(texts: Mapping[str, str]) -> dict[str, Node]:
    return {name: plan(text) for name, text in texts.items()}


def group_of(texts: Mapping[str, str], before: Program | None = None) -> PipelineGroup:
    [group] = assign_pipelines(plans(texts), continued=[] if before is None else [left_by(before)])
    return group


def left_by(program: Program) -> Continued:
    written = json.loads(json.dumps(to_json(program.plans)))
    streams = tuple(stream.name for stream in program.streams)
    plans = from_json(written)
    keys = partitioning(*program.queries.values())
    return Continued(Path(), plans, program.asked, streams, program.options, GROUPS, keys, {})


class Runs:
    """One run after the other, over the same state, on a worker that stays alive."""

    def __init__(self) -> None:
        self._before: FakePipeline | None = None
        self._worker = Worker(None)
        self.answers: dict[str, list[Row]] = {}

    def run(self, group: PipelineGroup, given: Sequence[MicroBatch]) -> Program:
        program = group.program()
        pipeline = FakePipeline(Exchange(program, group.keys, (2, 0, 14)))
        if self._before is not None:
            pipeline.stores = self._before.stores
        for batch in given:
            pipeline.process(batch, lambda group: self._worker)
        for name in program.queries:
            self.answers.setdefault(name, []).extend(pipeline.rows("result", name))
        self._before = pipeline
        return program


def expected(text: str, first: int, last: int) -> list[Row]:
    rows = [{**row(n), "row_num": n + 1} for n in range(first, last)]
    return evaluate(plan(text), {"a": rows})


def test_it_knows_the_bounds_of_streams_before_it_came() -> None:
    united = "SELECT k, count(*) AS n FROM a UNION b [RANGE 2 SECONDS] GROUP BY k"
    later = united.replace("count(*)", "sum(v)")
    runs = Runs()
    early = MicroBatch({"a": [[[row(0)]]], "b": [[[row(40)]]]})
    before = runs.run(group_of({"united": united}), [early])
    both = group_of({"united": united, "later": later}, before)
    # Only `a` goes on; that `b` has come further is known from before.
    runs.run(both, batches(4, 32))
    assert {row["window_end"] for row in runs.answers["later"]} == {
        row["window_end"] for row in runs.answers["united"] if row["window_end"] > 2_000_000
    }
    assert len(runs.answers["later"]) > 9


THE_END = MicroBatch(bounds={"a": END})


def test_queries_in_another_order_go_on_where_they_were() -> None:
    runs = Runs()
    before = runs.run(group_of(QUERIES), batches(0, 24))
    other = dict(reversed(QUERIES.items()))
    runs.run(group_of(other, before), [*batches(24, 48), THE_END])
    for name, text in QUERIES.items():
        assert same_rows(runs.answers[name], expected(text, 0, 48)), name


def test_a_query_beside_them_begins_anew_and_changes_nothing_for_them() -> None:
    runs = Runs()
    before = runs.run(group_of(QUERIES), batches(0, 24))
    both = {"beside": BESIDE, **QUERIES}
    after = runs.run(group_of(both, before), batches(24, 40))
    assert {name: after.plans[name] for name in QUERIES} == dict(before.plans)
    # A third start finds all of them, whoever came first.
    runs.run(group_of(both, after), [*batches(40, 48), THE_END])
    for name, text in QUERIES.items():
        assert same_rows(runs.answers[name], expected(text, 0, 48)), name
    assert same_rows(runs.answers["beside"], expected(BESIDE, 24, 48))


def test_a_query_beside_them_that_reads_their_panes_answers_what_ends_after_it_came() -> None:
    """The panes of windows that are over are gone, or half of them, which gave wrong answers."""
    text = BESIDE.replace("sum(v)", "count(*)")
    runs = Runs()
    before = runs.run(group_of(QUERIES), batches(0, 24))
    after = runs.run(group_of({**QUERIES, "beside": text}, before), [*batches(24, 48), THE_END])
    assert after.plans["beside"].inputs[0] in set(walk(before.plans.values()))
    # Their windows are longer, so the panes of those that are open are all there.
    came = row(23)["ts"]
    windows = [row for row in expected(text, 0, 48) if row["window_end"] > came]
    assert same_rows(runs.answers["beside"], windows)
