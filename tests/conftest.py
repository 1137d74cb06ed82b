"""What holds for every test: where random cases come from, and which process runs it."""

from __future__ import annotations

import atexit
import gc
import os
import shutil
import tempfile
from collections.abc import Generator, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal import constants_ast
from hypothesis.internal.conjecture import providers

from tests.servers import Server, kafka_server, postgres_server, redis_server
from tests.spark_first import SparkFirst, has_session

TEMPORARY = pytest.StashKey[str]()
USUAL: dict[str, Any] = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("fixed", derandomize=True, max_examples=50, **USUAL)
settings.register_profile("random", print_blob=True, **USUAL)


def pytest_configure(config: pytest.Config) -> None:
    """What is chosen depends on no machine, and nothing is left in the temporary directory.

    Hypothesis draws the same cases on every run, unless it is given a seed, as by `--slow`."""
    if not hasattr(config, "workerinput"):  # the process that workers are started by
        config.stash[TEMPORARY] = os.environ["TMPDIR"] = tempfile.mkdtemp(prefix="penstock-tests-")
        os.chmod(os.environ["TMPDIR"], 0o711)  # servers run as other users
        tempfile.tempdir = None
    os.environ["PENSTOCK_COSTS"] = "reference"
    os.environ["PENSTOCK_CLASSES"] = "none"  # set-ups in tests have no Spark to run
    # Blocks of tests are small, and the cores are taken: by the other process, and by Spark.
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    fixed = config.getoption("hypothesis_seed") is None
    settings.load_profile("fixed" if fixed else "random")
    if fixed:
        # It also draws constants out of the modules that happen to be imported, which depend on
        # how tests are shared out to processes; no setting leaves that out.
        none = constants_ast.Constants()
        providers._get_local_constants = lambda: none


def pytest_report_header(config: pytest.Config) -> str | None:
    seed = config.getoption("hypothesis_seed")
    return None if seed is None else f"cases at random: repeat with --hypothesis-seed={seed}"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> SparkFirst | None:
    return SparkFirst(config, log) if config.getoption("dist") == "loadscope" else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """A thousand modules are read and nothing of them goes: nobody need look for garbage."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            file = item.nodeid.partition("::")[0]
            assert has_session(file), f"{file}: write the fixture as `spark: SparkSession`"
    if hasattr(config, "workerinput"):  # one of several processes
        items.sort(key=lambda item: not has_session(item.nodeid.partition("::")[0]))


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A PostgreSQL server for all tests that need one; each makes tables of its own."""
    with postgres_server() as server:
        yield server


@pytest.fixture(scope="session")
def redis() -> Iterator[Server]:
    """A Redis server for all tests that need one; each has keys of its own."""
    with redis_server() as server:
        yield server


@pytest.fixture(scope="session")
def kafka() -> Iterator[Server]:
    """A Kafka broker for all tests that need one; each has topics of its own."""
    with kafka_server() as server:
        yield server


def pytest_collection_finish() -> None:
    """What is there by now stays: thousands of tests need not be looked through for garbage."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """The folders of tests that failed may be looked at."""
    if exitstatus == pytest.ExitCode.OK and TEMPORARY in session.config.stash:
        folder = session.config.stash[TEMPORARY]
        atexit.register(shutil.rmtree, folder, ignore_errors=True)  # when Spark is gone


def pytest_unconfigure() -> None:
    gc.unfreeze()  # what is frozen at the end is reported as leaked by libraries that look
