"""Runs that end and are continued, without Spark: the end answers everything, once.

Events are cut in two; between them a run ends, and at the end of all another one does. After the
first, the answers must be the oracle's over all rows so far. After the second, what was answered
must stand as it was, and rows that came for it must be late, and say that a run had ended.

What each test can catch: a bound that lets something wait (`…answers_everything`), one that forgets
what still may come (`…continued…`), a window that is answered twice (`…continued…`).
"""

from __future__ import annotations

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from penstock.optimizer.options import Options
from penstock.optimizer.rules.late_rows import REOPEN, can_reopen
from penstock.oracle.evaluate import evaluate, same_rows
from penstock.plan.nodes import Node
from penstock.spark.control.control_stream import END_OF_RUN
from penstock.spark.in_memory.micro_batches import (
    Exchange,
    FakePipeline,
    MicroBatch,
    Worker,
)
from penstock.spark.placement.pipeline_groups import PipelineGroup, assign_pipelines
from tests.engine.draw import Drawn, examples
from tests.engine.random_joins import aggregated_joins, join_queries, joins_of_three, pair_counts
from tests.engine.random_queries import lengths, queries
from tests.engine.random_streams import UNITS, Declared, arrivals, declarations
from tests.engine.running import PROMPT_AGGREGATIONS, started
from tests.spark.group_pipelines import computed
from tests.spark.random_batches import as_numbered, micro_batches

data = st.data()
END = MicroBatch(bounds={END_OF_RUN: 1})
AGGREGATIONS = (
    *(Options(aggregation=each) for each in PROMPT_AGGREGATIONS),
    *(
        Options(aggregation="two_level", table_size=size, flush=flush, flush_rows=5)
        for size, flush in ((3, "slow"), (1, "lazy"))
    ),
    Options(aggregation="ordered_flush", table_size=2, flush_rows=5),
)


def plans_of(declared: list[Declared], *texts: str) -> dict[str, Node]:
    engine = started(declared)
    return {f"q{n}": engine.sql(text).plan for n, text in enumerate(texts)}


def runs(share: PipelineGroup, batches: list[MicroBatch], options: Options) -> FakePipeline:
    """Batches of several runs, on a worker for each."""
    program = computed(share.queries, options)
    pipeline = FakePipeline(Exchange(program, share.keys, (2, 0)))
    workers = [Worker(None)]
    for batch in batches:
        pipeline.process(batch, lambda group: workers[-1])
        if batch is END:
            workers.append(Worker(None))
    return pipeline


def set_aside(pipeline: FakePipeline, stream: str, batches: slice = slice(None)) -> list[Any]:
    return [row for kind in ("late", "closed") for row in pipeline.rows(kind, stream, batches)]


def taken(pipeline: FakePipeline, batches: list[MicroBatch]) -> dict[str, Any]:
    """The rows of each stream that were not late, as the stream numbers them."""
    streams = pipeline.exchange.program.streams
    rows: dict[str, list[list[dict[str, Any]]]] = {s.name: [] for s in streams}
    for number, batch in enumerate(batches):
        for stream in streams:
            late = set_aside(pipeline, stream.name, slice(number, number + 1))
            on_time = list(batch.arrived(stream.name))
            for row in late:
                on_time.remove(row)
            rows[stream.name].append(on_time)
    return as_numbered(streams, rows)


def check(
    share: PipelineGroup, first: list[MicroBatch], second: list[MicroBatch], options: Options
) -> None:
    batches = [*first, END, *second, END]
    pipeline = runs(share, batches, options)
    so_far = taken(pipeline, batches[: len(first)])
    for name, plan in share.queries.items():
        answered = pipeline.rows("result", name, slice(len(first) + 1))
        assert same_rows(answered, evaluate(plan, so_far)), (answered, evaluate(plan, so_far))
        if can_reopen(share.queries.values(), pipeline.exchange.program.options):
            continue  # rows that are late for some windows go into others: see below
        everything = pipeline.rows("result", name)
        expected = evaluate(plan, taken(pipeline, batches))
        assert same_rows(everything, expected), (everything, expected)


def with_its_rows(batches: list[MicroBatch]) -> list[MicroBatch]:
    """The run as one batch that brings all rows and ends it."""
    tasks: dict[str, list[Any]] = {}
    for batch in batches:
        for name, found in batch.rows.items():
            tasks.setdefault(name, []).extend(found)
    return [MicroBatch(tasks, END.bounds)]


