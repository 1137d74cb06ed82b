"""Names that Spark takes for patterns: no file is read twice because of one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.errors import HostError
from penstock.model.schema import Column
from penstock.model.streams import Origin, Stream, TimestampKind
from penstock.model.types import Type
from penstock.spark.engine import Engine
from penstock.spark.sources.direct_files import read_file
from penstock.spark.sources.directories import check_files, own_folder

TS = "2026-01-01 00:00:00"
ODD = ["a[1].csv", "a{1,2}.csv", "a?.csv", "a*.csv", "a\\b.csv"]


def stream(path: Path | str) -> Stream:
    columns = (Column("k", Type.INT), Column("ts", Type.TIMESTAMP))
    return Stream("s", columns, TimestampKind.EXTERNAL, "ts", 0, Origin("csv", str(path)))


@pytest.mark.parametrize("name", ODD)
def test_a_file_or_directory_whose_name_looks_like_a_pattern_is_refused(
    tmp_path: Path, name: str
) -> None:
    folder = tmp_path / name
    folder.mkdir()
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / name).touch()
    for place in (folder, f"file://{folder}", tmp_path / "plain"):
        with pytest.raises(HostError, match="looks like a pattern") as refused:
            check_files(stream(place))
        assert "rename" in str(refused.value) and name in str(refused.value)


def test_the_way_out_is_one(tmp_path: Path) -> None:
    odd = tmp_path / "d[1]"
    odd.mkdir()
    (odd / "1.csv").touch()
    (tmp_path / "link").symlink_to(odd)
    check_files(stream(tmp_path / "link"))
    odd.rename(tmp_path / "d1")
    check_files(stream(tmp_path / "d1"))
    check_files(stream(tmp_path / "d*"))  # is meant as a pattern: nothing has that name


def test_a_pipe_among_the_files_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "1.csv").touch()
    os.mkfifo(tmp_path / "2.csv")
    with pytest.raises(HostError, match=r"`.*/2\.csv`: it is not a regular file"):
        check_files(stream(tmp_path))
    for place in (tmp_path / "2.csv", "/dev/zero"):
        with pytest.raises(HostError, match="it is not a regular file"):
            next(read_file(str(place), stream(tmp_path)))


def test_such_a_file_that_comes_later_is_passed_over_and_named(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "1.csv").write_text(f"k,ts\n1,{TS}\n")
    engine = Engine(spark)
    engine.sql(
        f"CREATE STREAM s (k INT, ts TIMESTAMP) FROM csv '{tmp_path}' TIMESTAMP BY ts;"
        "CREATE QUERY q AS SELECT k FROM s"
    )
    engine.start()
    engine.process_available()
    (tmp_path / "a*.csv").write_text(f"k,ts\n0,{TS}\n")
    for unready in ("b.csv.tmp", "c.TMP", "_d.csv", ".e.csv"):
        (tmp_path / unready).write_text(f"k,ts\n0,{TS}\n")
    for k in (2, 3):
        (tmp_path / f"a{k}.csv").write_text(f"k,ts\n{k},{TS}\n")
    engine.finish()
    assert sorted(engine.query("q").results()["k"]) == [1, 2, 3]
    assert engine.passed_over("s")[-1] == "a*.csv (looks like a pattern)"


def test_files_of_our_own_folders_are_read_once_whatever_the_name(
    spark: SparkSession, tmp_path: Path
) -> None:
    folder = tmp_path / "c[1]{2,3}*"
    folder.mkdir()
    for number in range(3):
        (folder / f"{number}.json").write_text(str(number))
    reader, place = own_folder(spark, folder)
    rows: list[str] = []
    running = (
        reader.text(place)
        .writeStream.foreachBatch(lambda frame, _: rows.extend(r.value for r in frame.collect()))
        .option("checkpointLocation", str(tmp_path / "kept"))
        .trigger(availableNow=True)
        .start()
    )
    assert running.awaitTermination(120)
    assert sorted(rows) == ["0", "1", "2"]
