"""Sessions of which the exchange makes pieces, against the slow evaluator.

Rows may be late, in disorder, or without a key. Batches are run by one worker or another, after
attempts that failed, and now and then by a driver that was started anew and knows nothing of
bounds: then rows go to their groups as they are, and must meet the pieces that are there.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.model.timestamps import END
from penstock.optimizer.optimize import optimize
from penstock.oracle.evaluate import same_rows
from penstock.spark.exchange.messages import PartialAggregates, TaskProgress, message_of
from penstock.spark.in_memory.micro_batches import Exchange, FakePipeline, MicroBatch, Worker
from penstock.spark.placement.pipeline_groups import PipelineGroup, assign_pipelines
from tests.engine.draw import Draw, Drawn, examples
from tests.engine.random_streams import SLACKS, Declared, careless_arrivals
from tests.spark.group_pipelines import (
    GROUPS,
    assert_answers,
    assert_kept_well,
    pipeline_of,
    plans_of,
)
from tests.spark.random_batches import as_numbered, judged_by_batch, micro_batches

NAMES = ("a", "b", "c")


def session_query(draw: Draw) -> str:
    gap, where = draw.between(1, 12), draw.choose(["", " WHERE v > -5"])
    keys = draw.choose(["", "k", "k, v", "k, v % 2"])
    calls = "count(*) AS n, sum(v) AS s, min(d) AS least, avg(d) AS mean, max(v) AS most"
    calls += draw.choose(["", ", count(DISTINCT v) AS different, collect_set(v) AS vs"])
    if draw.choose([True, False]):
        by = f"{keys}, " if keys else ""
        windows = f"{by}session_window(ts, '{gap} microseconds')"
        return f"SELECT {calls} FROM a{where} GROUP BY {windows}"
    # Groups within a session that others have a part in.
    partition = draw.choose(["", " PARTITION BY k"])
    by = f"{keys}, " if keys else ""
    source = f"SESSION(TABLE a{partition}, DESCRIPTOR(ts), INTERVAL '{gap}' MICROSECOND)"
    return f"SELECT {calls} FROM {source}{where} GROUP BY {by}window_start, window_end"


def run_with_restarts(
    data: Any, share: PipelineGroup, groups: int, batches: list[MicroBatch]
) -> FakePipeline:
    """All batches and the end of the stream; `outputs` are those of all runs."""
    program, salt = optimize(share.queries), data.draw(st.integers(0, 3))
    pipeline = FakePipeline(Exchange(program, share.keys, GROUPS[:groups], salt))
    workers, before = st.sampled_from([Worker(None), Worker(None)]), []
    for batch in [*batches, MicroBatch(bounds={"a": END})]:
        if data.draw(st.booleans()):
            before += pipeline.outputs
            pipeline.outputs = []  # what a driver knows of earlier batches
        pipeline.process(
            batch,
            worker=lambda group: data.draw(workers),
            failed=lambda group: data.draw(st.lists(workers, max_size=1)),
        )
    pipeline.outputs = before + pipeline.outputs
    return pipeline


@examples(25)
@given(st.data(), st.integers(1, 3))
def test_sessions_in_pieces_are_the_oracles(data: Any, groups: int) -> None:
    draw = Drawn(data)
    declared = [Declared(name, draw.choose(SLACKS)) for name in NAMES]
    plans = plans_of(declared, [session_query(draw)])
    batches = data.draw(micro_batches(careless_arrivals(draw, declared)))
    judged = judged_by_batch(declared, batches)
    [share] = assign_pipelines(plans)
    pipeline = run_with_restarts(data, share, groups, batches)
    streams = pipeline.exchange.program.streams
    assert same_rows(pipeline.rows("late", "a"), judged["a"].late)
    on_time = {name: found.on_time for name, found in judged.items()}
    assert_answers(pipeline, share, as_numbered(streams, on_time))
    assert_kept_well(pipeline)


QUERY = "SELECT k, count(*) AS n FROM a GROUP BY k, session_window(ts, '5 microseconds')"


def rows_at(*times: int) -> list[dict[str, Any]]:
    return [{"k": None, "v": 1, "d": 0.5, "ts": time} for time in times]


@pytest.mark.parametrize("restarts", [False, True])
def test_rows_between_pieces_make_one_session_of_them(restarts: bool) -> None:
    pipeline, worker = pipeline_of(QUERY, Declared("a", 20)), Worker(None)
    first = MicroBatch({"a": [[rows_at(0, 2), rows_at(10, 18)]]})
    sent = {type(message_of(each)) for each in pipeline.exchange.messages(first, pipeline.told())}
    assert sent == {PartialAggregates, TaskProgress}
    pipeline.process(first, lambda group: worker)
    assert pipeline.rows("result", "q0") == []
    if restarts:
        worker.forget()
        pipeline.outputs = []
    between = MicroBatch({"a": [[rows_at(14), rows_at(6, -3)]]})
    sent = {type(message_of(each)) for each in pipeline.exchange.messages(between, pipeline.told())}
    assert (PartialAggregates in sent) is not restarts
    pipeline.process(between, lambda group: worker)
    pipeline.process(MicroBatch(bounds={"a": END}), lambda group: worker)
    [found] = pipeline.rows("result", "q0")
    assert found["n"] == 6
    assert [row["ts"] for row in pipeline.rows("late", "a")] == [-3]
