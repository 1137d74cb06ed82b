"""`penstock verify` on Spark itself: a restart, a task that fails."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.spark.engine import Engine
from penstock.verification.report import lines
from penstock.verification.run_spark import OnSpark
from penstock.verification.verify import Verification
from tests.verification.corpus import EVERYTHING, EXAMPLES, ROOT, specification

TUMBLING = """
    CREATE STREAM s (k STRING, v INT, ts TIMESTAMP) TIMESTAMP BY ts SLACK 5 SECONDS;
    SELECT k, count(*) AS n, sum(v) AS total FROM s [RANGE 10 SECONDS] GROUP BY k;
"""


def verified(spark: SparkSession, text: str, seeds: list[int], rows: int = 60) -> Verification:
    done = Verification(text, rows)
    on_spark = OnSpark(lambda place: Engine(spark, checkpoint=place))
    for _ in done.run_on_spark(on_spark, seeds):
        pass
    assert done.outcome.found is None, "\n".join(lines(done))
    return done


@pytest.mark.slow
def test_a_query_equals_its_definition(spark: SparkSession) -> None:
    done = verified(spark, TUMBLING, [1, 2, 3])
    assert done.outcome.compared["query_1"] == 3


@pytest.mark.slow
@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_an_example_equals_its_definition_on_spark(
    spark: SparkSession, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    verified(spark, file.read_text(), [0, 1], rows=200)


@pytest.mark.slow
def test_the_queries_of_the_specification_equal_their_definition_on_spark(
    spark: SparkSession,
) -> None:
    verified(spark, specification(), [1])


@pytest.mark.slow
def test_every_kind_equals_its_definition_on_spark(spark: SparkSession) -> None:
    done = verified(spark, EVERYTHING, [1])
    assert any("stamped on Spark itself" in each for each in done.outcome.not_tried)
