"""Spark's settings for pipelines of the kernel."""

from __future__ import annotations

from pathlib import Path

from penstock.spark.pipeline import WRITTEN_PROGRAMS, settings_for
from tests.spark.sources.declaring import declared


def test_spark_writes_programs_only_where_rows_pass_through_it(tmp_path: Path) -> None:
    ours = declared(f"parquet '{tmp_path}'")
    assert settings_for([ours, ours])[WRITTEN_PROGRAMS] == "false"
    assert WRITTEN_PROGRAMS not in settings_for([ours, declared("rate")])