def cut_in_two(data: Any, events: list[Any]) -> tuple[list[MicroBatch], list[MicroBatch]]:
    place = data.draw(st.integers(0, len(events)))
    return data.draw(micro_batches(events[:place])), data.draw(micro_batches(events[place:]))


def counts_rows(text: str) -> bool:
    """Whether its windows are over when rows have come, whatever the time."""
    return re.search(r"RANGE \d+ ROWS", text) is not None


@examples(10)
@given(data)
def test_the_end_of_a_run_answers_everything_and_nothing_twice(data):
    draw = Drawn(data)
    declared = declarations(draw)
    text = queries(draw, declared[0].time)
    while counts_rows(text):
        text = queries(draw, declared[0].time)
    events = arrivals(draw, declared)
    options = data.draw(st.sampled_from(AGGREGATIONS))
    [share] = assign_pipelines(plans_of(declared, text))
    check(share, *cut_in_two(data, events), options)


@examples(10)
@given(data)
def test_a_batch_that_brings_the_rows_may_end_the_run(data):
    draw = Drawn(data)
    declared = declarations(draw)
    text = queries(draw, declared[0].time)
    batches = with_its_rows(data.draw(micro_batches(arrivals(draw, declared))))
    [share] = assign_pipelines(plans_of(declared, text))
    pipeline = runs(share, batches, data.draw(st.sampled_from(AGGREGATIONS)))
    expected = evaluate(share.queries["q0"], taken(pipeline, batches))
    answered = pipeline.rows("result", "q0")
    assert same_rows(answered, expected), (answered, expected)


@examples(10)
@given(data)
def test_so_it_does_for_joins(data):
    draw = Drawn(data)
    declared = declarations(draw)
    make = draw.choose([join_queries, join_queries, joins_of_three, aggregated_joins, pair_counts])
    events = arrivals(draw, declared, blocks=8)
    join = data.draw(st.sampled_from(["auto", "mjoin"]))
    [share] = assign_pipelines(plans_of(declared, make(draw, UNITS[declared[0].time])))
    check(share, *cut_in_two(data, events), Options(join=join))


@examples(10)
@given(data)
def test_windows_that_end_later_have_all_their_rows(data):
    draw = Drawn(data)
    declared = declarations(draw)
    unit, (range_, slide) = UNITS[declared[0].time], lengths(draw)
    calls = draw.choose(["count(*) AS n, sum(v) AS s", "max(d) AS m, count(v) AS n", "sum(d) AS s"])
    text = (
        f"SELECT k, {calls}, window_end FROM {draw.choose(['a', 'a UNION b'])} "
        f"[RANGE {range_}{unit}, SLIDE {slide}{unit}, WA ts] GROUP BY k"
    )
    first, second = cut_in_two(data, arrivals(draw, declared))
    [share] = assign_pipelines(plans_of(declared, text))
    batches = [*first, END, *second, END]
    pipeline = runs(share, batches, Options(aggregation=data.draw(st.sampled_from(REOPEN))))
    answered = pipeline.rows("result", "q0", slice(len(first) + 1))
    closed = max((row["window_end"] for row in answered), default=None)
    streams = pipeline.exchange.program.streams
    came = {s.name: [batch.arrived(s.name) for batch in batches] for s in streams}
    expected = [
        row
        for row in evaluate(share.queries["q0"], as_numbered(streams, came))
        if closed is None or row["window_end"] > closed
    ]
    later = pipeline.rows("result", "q0", slice(len(first) + 1, None))
    assert same_rows(later, expected), (later, expected)
    late = [row["ts"] for s in streams for row in set_aside(pipeline, s.name)]
    assert all(closed is not None and ts < closed for ts in late)


def test_streams_whose_rows_are_counted_end_for_good() -> None:
    [share] = assign_pipelines(
        plans_of([Declared("a", 0, "BIGINT")], "SELECT count(*) AS n FROM a [RANGE 10 ROWS]")
    )
    rows = [{"k": "x", "v": 0, "d": 0.0, "ts": ts} for ts in range(25)]
    batches = [
        MicroBatch({"a": [[rows]]}),
        END,
        MicroBatch({"a": [[[{**rows[0], "ts": 99}]]]}),
        END,
    ]
    pipeline = runs(share, batches, Options())
    assert [row["n"] for row in pipeline.rows("result", "q0")] == [10, 10, 5]
    assert len(pipeline.rows("late", "a")) == 1
