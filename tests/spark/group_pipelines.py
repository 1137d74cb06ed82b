"""Pipelines of queries over declared streams, on Spark's host without Spark."""

from __future__ import annotations

from penstock.optimizer.optimize import optimize
from penstock.optimizer.options import Options
from penstock.plan.nodes import Node
from penstock.spark.in_memory.micro_batches import Exchange, FakePipeline
from penstock.spark.placement.pipeline_groups import assign_pipelines
from tests.engine.random_streams import Declared
from tests.engine.running import started

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
