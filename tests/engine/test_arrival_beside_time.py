"""Streams whose rows bring their time along and are stamped on entry besides."""

from __future__ import annotations

import random
from typing import Any

import pytest

from penstock.errors import TypeMismatch
from penstock.local.engine import LocalEngine
from penstock.model.ets import ON_DEMAND
from penstock.model.timestamps import END, SECOND
from penstock.optimizer.optimize import optimize
from penstock.oracle.evaluate import evaluate, same_rows
from penstock.runtime.clock import VirtualClock
from penstock.spark.control.control_stream import key_of
from penstock.spark.control.driver_enabling import DriverEnabling
from penstock.spark.delivery.delivery import BatchReport
from penstock.spark.in_memory.micro_batches import Exchange, FakePipeline, MicroBatch, Worker
from penstock.spark.placement.pipeline_groups import assign_pipelines
from tests.engine.draw import seeds
from tests.engine.running import rows_of
from tests.ticks import push_ticks

STREAM = "CREATE STREAM s (v INT, ts TIMESTAMP) TIMESTAMP BY ts SLACK 5 SECONDS, INTERNAL"
BY_ARRIVAL = "SELECT count(*) AS n, sum(v) AS v FROM s [RANGE 3 SECONDS, WA arrival_ts]"
BY_TIME = "SELECT count(*) AS n, sum(v) AS v FROM s [RANGE 3 SECONDS]"
DELAY = (
    "SELECT max(unix_micros(arrival_ts) - unix_micros(ts)) AS most "
    "FROM s [RANGE 3 SECONDS, WA arrival_ts]"
)
LATER_TIME = (
    "SELECT count(*) AS n FROM (SELECT greatest(arrival_ts, ts) AS t FROM s) "
    "[RANGE 3 SECONDS, WA t]"
)
ROWS = "SELECT sum(v) AS v FROM (SELECT v, arrival_ts FROM s) [RANGE 3 ROWS]"


def arriving(seed: int) -> list[tuple[int, list[dict[str, Any]]]]:
    """Blocks of rows, none of them late, and when they come."""
    rng, now, blocks = random.Random(seed), 1_000 * SECOND, []
    for _ in range(12):
        now += rng.randint(0, 2 * SECOND)
        times = [now - rng.randint(0, 2 * SECOND) for _ in range(rng.randint(0, 4))]
        blocks.append((now, [{"v": rng.randint(0, 9), "ts": time} for time in times]))
    return blocks


def stamped(seed: int) -> list[dict[str, Any]]:
    return [{**row, "arrival_ts": now} for now, rows in arriving(seed) for row in rows]


@pytest.mark.parametrize("mode", ["oop", "iop"])
@pytest.mark.parametrize("text", [BY_ARRIVAL, BY_TIME, DELAY, LATER_TIME, ROWS])
@pytest.mark.parametrize("seed", seeds(2, slow=5))
def test_this_process_stamps_rows_beside_their_own_time(text: str, seed: int, mode: str) -> None:
    clock = VirtualClock()
    engine = LocalEngine(clock=clock)
    engine.sql(f"SET mode = {mode}; {STREAM}")
    query = engine.sql(text)
    for now, rows in arriving(seed):
        clock.spend(now - clock.now())
        push_ticks(engine, "s", rows)
    engine.finish()
    came = [{**row, "row_num": n} for n, row in enumerate(stamped(seed), start=1)]
    assert same_rows(rows_of(query.to_polars()), evaluate(query.plan, {"s": came}))
    assert engine.counts("s").late == 0


@pytest.mark.parametrize("text", [BY_ARRIVAL, BY_TIME, DELAY])
@pytest.mark.parametrize("seed", seeds(2, slow=5))
def test_groups_take_the_stamps_of_their_batches(text: str, seed: int) -> None:
    engine = LocalEngine()
    engine.sql(STREAM)
    [share] = assign_pipelines({"q": engine.sql(text).plan})
    pipeline = FakePipeline(Exchange(optimize(share.queries), share.keys, (0, 1)))
    worker = Worker(None)
    for now, rows in arriving(seed):
        block = [{**row, "arrival_ts": now} for row in rows]
        pipeline.process(MicroBatch({"s": [[block]]}), lambda group: worker)
    pipeline.process(MicroBatch(bounds={"s": END}), lambda group: worker)
    assert same_rows(
        pipeline.rows("result", "q"), evaluate(share.queries["q"], {"s": stamped(seed)})
    )


def test_a_silent_stream_goes_on_by_the_clock_in_what_is_stamped() -> None:
    clock = VirtualClock()
    engine = LocalEngine(clock=clock)
    engine.sql(STREAM)
    query = engine.sql(BY_ARRIVAL)
    push_ticks(engine, "s", [{"v": 1, "ts": clock.now()}])
    assert query.results().height == 0 and "the clock at" in str(query.why())
    clock.spend(3 * SECOND)
    push_ticks(engine, "s", [])
    assert query.results().height == 1


def test_on_spark_a_silent_stream_goes_on_by_the_clock_in_what_is_stamped() -> None:
    engine = LocalEngine()
    engine.sql(STREAM)
    [share] = assign_pipelines({"q": engine.sql(BY_ARRIVAL).plan})
    program = optimize(share.queries)
    pipeline, worker = FakePipeline(Exchange(program, share.keys, (0,))), Worker(None)
    enabling = DriverEnabling({s.name: s for s in program.streams}, share.queries, ON_DEMAND)
    enabling.is_prompt = True
    assert enabling.can_help
    row = {"v": 1, "ts": SECOND, "arrival_ts": SECOND}
    pipeline.process(MicroBatch({"s": [[[row]]]}), lambda group: worker)
    assert pipeline.rows("result", "q") == []
    releases = pipeline.outputs[-1][0].report().releases
    enabling.take_report(BatchReport(0, {"s": 1}, {}, {"s": SECOND}, {"s"}, releases), SECOND)
    assert enabling.bounds_at(2 * SECOND) is None  # it would let nothing out
    made = enabling.bounds_at(3 * SECOND)
    assert made == {key_of("s", "arrival_ts"): 3 * SECOND}
    pipeline.process(MicroBatch(bounds=made), lambda group: worker)
    assert [row["n"] for row in pipeline.rows("result", "q")] == [1]
    # A clock that was behind what it has said is not believed.
    late = {"v": 2, "ts": 2 * SECOND, "arrival_ts": 2 * SECOND}
    pipeline.process(MicroBatch({"s": [[[late]]]}), lambda group: worker)
    pipeline.process(MicroBatch(bounds={"s": END}), lambda group: worker)
    assert [row["window_start"] for row in pipeline.rows("result", "q")] == [0, 3 * SECOND]


def test_a_column_of_stamps_is_a_timestamp() -> None:
    with pytest.raises(TypeMismatch, match="time of arrival is a TIMESTAMP"):
        LocalEngine().sql("CREATE STREAM s (at INT, ts TIMESTAMP) TIMESTAMP BY ts, INTERNAL AS at")


def test_rows_do_not_bring_their_stamps() -> None:
    engine = LocalEngine()
    engine.sql(STREAM)
    stream = engine.declared_stream("s").stream
    assert [column.name for column in stream.arriving] == ["v", "ts"]
    assert stream.disorder() == "by ts, slack 5 seconds, arrival_ts stamped"
