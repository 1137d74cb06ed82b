"""What is refused before Spark starts: no test here has a session, and none is begun."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest
from pyspark import SparkContext

from penstock.errors import HostError
from penstock.io.storage.lock import hold, is_held
from penstock.spark import engine as module
from penstock.spark import session
from penstock.spark.early_checks import check_packages, why_not_written
from penstock.spark.engine import Engine
from tests.spark.sources.declaring import declared

TEXT = (
    "CREATE STREAM s (v INT) FROM json '{folder}/in' {late}; "
    "CREATE QUERY q INTO parquet '{folder}/out' AS SELECT v FROM s"
)


class Began(Exception):
    """Spark would have been started."""


@pytest.fixture(autouse=True)
def no_spark(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def begin(**_: object) -> None:
        raise Began

    monkeypatch.setattr(module, "local_session", begin)
    for name in ("PYSPARK_SUBMIT_ARGS", "SPARK_CONF_DIR", "SPARK_HOME"):
        monkeypatch.delenv(name, raising=False)
    yield


def started(folder: Path, late: str = "", checkpoint: Path | None = None) -> None:
    (folder / "in").mkdir(exist_ok=True)
    engine = Engine(checkpoint=checkpoint)
    engine.sql(TEXT.format(folder=folder, late=late))
    engine.start()


def refused(folder: Path, late: str = "", checkpoint: Path | None = None) -> str:
    with pytest.raises(HostError) as found:
        started(folder, late, checkpoint)
    return str(found.value)


def test_what_is_in_order_goes_on_to_spark_and_leaves_nothing(tmp_path: Path) -> None:
    for late in ("", f"LATE INTO csv '{tmp_path}/late'"):
        with pytest.raises(Began):
            started(tmp_path, late, tmp_path / "checkpoint")
    assert [each.name for each in tmp_path.iterdir()] == ["in"]


def test_a_place_that_another_process_has_is_named(tmp_path: Path) -> None:
    for name, late, words in (
        ("out/_lock", "", "another run is writing its results into"),
        ("late/_lock", f"LATE INTO csv '{tmp_path}/late'", "another run is writing its results"),
        ("out/_checkpoint/lock", "", "is in use by another process"),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        lock = hold(tmp_path / name)
        assert lock is not None and is_held(tmp_path / name)
        assert words in refused(tmp_path, late)
        lock.release()
        (tmp_path / name).touch()  # as a kill leaves it
        with pytest.raises(Began):
            started(tmp_path, late)


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    said = refused(tmp_path, checkpoint=tmp_path / "file" / "checkpoint")
    assert "cannot keep a checkpoint at" in said and "is not a directory" in said
    (tmp_path / "out").touch()
    said = refused(tmp_path, checkpoint=tmp_path / "checkpoint")
    assert f"cannot write results to `{tmp_path}/out`: `{tmp_path}/out` is not a directory" in said
    assert why_not_written(Path("somewhere/new")) == ""


@pytest.mark.skipif(os.getuid() == 0, reason="root may write anywhere")
def test_a_directory_without_permission_is_named(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o500)
    assert "cannot be written to" in why_not_written(tmp_path / "closed" / "new")


def test_results_without_a_checkpoint_are_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "part-00000000.parquet").touch()
    assert "holds results already" in refused(tmp_path)
    (tmp_path / "out" / "_checkpoint").mkdir()
    with pytest.raises(Began):  # what is wrong with it is said where it is claimed
        started(tmp_path)


@pytest.mark.parametrize("format", ["kafka 'h:1' OPTIONS (topic 't')", "avro 'x'"])
def test_a_package_that_is_missing_is_named(
    format: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Engine()
    engine.sql(f"CREATE STREAM s (v INT) FROM {format}; SELECT v FROM s")
    monkeypatch.setattr(session, "_BEGUN", {})  # whatever tests before this one have begun
    monkeypatch.setattr(SparkContext, "_gateway", None)
    with pytest.raises(HostError, match=r"(?s)stream `s`: this Spark has no format .*--packages"):
        engine.start()
    # A program that has started Spark itself gets that one, whatever it has.
    monkeypatch.setattr(SparkContext, "_gateway", object())
    with pytest.raises(Began):
        engine.start()
    monkeypatch.setitem(session._BEGUN, (None, None, ()), Future())  # unless it is ours
    with pytest.raises(HostError):
        engine.start()
    stream = declared(format)
    for setting in ("spark.jars.packages", "spark.jars", "spark.driver.extraClassPath"):
        check_packages([stream], {setting: "somewhere"})
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    with pytest.raises(HostError):
        check_packages([stream], {})
    (tmp_path / "jars").mkdir()
    for name in ("spark-sql-kafka-0-10_2.13-4.3.0.jar", "spark-avro_2.13-4.3.0.jar"):
        (tmp_path / "jars" / name).touch()
    check_packages([stream], {})


def test_a_run_says_so_where_there_is_no_java(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "out").touch()
    file = tmp_path / "run.sql"
    file.write_text(TEXT.format(folder=tmp_path, late=""))
    ran = subprocess.run(
        [sys.executable, "-m", "penstock", "run", str(file)],
        env={**os.environ, "PATH": "", "JAVA_HOME": "/nowhere"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 1
    assert "cannot write results to" in ran.stderr and "Spark does not start" not in ran.stderr
