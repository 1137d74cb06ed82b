"""Groups against the slow evaluator: SQL, exchange, processor and kept state, without Spark.

Random queries over random streams, in micro-batches of tasks and blocks, spread over groups by any
function of the partitioning keys. After every batch the state is kept; the next one is run by the
worker that has the graph alive, or by another, or after attempts that failed. The union of what all
groups put out must be the oracle's answer, every row of it once.

What each test can catch: state or buffers not restored (`…oracles_answer`, `…merged…`); keys that
let rows miss each other (all, with several groups); rows judged by their own batch's bounds
(`…late…`); a group that only hears of its own rows (`…without_rows…`).
"""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import polars as pl
from hypothesis import assume, given
from hypothesis import strategies as st

from penstock.errors import NotExecutable
from penstock.kernel.rejected import Reason
from penstock.model.expressions import Named, Ref
from penstock.model.schema import Column
from penstock.model.streams import Stream, TimestampKind
from penstock.model.timestamps import END
from penstock.model.types import Type
from penstock.optimizer.optimize import optimize
from penstock.oracle.evaluate import evaluate, same_rows
from penstock.plan.nodes import Project, Source
from penstock.runtime.arrivals import Arrivals
from penstock.spark.control.told import Told
from penstock.spark.exchange.messages import RowBlock, message_of
from penstock.spark.group_host import GroupHost
from penstock.spark.in_memory.micro_batches import (
    MicroBatch,
    Worker,
)
from penstock.spark.placement.pipeline_groups import assign_pipelines
from tests.engine.draw import Drawn, examples, several
from tests.engine.random_joins import aggregated_joins, join_queries, joins_of_three, pair_counts
from tests.engine.random_matches import match_queries
from tests.engine.random_queries import queries, row_queries, window_queries
from tests.engine.random_streams import (
    NAMES,
    UNITS,
    Declared,
    arrivals,
    careless_arrivals,
    declarations,
)
from tests.engine.random_tables import TABLE_COLUMNS, table_joins, table_rows
from tests.engine.running import started
from tests.spark.group_pipelines import (
    assert_answers,
    assert_kept_well,
    pipeline_of,
    plans_of,
    run,
)
from tests.spark.random_batches import as_numbered, judged_by_batch, micro_batches

data = st.data()
group_counts = st.integers(1, 3)


@examples(12)
@given(data, group_counts)
def test_all_groups_together_give_the_oracles_answer(data, groups):
    draw = Drawn(data)
    declared = declarations(draw)
    texts = several(draw, 1, 3, lambda draw: queries(draw, declared[0].time))
    plans = plans_of(declared, texts)
    batches = data.draw(micro_batches(arrivals(draw, declared)))
    for share in assign_pipelines(plans):
        pipeline = run(data, share, groups, batches, "meld")
        streams = pipeline.exchange.program.streams
        rows = {s.name: [batch.arrived(s.name) for batch in batches] for s in streams}
        assert_answers(pipeline, share, as_numbered(streams, rows))
        assert_kept_well(pipeline)
        for stream in streams:
            assert pipeline.rows("late", stream.name) == []


def test_a_group_hears_a_bound_a_slide_however_many_batches_come() -> None:
    text = "SELECT k, count(*) AS n FROM a [RANGE 60 MICROSECONDS] GROUP BY k"
    [share] = assign_pipelines(plans_of([Declared("a", 0)], [text]))
    host = GroupHost(optimize(share.queries))
    source = host.graph.nodes["a"].output
    with patch.object(source, "append_as_is", wraps=source.append_as_is) as append:
        for ts in range(200):
            host.process([Arrivals(newest=ts, rows=1)])
    assert [call.args[0].bound for call in append.call_args_list] == [0, 60, 120, 180]


@examples(15)
@given(data, group_counts)
def test_joins_over_all_groups_give_the_oracles_answer(data, groups):
    draw = Drawn(data)
    declared = declarations(draw)
    make = draw.choose([join_queries, join_queries, joins_of_three, aggregated_joins, pair_counts])
    plans = plans_of(declared, [make(draw, UNITS[declared[0].time])])
    batches = data.draw(micro_batches(arrivals(draw, declared, blocks=8)))
    join = data.draw(st.sampled_from(["auto", "mjoin"]))
    for share in assign_pipelines(plans):
        pipeline = run(data, share, groups, batches, "meld", join)
        streams = pipeline.exchange.program.streams
        rows = {s.name: [batch.arrived(s.name) for batch in batches] for s in streams}
        assert_answers(pipeline, share, as_numbered(streams, rows))
        assert_kept_well(pipeline)


