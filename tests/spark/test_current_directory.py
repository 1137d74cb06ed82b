"""Relative paths are those of this process, wherever Java was started."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from pyspark.sql import SparkSession

from penstock.spark.engine import Engine


@pytest.mark.parametrize("source", ["'in'", "'i*'", "'in' OPTIONS (mode 'PERMISSIVE')"])
def test_a_program_that_changes_its_directory_has_everything_there(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    for name in ("one", "two"):
        here = tmp_path / name
        (here / "in").mkdir(parents=True)
        (here / "in" / "0.json").write_text(f'{{"k": "{name}"}}\n')
        monkeypatch.chdir(here)
        engine = Engine(spark)
        engine.sql(
            f"CREATE STREAM s (k STRING) FROM json {source};"
            "CREATE QUERY q INTO parquet 'out' AS SELECT k FROM s"
        )
        engine.start()
        engine.finish()
        assert pl.read_parquet("out/*.parquet")["k"].to_list() == [name]
        assert (here / "out" / "_checkpoint" / "spark" / "offsets").is_dir()
