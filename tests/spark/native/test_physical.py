"""Queries that run as Spark SQL alone have physical plans as any other; nothing is started here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.errors import HostError
from penstock.optimizer.physical import from_json, to_json
from penstock.spark.engine import Engine
from penstock.spark.state.checkpoint import Checkpoint

STREAM = """
CREATE STREAM packets (src STRING, len INT, ts TIMESTAMP) FROM parquet 'x' TIMESTAMP BY ts;
CREATE STREAM others (src STRING, len INT, ts TIMESTAMP) FROM parquet 'y' TIMESTAMP BY ts;
"""
BIG = "SELECT src, count(*) AS n FROM packets [RANGE 1 MINUTE] WHERE len > 100 GROUP BY src"


def engine_with(query: str, lowering: str = "native") -> Engine:
    engine = Engine()
    engine.sql(f"{STREAM} SET lowering = {lowering}; CREATE QUERY q AS {query}")
    return engine


def chains(engine: Engine) -> list[str]:
    """The operators of each line that EXPLAIN prints."""
    lines = engine.query("q").explain().splitlines()
    return [line.split("-- ")[1].split(":")[0] for line in lines if "-- " in line]


def test_what_is_below_the_aggregate_is_folded_as_files_are_read() -> None:
    assert chains(engine_with(BIG))[-3:] == ["Fold > SparkAggregate", "Fold", "parquet"]


def test_what_cannot_be_folded_is_left_to_spark() -> None:
    union = BIG.replace("FROM packets", "FROM packets UNION others")
    found = chains(engine_with(union))
    assert "SparkAggregate" in found
    assert {"SparkFilter", "SparkUnion"} <= set(found)
    assert "Fold" not in found


def test_sliding_windows_are_put_together_from_panes() -> None:
    sliding = BIG.replace("1 MINUTE", "2 MINUTES, SLIDE 1 MINUTE")
    assert "Fold > SparkPanes > SparkWindows" in chains(engine_with(sliding))


def test_the_plan_goes_to_json_and_back_and_says_why() -> None:
    plans = engine_with(BIG, "native")._plans
    assert from_json(json.loads(json.dumps(to_json(plans)))) == plans
    [reason] = {each.reason for each in plans["q"].walk() if each.spec.name == "SparkAggregate"}
    assert reason == "as set by SET lowering"


def test_a_checkpoint_is_not_continued_by_the_other_lowering(tmp_path: Path) -> None:
    native, kernel = (engine_with(BIG, each)._programs["q"] for each in ("native", "kernel"))
    assert native.plans != kernel.plans
    for _ in range(2):
        checkpoint = Checkpoint(tmp_path, native)
        checkpoint.confirm(native)
        checkpoint.release()
    changed = "operators of query q changed; setting lowering was native and is kernel"
    with pytest.raises(HostError, match=changed):
        Checkpoint(tmp_path, kernel)