@examples(12)
@given(data, group_counts)
def test_matches_go_on_over_batches_groups_and_failures(data, groups):
    draw = Drawn(data)
    declared = declarations(draw)
    try:
        plans = plans_of(declared, [match_queries(draw, UNITS[declared[0].time])])
    except NotExecutable as error:
        assume("match no rows" not in str(error) and "for ever" not in str(error))
        raise
    batches = data.draw(micro_batches(arrivals(draw, declared)))
    for share in assign_pipelines(plans):
        pipeline = run(data, share, groups, batches, "meld")
        streams = pipeline.exchange.program.streams
        rows = {s.name: [batch.arrived(s.name) for batch in batches] for s in streams}
        try:
            assert_answers(pipeline, share, as_numbered(streams, rows))
        except NotExecutable as error:
            assume("too many ways" not in str(error))
            raise
        assert_kept_well(pipeline)


@examples(8)
@given(data, group_counts)
def test_every_group_has_the_whole_of_a_static_table(data, groups):
    draw = Drawn(data)
    declared = declarations(draw)
    engine = started(declared)
    engine.table("t", table_rows(draw), columns=TABLE_COLUMNS)
    plans = {"q": engine.sql(table_joins(draw, UNITS[declared[0].time])).plan}
    batches = data.draw(micro_batches(arrivals(draw, declared)))
    for share in assign_pipelines(plans):
        pipeline = run(data, share, groups, batches, "meld")
        streams = pipeline.exchange.program.streams
        rows = {s.name: [batch.arrived(s.name) for batch in batches] for s in streams}
        assert_answers(pipeline, share, as_numbered(streams, rows))
        assert_kept_well(pipeline)


@examples(12)
@given(data, st.integers(2, 3))
def test_ordered_answers_come_in_order_across_batches_and_groups(data, groups):
    draw = Drawn(data)
    declared = declarations(draw)
    unit = UNITS[declared[0].time]
    text, by = draw.choose(
        [
            (join_queries(draw, unit), "lt"),
            (join_queries(draw, unit, ["JOIN", "RIGHT JOIN"]), "rt"),
            ("SELECT k, v, ts FROM a UNION ALL SELECT k, v, ts FROM b", "ts"),
            (
                f"SELECT k, count(*) AS n FROM a [RANGE 9{unit}, SLIDE 2{unit}] GROUP BY k",
                "window_end",
            ),
        ]
    )
    plans = plans_of(declared, [f"SELECT * FROM ({text}) ORDER BY {by}"])
    batches = data.draw(micro_batches(arrivals(draw, declared, blocks=8)))
    [share] = assign_pipelines(plans)
    pipeline = run(data, share, groups, batches, "meld")
    streams = pipeline.exchange.program.streams
    rows = {s.name: [batch.arrived(s.name) for batch in batches] for s in streams}
    assert_answers(pipeline, share, as_numbered(streams, rows))
    times = []
    for place in range(len(pipeline.outputs)):
        found = pipeline.rows("result", "q0", slice(place, place + 1))
        # What the driver does with the answers of one batch.
        times += sorted(row[by] for row in found if row[by] is not None)
    assert times == sorted(times), "a batch brought what belongs before an earlier batch's"


@examples(10)
@given(data, group_counts)
def test_merged_streams_keep_the_rows_that_wait_from_batch_to_batch(data, groups):
    draw = Drawn(data)
    declared = declarations(draw, ordered=True)
    parts = " UNION ".join(data.draw(st.lists(st.sampled_from(NAMES), min_size=2, max_size=3)))
    texts = [
        f"SELECT k, v, ts FROM {parts} WHERE v <> 0",
        window_queries(draw, UNITS[declared[0].time]),
    ]
    plans = plans_of(declared, texts, "union = merge")
    batches = data.draw(micro_batches(arrivals(draw, declared)))
    for share in assign_pipelines(plans):
        pipeline = run(data, share, groups, batches, "merge")
        streams = pipeline.exchange.program.streams
        rows = {s.name: [batch.arrived(s.name) for batch in batches] for s in streams}
        assert_answers(pipeline, share, as_numbered(streams, rows))
        assert_kept_well(pipeline)
        if "q0" in share.queries:
            for group in pipeline.exchange.groups:
                outputs = (each[group] for each in pipeline.outputs if group in each)
                times = [row["ts"] for output in outputs for row in output.rows("result", "q0")]
                assert times == sorted(times)


