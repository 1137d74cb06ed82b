"""Spark's lists of files lose the lines that nobody can ask for, and no others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from penstock.spark.state.source_logs import checksums_of, source_logs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def line(folder: str, number: int, timestamp: int = 0) -> str:
    path = f"file://{folder}/{number:03d}.json"
    return json.dumps({"path": path, "timestamp": timestamp, "batchId": number})


@pytest.fixture
def spark_folder(tmp_path: Path) -> Path:
    """As Spark leaves it after 25 batches: the second source reads files, one in each batch."""
    (tmp_path / "offsets").mkdir()
    log = tmp_path / "sources" / "1"
    log.mkdir(parents=True)
    for batch in range(25):
        offsets = f'v1\n{{"batchWatermarkMs":0}}\n-\n{{"logOffset":{batch}}}'
        (tmp_path / "offsets" / str(batch)).write_text(offsets)
        is_list = batch % 10 == 9
        lines = [line("/in", n) for n in (range(batch + 1) if is_list else [batch])]
        name = f"{batch}.compact" if is_list else str(batch)
        (log / name).write_text("\n".join(["v1", *lines]))
        (log / f".{name}.crc").write_bytes(b"crc\0")
    return tmp_path


@pytest.mark.parametrize(("over", "newest"), [(9, 9), (18, 9), (19, 19), (24, 19)])
def test_only_lists_of_batches_that_are_over_are_looked_at(
    spark_folder: Path, over: int, newest: int
) -> None:
    assert source_logs(spark_folder, 8) == []
    [log] = source_logs(spark_folder, over)
    assert log.name == f"{newest}.compact"
    assert log.names("/in") == {f"{number:03d}.json" for number in range(newest + 1)}
    assert log.names("/elsewhere") == set()


def test_a_list_is_shortened_in_one_piece_with_its_checksums(spark_folder: Path) -> None:
    [log] = source_logs(spark_folder, 24)
    log.shorten(lambda line: line["batchId"] >= 18)
    data = (log.folder / log.name).read_bytes()
    version, *lines = data.decode().split("\n")
    assert version == "v1"
    assert [json.loads(each)["batchId"] for each in lines] == [18, 19]
    assert (log.folder / ".19.compact.crc").read_bytes() == checksums_of(data)
    others = {file.name for file in log.folder.iterdir()}
    assert {"9.compact", "18", "24"} <= others
    [again] = source_logs(spark_folder, 24)
    assert len(again.lines) == 2


def test_a_list_that_needs_all_its_lines_is_left_alone(spark_folder: Path) -> None:
    [log] = source_logs(spark_folder, 24)
    before = (log.folder / log.name).stat().st_mtime_ns
    log.shorten(lambda line: True)
    assert (log.folder / log.name).stat().st_mtime_ns == before
    assert (log.folder / ".19.compact.crc").read_bytes() == b"crc\0"


def test_hadoop_takes_our_checksums_for_its_own(spark: SparkSession, tmp_path: Path) -> None:
    jvm = spark._jvm
    assert jvm is not None
    files = jvm.org.apache.hadoop.fs.FileSystem.getLocal(jvm.org.apache.hadoop.conf.Configuration())
    for size in (0, 1, 512, 1300):
        file = tmp_path / str(size)
        data = bytes(ord("a") + n % 26 for n in range(size))
        out = files.create(jvm.org.apache.hadoop.fs.Path(str(file)))
        out.write(bytearray(data))
        out.close()
        assert (tmp_path / f".{size}.crc").read_bytes() == checksums_of(data)
