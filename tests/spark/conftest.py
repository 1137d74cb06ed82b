"""One Spark session for all tests that need one; none of them on a Python that Spark is not for."""

from __future__ import annotations

import importlib.util
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.kafka_jars import NoJars, connector_jars

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

collect_ignore_glob = [] if importlib.util.find_spec("pyspark") else ["test_*.py"]


@pytest.fixture(scope="session")
def spark(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[SparkSession]:
    from penstock.spark import faults
    from penstock.spark.session import for_short_run, local_session

    faults.use(tmp_path_factory.mktemp("faults"))  # where tests may arm some: workers look there
    # Most of what tests have Java do it does once: compiling it well takes longer than it saves.
    session = local_session(cores=2, conf=for_short_run(connector(request.session)))
    yield session
    session.stop()
    faults.use(None)


def connector(tests: pytest.Session) -> dict[str, str]:
    """Settings with Spark's connector for Kafka, where tests want it and it can be had."""
    if not any("kafka" in getattr(test, "fixturenames", ()) for test in tests.items):
        return {}
    try:
        return {"spark.jars": ",".join(map(str, connector_jars()))}
    except NoJars:
        return {}  # those tests are skipped


@pytest.fixture(autouse=True)
def however_few(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests have few rows, with which tasks of Spark do nothing special.

    In every other test on Spark, by its name, they do what they would do with many.
    """
    if "spark" in request.fixturenames and zlib.crc32(request.node.nodeid.encode()) % 2:
        from penstock.spark.control import told
        from penstock.spark.exchange import preaggregation

        monkeypatch.setattr(told, "STAGED_FROM", 1)
        monkeypatch.setattr(told, "SHARED_FROM", 1)
        monkeypatch.setattr(preaggregation, "LEAST", 1)
        monkeypatch.setattr(preaggregation, "GAIN", 0)
