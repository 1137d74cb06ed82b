"""Programs reach tasks as files, which are taken back when no batch runs them any more."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark import SparkFiles
from pyspark.sql import SparkSession

from penstock.spark import shipped_programs as module
from penstock.spark.shipped_programs import ShippedProgram, ship, shipped, take_back


def test_tasks_are_told_of_a_program_on_a_cluster_until_it_is_taken_back(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    context, known = spark.sparkContext, set(spark.sparkContext.listFiles)
    monkeypatch.setattr(module, "_is_local", lambda context: False)
    program = ShippedProgram({"a": "program"}, {})  # type: ignore[arg-type]
    for name in ("penstock-program-one", "penstock-program-two"):
        ship(context, name, program)
    assert len(set(context.listFiles) - known) == 2
    assert shipped("penstock-program-one") == program
    take_back(context, "penstock-program-one")
    [left] = set(context.listFiles) - known
    assert left.endswith("/penstock-program-two")
    take_back(context, "penstock-program-two")
    assert set(context.listFiles) == known
    assert not list(Path(SparkFiles.getRootDirectory()).glob("penstock-program-*wo"))


def test_on_one_machine_tasks_look_into_the_same_folder(spark: SparkSession) -> None:
    context, known = spark.sparkContext, set(spark.sparkContext.listFiles)
    ship(context, "penstock-program-here", ShippedProgram({}, {}))  # type: ignore[arg-type]
    assert set(context.listFiles) == known
    file = Path(SparkFiles.get("penstock-program-here"))
    assert file.exists()
    take_back(context, "penstock-program-here")
    assert not file.exists()
