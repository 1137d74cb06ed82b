"""Files that lie in a store: everything that a pipeline reads, writes and keeps, by URI.

The store is Hadoop's `viewfs`, which shows a folder of this machine under a name of its own: like
any other file system of Hadoop's, and unlike `file:`, it can be reached through Spark alone.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import polars as pl
import pytest
from pyspark.sql import SparkSession

from penstock.errors import HostError, NotExecutable
from penstock.io.results import stage_part
from penstock.io.storage import appended_lines
from penstock.io.storage.appended_lines import LinesInStore
from penstock.io.storage.hadoop_path import HadoopPath, connect
from penstock.io.storage.lock import hold
from penstock.io.storage.manifest import Manifest
from penstock.io.storage.output_folder import OutputFolder
from penstock.io.storage.sealed import read_sealed, write_sealed
from penstock.io.storage.storage_path import StoragePath
from penstock.local.engine import LocalEngine
from penstock.model.streams import Sink
from penstock.spark.control import told
from penstock.spark.delivery.batch_sink import FilesSink
from penstock.spark.delivery.staging import Staged, join_staged
from penstock.spark.engine import Engine
from tests.ticks import push_ticks

STREAM = "CREATE STREAM s (k STRING, v BIGINT, ts TIMESTAMP) FROM {} '{}' TIMESTAMP BY ts"
QUERIES = {
    "sums": "SELECT k, sum(v) AS total FROM s [RANGE 10 SECONDS] GROUP BY k",
    "rows": "SELECT k, v, ts FROM s WHERE v % 2 = 0",
    "pairs": "SELECT a.v AS v, b.v AS w FROM s AS a JOIN s AS b ON a.k = b.k WITHIN 1 SECOND",
}


class Store:
    """A store and the folder of this machine that it shows."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        name = f"t{uuid4().hex[:8]}"
        folder.mkdir(parents=True)
        configuration: Any = spark.sparkContext._jsc.hadoopConfiguration()
        configuration.set(f"fs.viewfs.mounttable.{name}.link./data", f"file:{folder}")
        self.folder = folder
        self.uri = f"viewfs://{name}/data"
        connect(lambda: spark)

    def __truediv__(self, name: str) -> HadoopPath:
        return HadoopPath(self.uri) / name


@pytest.fixture
def store(spark: SparkSession, tmp_path: Path) -> Store:
    return Store(spark, tmp_path / "store")


@pytest.mark.parametrize("where", ["here", "store"])
def test_a_path_of_a_store_does_what_a_path_does(where: str, store: Store, tmp_path: Path) -> None:
    place: StoragePath = store / "a b" if where == "store" else tmp_path / "a b"
    assert not place.exists()
    assert list(place.glob("*")) == []
    with pytest.raises(FileNotFoundError):
        list(place.iterdir())
    place.mkdir(parents=True, exist_ok=True)
    place.mkdir(parents=True, exist_ok=True)
    file = place / "x.json"
    with pytest.raises(FileNotFoundError):
        file.stat()
    with pytest.raises(FileNotFoundError):
        file.unlink()
    file.unlink(missing_ok=True)
    for content in ({"v": 1}, {"v": "ä"}):
        write_sealed(file, content)
        assert read_sealed(file) == content
    assert (file.name, file.stem, file.is_file(), file.is_dir()) == ("x.json", "x", True, False)
    assert file.stat().st_size == len(file.read_bytes()) > 0
    assert abs(file.stat().st_mtime - (tmp_path / "store").stat().st_mtime) < 600
    file.rename(place / "y.json")
    (place / ".hidden").touch()
    assert sorted(each.name for each in place.glob("*.json")) == ["y.json"]
    assert sorted(each.name for each in place.iterdir() if ".crc" not in each.name) == [
        ".hidden",
        "y.json",
    ]


