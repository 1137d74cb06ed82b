"""What Java and the Python workers of a local Spark are started with."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from penstock.spark.jvm import (
    ARCHIVE,
    FOLDER,
    added_files,
    all_settings,
    forget_sockets,
    java_options,
    worker_python,
)
from penstock.spark.session import for_short_run, settings_of

JAVA = "spark.driver.extraJavaOptions"


def test_what_set_up_has_made_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path))
    assert not any("Archive" in option or "library" in option for option in java_options())
    made = tmp_path / FOLDER
    made.mkdir()
    (made / ARCHIVE).touch()
    (made / "librocksdbjni.so").touch()
    assert f"-XX:SharedArchiveFile={made / ARCHIVE}" in java_options()
    assert f"-Djava.library.path={made}" in java_options()


def test_options_of_the_users_come_last_and_count() -> None:
    given = for_short_run({JAVA: "-Xss8m", "spark.ui.enabled": "true"})
    assert given["spark.ui.enabled"] == "true"
    assert settings_of(2, conf=given)[JAVA].endswith("-XX:+UseSerialGC -Xss8m")
    assert settings_of(2, "spark://host:7077", {JAVA: "-Xss8m"})[JAVA] == "-Xss8m"


def test_regions_are_large_unless_the_user_has_sized_the_heap() -> None:
    assert "-XX:G1HeapRegionSize=" in settings_of(2)[JAVA]
    assert "-XX:G1HeapRegionSize=" not in settings_of(2, conf={"spark.driver.memory": "1g"})[JAVA]


def test_a_worker_does_without_sparks_zip_and_with_everything_else() -> None:
    paths = "/spark/python/lib/pyspark.zip:/spark/python/lib/py4j-0.10-src.zip:/my own:/src"
    told = subprocess.run(
        [worker_python(), "-c", "import os, sys; print(os.environ['PYTHONPATH'], sys.prefix)"],
        env={"PYTHONPATH": paths, "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    assert told.stdout == f"/my own:/src {sys.prefix}\n", told.stderr


def remembered(spark: SparkSession) -> set[str]:
    """The files that Java would delete at exit."""
    jvm: Any = spark._jvm
    files = jvm.java.lang.Class.forName("java.io.DeleteOnExitHook").getDeclaredField("files")
    files.setAccessible(True)
    return set(files.get(None))


def test_java_forgets_sockets_that_are_gone_and_nothing_else(
    spark: SparkSession, tmp_path: Path
) -> None:
    assert spark.conf.get("spark.python.unix.domain.socket.enabled") == "true"
    names = {str(tmp_path / name) for name in (".1.sock", ".2.sock", "library.so")}
    jvm: Any = spark._jvm
    for name in names:
        jvm.java.io.File(name).deleteOnExit()
    assert names <= remembered(spark)
    forget_sockets(spark)
    assert {each for each in names if not each.endswith(".sock")} <= remembered(spark)
    assert not any(each.endswith(".sock") for each in remembered(spark))


def test_settings_and_files_of_a_session_are_those_that_spark_tells_one_by_one(
    spark: SparkSession,
) -> None:
    other = spark.newSession()
    other.conf.set("odd", "two\nlines, ünd=\\ signs")
    other.conf.set("empty", "")
    assert all_settings(other) == dict(other.conf.getAll)
    assert added_files(spark.sparkContext) == (spark.sparkContext.listFiles or [""])