@examples(12)
@given(data, group_counts)
def test_rows_below_the_bound_of_earlier_batches_are_set_aside_as_late(data, groups):
    draw = Drawn(data)
    declared = declarations(draw)
    windowed = draw.choose([True, False])
    texts = [window_queries(draw, UNITS[declared[0].time]) if windowed else row_queries(draw)]
    plans = plans_of(declared, texts)
    batches = data.draw(micro_batches(careless_arrivals(draw, declared)))
    judged = judged_by_batch(declared, batches)
    for share in assign_pipelines(plans):
        pipeline = run(data, share, groups, batches, "meld")
        streams = pipeline.exchange.program.streams
        for stream in streams:
            _, late, timeless, _ = judged[stream.name]
            # Where nothing has windows, late rows pass.
            assert same_rows(pipeline.rows("late", stream.name), late if windowed else [])
            malformed = pipeline.rows("malformed", stream.name)
            assert same_rows([without_reason(r) for r in malformed], as_texts(timeless))
        taken = {name: p.on_time if windowed else p.every for name, p in judged.items()}
        assert_answers(pipeline, share, as_numbered(streams, taken))


def as_texts(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{k: None if v is None else str(v) for k, v in row.items()} for row in rows]


def without_reason(row: dict[str, Any]) -> dict[str, Any]:
    assert row["reason"].endswith("is not a valid time")
    return {name: value for name, value in row.items() if name != "reason"}


# --- one thing at a time -------------------------------------------------------------------------

TALKERS = (
    "SELECT k, count(*) AS n FROM a [RANGE 10 MICROSECONDS, SLIDE 10 MICROSECONDS, WA ts] "
    "GROUP BY k"
)


def row(k: str | None, ts: int | None) -> dict[str, Any]:
    return {"k": k, "v": 1, "d": 0.5, "ts": ts}


def test_a_group_without_rows_in_a_batch_closes_its_windows_all_the_same() -> None:
    pipeline = pipeline_of(TALKERS, Declared("a", 0))
    worker = Worker(None)
    keys = dict.fromkeys(pipeline.exchange.groups, "")
    for k in "abcdefgh":
        lines = pipeline.exchange.messages(MicroBatch({"a": [[[row(k, 1)]]]}), Told())
        keys[next(each.g for each in lines if isinstance(message_of(each), RowBlock))] = k
    one, other = keys.values()
    pipeline.process(MicroBatch({"a": [[[row(one, 1), row(other, 2)]]]}), lambda group: worker)
    pipeline.process(MicroBatch({"a": [[[row(one, 30)]]]}), lambda group: worker)
    assert [r["k"] for r in pipeline.rows("result", "q0", slice(0, 1))] == []
    assert {r["k"] for r in pipeline.rows("result", "q0", slice(1, 2))} == {one, other}


def test_a_row_without_a_time_is_malformed_and_raises_no_bound() -> None:
    pipeline = pipeline_of(TALKERS, Declared("a", 0))
    worker = Worker(None)
    pipeline.process(MicroBatch({"a": [[[row("x", None), row("y", None)]]]}), lambda group: worker)
    pipeline.process(MicroBatch({"a": [[[row("x", -5)]]]}), lambda group: worker)
    assert len(pipeline.rows("malformed", "a")) == 2
    assert pipeline.rows("late", "a") == []


def test_a_time_beyond_all_bounds_does_not_end_the_stream() -> None:
    pipeline = pipeline_of(
        "SELECT k, count(*) AS n FROM a [RANGE 10, SLIDE 10, WA ts] GROUP BY k",
        Declared("a", 0, "BIGINT"),
    )
    worker = Worker(None)
    pipeline.process(MicroBatch({"a": [[[row("x", END), row("x", 3)]]]}), lambda group: worker)
    pipeline.process(MicroBatch({"a": [[[row("x", 4)]]]}), lambda group: worker)
    pipeline.process(MicroBatch(bounds={"a": END}), lambda group: worker)
    assert [r["reason"] for r in pipeline.rows("malformed", "a")] == [
        f"ts: {END} is not a valid time"
    ]
    assert [r["n"] for r in pipeline.rows("result", "q0")] == [2]


def test_rows_behind_the_end_of_a_stream_are_late() -> None:
    pipeline = pipeline_of(TALKERS, Declared("a", 0))
    worker = Worker(None)
    pipeline.process(MicroBatch(bounds={"a": END}), lambda group: worker)
    pipeline.process(MicroBatch({"a": [[[row("x", 3)]]]}), lambda group: worker)
    assert len(pipeline.rows("late", "a")) == 1
    assert pipeline.rows("result", "q0") == []