def test_lines_in_a_store_are_put_together_and_none_is_lost(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(appended_lines, "MANY", 5)
    lines = LinesInStore(store / "list")
    wanted = [f"{number}\n".encode() for number in range(13)]
    for line in wanted:
        lines.append(line)
    assert lines.read() == LinesInStore(store / "list").read() == b"".join(wanted)
    assert len([f for f in (store.folder / "list").iterdir() if f.suffix != ".crc"]) == 5
    again = LinesInStore(store / "list")
    again.append(b"last\n")
    assert LinesInStore(store / "list").read() == b"".join([*wanted, b"last\n"])
    again.rewrite(b"one\n")
    assert LinesInStore(store / "list").read() == b"one\n"


def test_a_list_of_files_in_a_store_says_which_is_gone_or_changed(store: Store) -> None:
    folder = store / "out"
    folder.mkdir()
    for number in range(3):
        file = folder / f"part-{number}"
        file.write_whole(b"x" * (number + 1))
        Manifest(store / "list", folder, r"part-(\d)").add(number, file, 1)
    found = Manifest(store / "list", folder, r"part-(\d)").verify(1)
    assert {number: part.size for number, part in found.items()} == {0: 1, 1: 2}
    assert not (folder / "part-2").exists()
    (folder / "part-1").write_whole(b"xyz")
    with pytest.raises(HostError, match="was changed since it was written: 3 bytes instead of 2"):
        Manifest(store / "list", folder, r"part-(\d)").verify()
    (folder / "part-1").unlink()
    with pytest.raises(HostError, match="is gone, with 1 row"):
        Manifest(store / "list", folder, r"part-(\d)").verify()


def test_a_place_in_a_store_is_held_by_one_and_taken_over_from_the_dead(store: Store) -> None:
    lock = hold(store / "lock")
    assert lock is not None
    assert hold(store / "lock") is None
    lock.check()
    lock.release()
    assert not (store / "lock").exists()
    dead = {"id": "x", "host": socket.gethostname(), "process": 1 << 22, "since": "1"}
    (store / "lock").write_whole(json.dumps(dead).encode())
    taken = hold(store / "lock")
    assert taken is not None
    taken.release()
    (store / "lock").write_whole(json.dumps({**dead, "host": "elsewhere"}).encode())
    assert hold(store / "lock") is None  # it may be alive


@pytest.mark.parametrize("format", ["parquet", pytest.param("csv", marks=pytest.mark.slow)])
def test_a_pipeline_whose_files_are_all_in_a_store(
    spark: SparkSession, store: Store, monkeypatch: pytest.MonkeyPatch, format: str
) -> None:
    monkeypatch.setattr(told, "STAGED_FROM", 1)
    table = store.folder / "names"
    table.mkdir()
    pl.DataFrame({"k": ["a", "b"], "name": ["A", "B"]}).write_csv(table / "n.csv")
    for run in range(2):
        _rows(range(run * 30, run * 30 + 30), store.folder / "in" / f"{run}.{format}")
        engine = Engine(spark, checkpoint=f"{store.uri}/kept")
        options = " OPTIONS (header 'true')" if format == "csv" else ""
        engine.sql(STREAM.format(format, f"{store.uri}/in") + options)
        engine.sql(f"CREATE TABLE names (k STRING, name STRING) FROM csv '{store.uri}/names'")
        for name, text in QUERIES.items():
            engine.sql(f"CREATE QUERY {name} INTO {format} '{store.uri}/out/{name}' AS {text}")
        named = "SELECT s.v AS v, n.name AS name FROM s JOIN names AS n ON s.k = n.k"
        engine.sql(f"CREATE QUERY named INTO json '{store.uri}/out/named' AS {named}")
        engine.start()
        engine.process_available()
        assert [str(place) for place in engine.stop()] == [f"{store.uri}/kept/sums"]
    expected = {name: _texts(rows) for name, rows in _answers(60).items()}
    read: Callable[[Path], pl.DataFrame] = pl.read_csv if format == "csv" else pl.read_parquet
    for name in QUERIES:
        files = sorted((store.folder / "out" / name).glob(f"part-*.{format}"))
        assert _texts(pl.concat([read(file) for file in files])) == expected[name], name
    # Spark reads the directory of results like any other.
    reader = spark.read.format(format).option("header", "true")
    assert reader.load(f"{store.uri}/out/rows").count() == len(expected["rows"])
    assert not list(store.folder.rglob(".part-*[!c]"))


def _texts(rows: pl.DataFrame) -> list[str]:
    """Rows, in whatever order, as text: files of CSV have no types."""
    shown = pl.col(pl.Datetime).dt.strftime("%Y-%m-%dT%H:%M:%S%.6f")
    return sorted(map(str, rows.with_columns(shown).rows()))


@pytest.mark.parametrize("format", ["parquet", "csv", "json"])
def test_a_task_joins_files_of_a_directory_whatever_its_name(
    spark: SparkSession, tmp_path: Path, format: str
) -> None:
    folder = tmp_path / "a b%20ä+c"
    folder.mkdir()
    parts = [pl.DataFrame({"v": [v], "k": [f"k{v}"]}) for v in range(3)]
    staged = [stage_part(folder, format, rows) for rows in parts[:2]]
    file = folder / f"part-0.{format}"
    for _ in range(2):  # a batch that is repeated replaces what it wrote
        join_staged(spark, staged, parts[2], format, file)
    readers: dict[str, Callable[[Path], pl.DataFrame]] = {
        "parquet": pl.read_parquet,
        "csv": pl.read_csv,
        "json": pl.read_ndjson,
    }
    assert readers[format](file).equals(pl.concat(parts))
    left = {each.name for each in folder.iterdir() if each.suffix != ".crc"}
    assert left == {file.name, *(each.name for each in staged)}


def test_a_batch_that_is_repeated_with_few_results_has_no_checksums_of_the_first_attempt(
    spark: SparkSession, tmp_path: Path
) -> None:
    folder = OutputFolder(tmp_path / "out")
    sink = FilesSink(spark, Sink("json", str(folder.path)), folder, None)
    sink.__dict__["is_near"] = False  # as on a cluster
    staged = stage_part(tmp_path / "out", "json", pl.DataFrame({"v": [1, 2, 3]}))
    sink.write(0, pl.DataFrame({"v": [4]}), [Staged(staged, 3)])
    assert spark.read.json(str(folder.path)).count() == 4
    sink.write(0, pl.DataFrame({"v": [5]}))
    assert [row.v for row in spark.read.json(str(folder.path)).collect()] == [5]
    folder.release()


def _rows(numbers: range, file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    rows = pl.DataFrame({"v": list(numbers)}).with_columns(
        k=pl.when(pl.col("v") % 3 == 0).then(pl.lit("a")).otherwise(pl.lit("b")),
        ts=pl.from_epoch(1_700_000_000 + pl.col("v"), time_unit="s").dt.replace_time_zone("UTC"),
    )
    shown = rows.with_columns(pl.col("ts").dt.strftime("%Y-%m-%dT%H:%M:%SZ"))
    shown.write_csv(file) if file.suffix == ".csv" else rows.write_parquet(file)


def _answers(rows: int) -> dict[str, pl.DataFrame]:
    """What comes out of so many rows, a second apart, while the last window is still open."""
    engine = LocalEngine()
    engine.sql(STREAM.format("iterable", "s").split(" FROM ")[0] + " TIMESTAMP BY ts")
    handles = {name: engine.sql(f"CREATE QUERY {name} AS {text}") for name, text in QUERIES.items()}
    for v in range(rows):
        row = {"k": "a" if v % 3 == 0 else "b", "v": v, "ts": (1_700_000_000 + v) * 1_000_000}
        push_ticks(engine, "s", [row])
    return {name: handle.results() for name, handle in handles.items()}


def test_this_process_says_that_a_store_needs_spark(tmp_path: Path) -> None:
    engine = LocalEngine()
    engine.sql(STREAM.format("parquet", tmp_path))
    with pytest.raises(NotExecutable, match="`s3a://b/out` is not on this machine"):
        engine.sql(f"CREATE QUERY q INTO parquet 's3a://b/out' AS {QUERIES['rows']}")
