"""Windows over the rows of filters, unions and joins, in the order in which they come to them.

Of one stream that order is the stream's own, and the oracle's answer is the only one. Where rows of
several streams come together it is whatever order they come in; a query over the same input shows
it, for it reads the same rows.
"""

from __future__ import annotations

import pytest

from penstock.local.engine import LocalEngine
from penstock.model.timestamps import END
from penstock.optimizer.optimize import optimize
from penstock.oracle.evaluate import evaluate, evaluate_window_aggregate, same_rows
from penstock.plan import nodes
from penstock.spark.in_memory.micro_batches import Exchange, FakePipeline, MicroBatch, Worker
from penstock.spark.placement.pipeline_groups import assign_pipelines
from penstock.verification.judging import not_judged
from penstock.windows import Sliding
from tests.engine.draw import Draw, Seeded, check_seeds, many_seeds, seeds
from tests.engine.random_queries import CONDITIONS
from tests.engine.random_streams import UNITS, Push, arrivals, declarations, pushed
from tests.engine.running import assert_right, feed, how, rows_of, started
from tests.ticks import push_ticks

FILTERED = (
    "(SELECT k, v, ts FROM a WHERE {})",
    "(SELECT k, v FROM a WHERE {})",
    "(SELECT v, k FROM (SELECT k, v, v + 1 AS w FROM a WHERE {}) WHERE w <> 3)",
)


def rows_of_a_filter_are_counted_as_they_pass(draw: Draw) -> None:
    declared = declarations(draw)
    source = draw.choose(FILTERED).format(draw.choose(CONDITIONS))
    range_, slide = draw.between(1, 9), draw.between(1, 9)
    group = draw.choose(["", " GROUP BY k"])
    window = f"RANGE {range_} ROWS, SLIDE {slide} ROWS{draw.choose(['', ', PA k'])}"
    text = f"SELECT count(*) AS n, sum(v) AS s FROM {source} [{window}]"
    events = arrivals(draw, declared)
    mode = f"mode = {draw.choose(['oop', 'iop'])}"
    engine = started(declared, mode, *how(draw, ("auto", "wid", "paned", "buffering")))
    query = engine.sql(text + group)
    feed(engine, events)
    engine.finish()
    assert_right(query, pushed(declared, events), text)
    assert [rows for *_, rows, _ in engine.state() if rows] == []


@many_seeds(16, slow=80)
def test_rows_of_a_filter_are_counted_as_they_pass(count: int) -> None:
    check_seeds(count, rows_of_a_filter_are_counted_as_they_pass)


def rows_of_several_streams_are_counted_as_they_come(draw: Draw) -> None:
    declared = declarations(draw)
    near = f"INTERVAL '{5}' MICROSECOND" if UNITS[declared[0].time] else "5"
    source = draw.choose(
        [
            "(SELECT k, v, ts FROM a UNION ALL SELECT k, v, ts FROM b)",
            "(SELECT x.k AS k, y.v AS v, x.ts AS ts FROM a AS x JOIN b AS y "
            f"ON x.k = y.k AND x.ts BETWEEN y.ts - {near} AND y.ts + {near})",
        ]
    )
    range_, slide = draw.between(1, 9), draw.between(1, 9)
    engine = started(declared, *how(draw, ("auto", "wid", "paned", "buffering")))
    rows = engine.sql(f"SELECT * FROM {source}")
    counted = engine.sql(
        f"SELECT k, count(*) AS n, sum(v) AS s FROM {source} "
        f"[RANGE {range_} ROWS, SLIDE {slide} ROWS] GROUP BY k"
    )
    feed(engine, arrivals(draw, declared))
    engine.finish()
    came = [{**row, "row_num": n} for n, row in enumerate(rows_of(rows.to_polars()), start=1)]
    window = Sliding("row_num", range_, slide, 1, "rows")
    calls = {"n": ("count", None), "s": ("sum", lambda row: row["v"])}
    expected = [
        row
        for row in evaluate_window_aggregate(window, came, ("k",), calls)
        if row["window_end"] - slide <= len(came)
    ]
    assert same_rows(rows_of(counted.to_polars()), expected), counted.explain()


