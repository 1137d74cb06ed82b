"""Elements of arrays and maps on Spark's host, without Spark: groups, tasks that aggregate, rows.

By which columns rows are partitioned where queries group by elements, which pipelines need no
groups, and that groups give the oracle's answer, whatever falls in between.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.optimizer.specs import ExplodeSpec
from penstock.spark.exchange.preaggregation import preaggregations
from penstock.spark.placement.pipeline_groups import PipelineGroup, assign_pipelines
from penstock.spark.rows.choice import GROUPS, ROWS
from tests.engine.draw import Drawn, examples
from tests.engine.random_explodes import (
    NestedStream,
    join_queries,
    nested_arrivals,
    nested_streams,
    row_queries,
    window_queries,
)
from tests.engine.random_streams import UNITS
from tests.spark.group_pipelines import assert_answers, assert_kept_well, plans_of, run
from tests.spark.random_batches import as_numbered, micro_batches

STREAMS = [NestedStream("a", 5), NestedStream("b", 5)]
BY = (
    "SELECT {by}, count(*) AS n FROM a [RANGE 10 MICROSECONDS] "
    "LATERAL VIEW explode(tags) t AS tag GROUP BY {by}"
)


def group_of(text: str) -> PipelineGroup:
    [group] = assign_pipelines(plans_of([*STREAMS], [text]))
    return group


@pytest.mark.parametrize(("by", "keys"), [("tag", ()), ("k, tag", ("k",)), ("k", ("k",))])
def test_rows_are_partitioned_by_columns_of_the_stream_and_aggregated_by_tasks(
    by: str, keys: tuple[str, ...]
) -> None:
    group = group_of(BY.format(by=by))
    assert group.keys == {"a": keys}
    [aggregate] = preaggregations(group.program(), group.keys)["a"].aggregates
    assert isinstance(aggregate.steps[0], ExplodeSpec)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("SELECT k, tag FROM a LATERAL VIEW OUTER explode(tags) t AS tag WHERE tag <> 'x'", ROWS),
        ("SELECT * FROM (SELECT k, tags FROM a) AS s, UNNEST(s.tags) AS t(tag)", ROWS),
        (BY.format(by="tag"), GROUPS),
    ],
)
def test_elements_of_single_rows_need_no_groups(text: str, form: str) -> None:
    group = group_of(text)
    assert group.form(group.program()).step == form


@examples(15)
@given(st.data(), st.integers(1, 3))
def test_groups_give_the_oracles_answer(data, groups):
    draw = Drawn(data)
    declared = nested_streams(draw)
    make = draw.choose([window_queries, window_queries, join_queries, row_queries])
    plans = plans_of(declared, [make(draw, UNITS[declared[0].time])])
    batches = data.draw(micro_batches(nested_arrivals(draw, declared)))
    [share] = assign_pipelines(plans)
    pipeline = run(data, share, groups, batches, "meld")
    streams = pipeline.exchange.program.streams
    rows = {s.name: [batch.arrived(s.name) for batch in batches] for s in streams}
    assert_answers(pipeline, share, as_numbered(streams, rows))
    assert_kept_well(pipeline)
