"""Whatever fails on Spark, a public call raises nothing but errors of ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from py4j.clientserver import JavaClient
from pyspark.sql import SparkSession

from penstock.errors import HostError
from penstock.spark.engine import Engine
from tests.border_calls import NOW, foreign_errors


@pytest.fixture
def engine(spark: SparkSession, tmp_path: Path) -> Engine:
    pl.DataFrame({"k": [1, 2], "ts": [NOW, NOW]}).write_parquet(tmp_path / "1.parquet")
    engine = Engine(spark)
    engine.sql(
        f"CREATE STREAM s (k BIGINT, ts TIMESTAMP) FROM parquet '{tmp_path}' TIMESTAMP BY ts;"
        "CREATE STREAM p (k BIGINT, ts TIMESTAMP) FROM rate TIMESTAMP BY ts PUNCTUATED;"
        "CREATE QUERY q AS SELECT k FROM s"
    )
    return engine


def test_every_call_raises_only_our_errors_when_java_is_gone(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(self: Any) -> Any:
        raise ConnectionRefusedError(111, "Connection refused")

    assert foreign_errors(engine) == []  # before anything has started
    engine.start()
    try:
        engine.process_available()
        query = engine.query("q")
        with monkeypatch.context() as patched:
            patched.setattr(JavaClient, "_get_connection", refused)
            assert foreign_errors(engine) == []
            assert foreign_errors(query) == []
            with pytest.raises(HostError, match="Java process is gone"):
                engine.status()
    finally:
        engine.stop()


@pytest.mark.parametrize(
    "given", [{"spark": "foo"}, {"spark": 3}, {"master": 3}, {"conf": "x"}, {"conf": 3}]
)
def test_an_argument_of_another_kind_is_named(given: dict[str, Any]) -> None:
    [name] = given
    with pytest.raises(HostError, match=f"^{name}= "):
        Engine(**given)