def test_bounds_that_say_nothing_new_do_not_pile_up_where_rows_wait() -> None:
    pipeline = pipeline_of(
        "SELECT k, ts FROM a UNION b", Declared("a", 0), Declared("b", 0), groups=1, union="merge"
    )
    worker = Worker(None)
    pipeline.process(MicroBatch({"a": [[[row("x", 3)]]]}), lambda group: worker)
    [store] = pipeline.stores.values()
    before = len(store.directory)
    for _ in range(5):
        pipeline.process(MicroBatch(bounds={"a": 1}), lambda group: worker)
    [store] = pipeline.stores.values()
    assert len(store.directory) == before


# --- streams without a time of their own ---------------------------------------------------------


def stamped_host() -> GroupHost:
    columns = (Column("k", Type.STRING), Column("at", Type.TIMESTAMP))
    stream = Stream("s", columns, TimestampKind.INTERNAL, "at")
    kept = tuple(Named(column.name, Ref(column.name, column.type)) for column in columns)
    plan = Project(Source(stream), kept)
    return GroupHost(optimize({"q": plan}))


def stamped(k: str, at: int) -> pl.DataFrame:
    return pl.DataFrame({"k": [k], "at": [at]}, schema={"k": pl.String, "at": pl.Int64})


def test_a_stamp_below_the_bound_is_raised_to_it() -> None:
    host = stamped_host()
    host.process([Arrivals([stamped("x", 50)], newest=50)])
    answers = host.process([Arrivals([stamped("y", 20)], newest=20)])  # the clock went back
    assert answers.results["q"].to_dicts() == [{"k": "y", "at": 50}]
    assert host.report(answers).bounds == {"s": 50}


def test_rows_to_be_stamped_are_late_when_their_stream_is_over() -> None:
    host = stamped_host()
    host.process([Arrivals(bound=END)])
    answers = host.process([Arrivals([stamped("x", 50)], newest=50)])
    assert answers.rejected["s", Reason.LATE].height == 1
    assert "q" not in answers.results


@examples(8)
@given(data, group_counts)
def test_early_results_are_the_same_whoever_computes_them(data, groups):
    draw = Drawn(data)
    declared = declarations(draw)
    unit = UNITS[declared[0].time]
    window = draw.choose([f"[RANGE 6{unit}, SLIDE 2{unit}]", f"[RANGE ALL, SLIDE 5000000{unit}]"])
    emit = draw.choose(["CHANGES", f"EVERY 3{unit}"])
    text = f"SELECT k, count(*) AS n, sum(v) AS s FROM a {window} GROUP BY k EMIT {emit}"
    [share] = assign_pipelines(plans_of(declared, [text]))
    batches = data.draw(micro_batches(arrivals(draw, declared)))
    # Steps of fewer rows show results earlier.
    one = run(data, share, groups, batches, "meld", steps=[None]).rows("result", "q0")
    pipeline = run(data, share, groups, batches, "meld", steps=[None])
    assert same_rows(one, pipeline.rows("result", "q0"))
    streams = pipeline.exchange.program.streams
    rows = {s.name: [batch.arrived(s.name) for batch in batches] for s in streams}
    final = [row for row in one if row["is_final"]]
    assert same_rows(final, evaluate(share.queries["q0"], as_numbered(streams, rows)))
    assert_kept_well(pipeline)


@examples(8)
@given(data, group_counts)
def test_windows_side_by_side_give_the_oracles_answer(data, groups):
    draw = Drawn(data)
    declared = declarations(draw)
    unit = UNITS[declared[0].time]
    short, long = (f"[RANGE {n}{unit}, SLIDE 2{unit}, WA ts]" for n in (3, 12))
    text = f"SELECT k, count(*) {short} AS n, sum(v) {long} AS s, max(d) {short} AS m FROM a"
    [share] = assign_pipelines(plans_of(declared, [f"{text} GROUP BY k"]))
    batches = data.draw(micro_batches(arrivals(draw, declared)))
    pipeline = run(data, share, groups, batches, "meld")
    streams = pipeline.exchange.program.streams
    rows = {s.name: [batch.arrived(s.name) for batch in batches] for s in streams}
    assert_answers(pipeline, share, as_numbered(streams, rows))
    assert_kept_well(pipeline)
