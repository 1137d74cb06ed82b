"""Our classes for Java: the jar has what the sources say, and they write what Spark's own would."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from penstock.spark import java_classes
from penstock.spark.session import FILE_MANAGER, LOCAL_TUNING
from penstock.spark.working_session import working_session


def test_the_jar_has_what_the_sources_are_compiled_to(spark: SparkSession) -> None:
    found = java_classes.compiled(spark)
    if os.environ.get("PENSTOCK_REWRITE"):
        java_classes.write_jar(found)
    assert java_classes.read_jar() == found, "PENSTOCK_REWRITE=1 with this test writes it anew"


def test_our_queries_use_our_class_and_the_users_session_does_not(spark: SparkSession) -> None:
    assert working_session(spark).conf.get(FILE_MANAGER) == java_classes.FILE_MANAGER
    assert spark.conf.get(FILE_MANAGER) == LOCAL_TUNING[FILE_MANAGER]


def test_a_java_without_our_classes_uses_those_of_spark(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(java_classes, "FILE_MANAGER", "penstock.NoSuchClass")
    assert working_session(spark).conf.get(FILE_MANAGER) == LOCAL_TUNING[FILE_MANAGER]


@pytest.mark.parametrize("mask", ["022", "077", "027"])
def test_files_are_what_spark_would_have_written(
    spark: SparkSession, tmp_path: Path, mask: str
) -> None:
    written = {}
    for name in (java_classes.FILE_MANAGER, LOCAL_TUNING[FILE_MANAGER]):
        folder = tmp_path / name
        _write(spark, name, folder, mask)
        written[name] = {
            str(file.relative_to(folder)): (oct(file.stat().st_mode), _content(file))
            for file in (folder, *sorted(folder.rglob("*")))
        }
    ours, theirs = written.values()
    assert ours == theirs
    assert {"a b/1", "a b/.1.crc"} <= ours.keys()


def _write(spark: SparkSession, name: str, folder: Path, mask: str) -> None:
    manager = _manager(spark, name, folder, mask)
    manager.createCheckpointDirectory()
    manager.mkdirs(_path(spark, folder / "a b"))
    file = manager.createAtomic(_path(spark, folder / "a b" / "1"), False)
    file.write(bytearray(b"what is to be kept"))
    file.close()


def _manager(spark: SparkSession, name: str, folder: Path, mask: str) -> Any:
    jvm: Any = spark._jvm
    conf = jvm.org.apache.hadoop.conf.Configuration()
    conf.set("fs.permissions.umask-mode", mask)
    # Hadoop would give the file system that it has, with the mask that this one had.
    conf.set("fs.file.impl.disable.cache", "true")
    made = jvm
    for part in name.split("."):
        made = getattr(made, part)
    return made(_path(spark, folder), conf)


def _path(spark: SparkSession, path: Path) -> Any:
    jvm: Any = spark._jvm
    return jvm.org.apache.hadoop.fs.Path(str(path))


def _content(file: Path) -> bytes:
    return file.read_bytes() if file.is_file() else b""
