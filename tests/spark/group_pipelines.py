"""Pipelines of queries over declared streams, on Spark's host without Spark."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from hypothesis import strategies as st

from penstock.catalog.settings import SETTINGS
from penstock.model.timestamps import END
from penstock.optimizer.optimize import optimize
from penstock.optimizer.options import Options
from penstock.optimizer.physical import Program, Queries
from penstock.oracle.evaluate import evaluate, same_rows
from penstock.plan.nodes import Node
from penstock.spark.in_memory.micro_batches import Exchange, FakePipeline, MicroBatch, Worker
from penstock.spark.placement.pipeline_groups import PipelineGroup, assign_pipelines
from penstock.spark.state import segment_cache
from tests.engine.baselines import BASELINES
from tests.engine.random_streams import Declared
from tests.engine.running import PROMPT_AGGREGATIONS, started

GROUPS = (2, 0, 14)


def plans_of(declared: list[Declared], texts: list[str], *settings: str) -> dict[str, Node]:
    engine = started(declared, *settings)
    return {f"q{n}": engine.sql(text).plan for n, text in enumerate(texts)}


def pipeline_of(
    text: str, *declared: Declared, groups: int = 2, union: str = "meld"
) -> FakePipeline:
    [share] = assign_pipelines(plans_of(list(declared), [text], f"union = {union}"))
    return FakePipeline(
        Exchange(optimize(share.queries, Options(union=union)), share.keys, GROUPS[:groups])
    )


def computed(queries: Queries, options: Options) -> Program:
    """The operators for queries; the aggregation may be the name of a baseline."""
    baseline = BASELINES.get(options.aggregation)
    if baseline is None:
        return optimize(queries, options)
    return baseline(optimize(queries, replace(options, aggregation=baseline.aggregation)))


AGGREGATIONS = (
    *(Options(aggregation=each) for each in PROMPT_AGGREGATIONS),
    *(
        Options(aggregation="two_level", table_size=size, flush=flush, flush_rows=5)
        for size, flush in ((3, "slow"), (1, "lazy"))
    ),
)


def run(
    data: Any,
    share: PipelineGroup,
    groups: int,
    batches: list[MicroBatch],
    union: str,
    join: str = "auto",
    steps: Sequence[int | None] = (None, 7, 1),
    aggregations: Sequence[Options] = AGGREGATIONS,
) -> FakePipeline:
    """All batches and the end of all streams, on workers that Hypothesis chooses."""
    options = replace(
        data.draw(st.sampled_from(aggregations)),
        union=union,
        join=join,
        strategy=data.draw(st.sampled_from(SETTINGS["strategy"].words)),
        rows_per_step=data.draw(st.sampled_from(steps)),
        ets_by=data.draw(st.sampled_from(SETTINGS["ets_by"].words)),
    )
    program = computed(share.queries, options)
    salt = data.draw(st.integers(0, 3))
    exchange = Exchange(program, share.keys, GROUPS[:groups], salt)
    end = MicroBatch(bounds={stream.name: END for stream in program.streams})
    with (
        tempfile.TemporaryDirectory() as folder,
        tempfile.TemporaryDirectory() as memory,
        patch.object(segment_cache, "WORTH_SHARING", data.draw(st.sampled_from([0, 1 << 20]))),
    ):
        pipeline = FakePipeline(exchange, Path(memory), data.draw(st.sampled_from([0, 1 << 20])))
        workers = [Worker(Path(folder)), Worker(Path(folder)), Worker(None)]
        some = st.sampled_from(workers)
        for batch in [*batches, end]:
            pipeline.process(
                batch,
                worker=lambda group: data.draw(some),
                failed=lambda group: data.draw(st.lists(some, max_size=2)),
                shuffled=lambda lines: random.Random(salt).sample(lines, len(lines)),
            )
    return pipeline


def assert_answers(pipeline: FakePipeline, share: PipelineGroup, inputs: Mapping[str, Any]) -> None:
    for name, plan in share.queries.items():
        ours, expected = pipeline.rows("result", name), evaluate(plan, inputs)
        assert same_rows(ours, expected), (name, share.keys, ours, expected)


def assert_kept_well(pipeline: FakePipeline) -> None:
    """Segments were written once; at the end of the streams nothing is left of them."""
    for store in pipeline.stores.values():
        assert all(count == 1 for count in store.writes.values())
        assert store.segments == {}