@many_seeds(16, slow=80)
def test_rows_of_several_streams_are_counted_as_they_come(count: int) -> None:
    check_seeds(count, rows_of_several_streams_are_counted_as_they_come)


@pytest.mark.parametrize("seed", seeds(10, slow=25))
def test_groups_count_the_rows_of_a_filter(seed: int) -> None:
    draw = Seeded(seed)
    declared = declarations(draw, ordered=True)
    source = draw.choose(FILTERED).format(draw.choose(CONDITIONS))
    text = f"SELECT k, count(*) AS n FROM {source} [RANGE 5 ROWS, SLIDE 2 ROWS] GROUP BY k"
    [share] = assign_pipelines({"q": started(declared).sql(text).plan})
    pipeline = FakePipeline(Exchange(optimize(share.queries), share.keys, (0, 1, 2)))
    worker, events = Worker(None), arrivals(draw, declared)
    blocks = [e.rows for e in events if isinstance(e, Push) and e.stream == "a"]
    for batch in [*(MicroBatch({"a": [[b]]}) for b in blocks), MicroBatch(bounds={"a": END})]:
        pipeline.process(batch, lambda group: worker)
    inputs = {"a": [row for b in blocks for row in sorted(b, key=lambda row: row["ts"])]}
    assert same_rows(pipeline.rows("result", "q"), evaluate(share.queries["q"], inputs))


def test_a_window_comes_out_with_the_row_that_ends_it() -> None:
    engine = LocalEngine()
    engine.sql("CREATE STREAM s (v INT, ts BIGINT) TIMESTAMP BY ts ORDERED")
    query = engine.sql("SELECT sum(v) AS s FROM (SELECT v, ts FROM s WHERE v > 0) [RANGE 2 ROWS]")
    for v in (1, -1, 2, -1):
        push_ticks(engine, "s", [{"v": v, "ts": v + 5}])
    assert query.results()["s"].to_list() == [3]
    assert "something waits" in str(query.why()) or "nothing waits" in str(query.why())
    push_ticks(engine, "s", [{"v": 9, "ts": 99}])
    engine.finish()
    assert query.results()["s"].to_list() == [3, 9]


@pytest.mark.parametrize("time", ["TIMESTAMP BY ts SLACK 5", "LATENT", "TIMESTAMP INTERNAL"])
def test_rows_are_counted_where_a_subquery_leaves_out_all_times(time: str) -> None:
    engine = LocalEngine()
    engine.sql(f"CREATE STREAM s (v INT, ts BIGINT) {time}")
    query = engine.sql("SELECT sum(v) AS s FROM (SELECT v FROM s WHERE v <> 3) [RANGE 2 ROWS]")
    assert query.results().columns == ["s", "window_start", "window_end"]
    push_ticks(engine, "s", [{"v": v, "ts": v} for v in range(1, 7)])
    assert query.results()["s"].to_list() == [3, 9]
    engine.finish()
    assert query.results()["s"].to_list() == [3, 9, 6]


def test_a_stream_itself_still_counts_all_its_rows() -> None:
    engine = LocalEngine()
    engine.sql("CREATE STREAM s (v INT, ts BIGINT) TIMESTAMP BY ts ORDERED")
    query = engine.sql("SELECT sum(v) AS s FROM s [RANGE 2 ROWS] WHERE v > 0")
    assert not any(isinstance(node, nodes.Numbered) for node in [query.plan.children[0]])


def test_what_depends_on_the_order_of_several_streams_is_not_judged() -> None:
    engine = LocalEngine()
    engine.sql("CREATE STREAM s (v INT, ts BIGINT) TIMESTAMP BY ts ORDERED")
    filtered = engine.sql("SELECT sum(v) AS s FROM (SELECT v, ts FROM s) [RANGE 2 ROWS]")
    united = engine.sql("SELECT sum(v) AS s FROM s UNION s [RANGE 2 ROWS]")
    assert not_judged(filtered.plan) is None
    assert "in the order in which" in str(not_judged(united.plan))
