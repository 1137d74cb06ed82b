"""What EXPLAIN prints before queries are started is what their pipelines report when they run.

All queries of the specification, by the kernel and, where they can, as Spark SQL alone, on one
engine and for one micro-batch. By default one pipeline of each kind: that groups run what is
printed of any query is shown without Spark (`tests/optimizer/test_explain.py`).
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from pyspark.sql import SparkSession

from penstock.optimizer.explain import explain_program
from penstock.optimizer.physical import PhysicalPlan, Program, walk
from penstock.optimizer.specs import SourceSpec
from penstock.spark.engine import Engine
from penstock.spark.placement.pipeline_groups import PipelineGroup
from tests.sql.declared import LINKS, PACKETS
from tests.sql.specification import QUERIES

STREAMS = (*LINKS, "S0", "S1")
BEGIN = datetime(2026, 1, 1)


def write(folder: Path) -> None:
    """A few packets."""
    rows = pl.DataFrame(
        {
            "srcIP": ["a", "b", "a"],
            "srcPort": [1, 2, 3],
            "destIP": ["b", "a", "b"],
            "destPort": [2, 1, 3],
            "len": [10, 600, 20],
            "length": [10, 600, 20],
            "ts": [BEGIN + timedelta(seconds=n) for n in range(3)],
        },
        schema_overrides=dict.fromkeys(("srcPort", "destPort", "len", "length"), pl.Int32),
    )
    for name in STREAMS:
        (folder / name).mkdir()
        rows.write_parquet(folder / name / "0.parquet")


def declared(spark: SparkSession, folder: Path) -> Engine:
    """An engine with every query."""
    engine = Engine(spark)
    for name in STREAMS:
        source = f"parquet '{folder / name}'"
        engine.sql(f"CREATE STREAM {name} ({PACKETS}) FROM {source} TIMESTAMP BY ts")
    engine.sql("DECLARE n = 3 SECONDS; DECLARE m = 5")
    for title, case in QUERIES.items():
        engine.sql(f"CREATE QUERY `{title}` AS {case.sql}")
    return engine


def operators(plans: Iterable[PhysicalPlan]) -> set[PhysicalPlan]:
    return {plan for plan in walk(plans) if not isinstance(plan.spec, SourceSpec)}


def pipelines(engine: Engine) -> list[Program]:
    """The programs of an engine, each once."""
    return list({id(program): program for program in engine._programs.values()}.values())


def keep_the_largest(engine: Engine) -> None:
    """Drop all pipelines but the one with most operators."""
    *others, _ = sorted(engine._planning.planned(), key=lambda share: len(operators_of(share)))
    for share in others:
        for name in share.queries:
            engine.sql(f"DROP QUERY `{name}`")


def operators_of(share: PipelineGroup) -> set[PhysicalPlan]:
    return operators(share.program().plans.values())


@pytest.mark.parametrize("which", ["some", pytest.param("all", marks=pytest.mark.slow)])
def test_pipelines_run_what_explain_prints(spark: SparkSession, tmp_path: Path, which: str) -> None:
    write(tmp_path)
    with declared(spark, tmp_path) as engine:
        if which == "some":
            keep_the_largest(engine)
        shown = {query.name: query.explain() for query in engine.queries}
        before = engine._plans
        engine.start()
        engine.process_available()
        assert engine._plans == before
        assert {query.name: query.explain() for query in engine.queries} == shown
        reported = engine.status().operators
        assert {each.name for each in reported} == {
            plan.id for plan in operators(engine._plans.values())
        }
        for program in pipelines(engine):
            for name, plan in program.plans.items():
                assert shown[name].startswith(explain_program(program.plans))
                mine = {each.name for each in reported if name in each.queries}
                assert mine == {each.id for each in operators([plan])}
