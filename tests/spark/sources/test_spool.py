"""Iterables on Spark: spooled as files, no faster than they are read, continued where they were."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pyspark.sql import SparkSession

from penstock.errors import HostError, MalformedRow
from penstock.model.schema import Column
from penstock.model.streams import Stream
from penstock.model.types import Type
from penstock.spark.engine import Engine
from penstock.spark.sources import spool as module
from penstock.spark.sources.conforming import MALFORMED_COLUMN
from penstock.spark.sources.spool import Spool, rows_spooled, spooled_files

COLUMNS = "k BIGINT, ts TIMESTAMP"
START = datetime(2026, 1, 1)
STREAM = Stream("s", (Column("k", Type.BIGINT), Column("ts", Type.TIMESTAMP)))


def row(k: Any) -> dict[str, Any]:
    return {"k": k, "ts": START + timedelta(seconds=k if isinstance(k, int) else 0)}


def until(condition: Callable[[], bool]) -> None:
    while not condition():
        time.sleep(0.01)


def spooled(folder: Path) -> pl.DataFrame:
    return pl.concat([pl.read_parquet(file) for file in sorted(folder.glob("[0-9]*.parquet"))])


def test_rows_and_tables_are_spooled_in_order_and_numbered(tmp_path: Path) -> None:
    rows = [row(0), (1, START), pl.DataFrame([row(2), row(3)]), row(4)]
    spool = Spool(STREAM, rows, tmp_path)
    spool.start(lambda: 0)
    until(lambda: spool.is_over)
    spool.check()
    assert spooled(tmp_path)["k"].to_list() == [0, 1, 2, 3, 4]
    assert rows_spooled(spooled_files(tmp_path)) == 5
    again = Spool(STREAM, [*rows, row(5), row(6)], tmp_path)
    again.start(lambda: 0)
    until(lambda: again.is_over)
    assert spooled(tmp_path)["k"].to_list() == [0, 1, 2, 3, 4, 5, 6]
    assert [file.name for file in sorted(tmp_path.iterdir())] == [
        "000000000000.parquet",
        "000000000005.parquet",
    ]


def test_a_file_that_is_gone_or_changed_is_named_at_the_next_start(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    for rows in ([row(0)], [row(0), row(1)]):
        spool = Spool(STREAM, rows, folder)
        spool.start(lambda: 0)
        until(lambda spool=spool: spool.is_over)  # type: ignore[misc]
    last = folder / "000000000001.parquet"
    content = last.read_bytes()
    for left in (content[:-9], None):
        last.unlink() if left is None else last.write_bytes(left)
        with pytest.raises(HostError, match=last.name):
            Spool(STREAM, [row(0), row(1), row(2)], folder).start(lambda: 0)
    # Noted, and killed before it had its name.
    (folder / f".{last.name}").write_bytes(content)
    again = Spool(STREAM, [row(0), row(1), row(2)], folder)
    again.start(lambda: 0)
    until(lambda: again.is_over)
    assert spooled(folder)["k"].to_list() == [0, 1, 2]


def test_a_row_that_waits_for_the_next_is_not_held_back(tmp_path: Path) -> None:
    go_on = threading.Event()

    def slow() -> Iterator[dict[str, Any]]:
        yield row(1)
        go_on.wait()
        yield row(2)

    spool = Spool(STREAM, slow(), tmp_path)
    spool.start(lambda: 0)
    until(lambda: rows_spooled(spooled_files(tmp_path)) == 1)
    assert spool.is_idle
    assert not spool.is_over
    go_on.set()
    until(lambda: spool.is_over)
    assert rows_spooled(spooled_files(tmp_path)) == 2


def test_an_endless_iterable_is_asked_for_no_more_than_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ROWS_PER_FILE", 10)
    monkeypatch.setattr(module, "FILES_AHEAD", 3)
    monkeypatch.setattr(module, "LINGER", 0.01)
    asked = read = 0

    def endless() -> Iterator[dict[str, Any]]:
        nonlocal asked
        while True:
            asked += 1
            yield row(asked)

    spool = Spool(STREAM, endless(), tmp_path)
    spool.start(lambda: read)
    until(lambda: len(list(tmp_path.glob("[0-9]*"))) == 3 and asked > 40)
    time.sleep(0.2)
    assert len(list(tmp_path.glob("[0-9]*"))) == 3
    assert asked <= 3 * 10 + 10 + 1
    read = 20
    until(lambda: len(list(tmp_path.glob("[0-9]*"))) == 5)
    spool.stop()
    # What was taken is there, in order, but for the one that the taker held in its hand.
    count = rows_spooled(spooled_files(tmp_path))
    assert spooled(tmp_path)["k"].to_list() == list(range(1, count + 1))
    assert asked - count <= 1


def test_rows_before_a_failure_are_spooled_and_the_failure_is_kept(tmp_path: Path) -> None:
    def broken() -> Iterator[dict[str, Any]]:
        yield from map(row, range(3))
        raise OSError("unplugged")

    spool = Spool(STREAM, broken(), tmp_path)
    spool.start(lambda: 0)
    until(lambda: spool.is_over)
    assert rows_spooled(spooled_files(tmp_path)) == 3
    with pytest.raises(HostError, match="rows of stream `s` failed: OSError: unplugged"):
        spool.check()


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    spool = Spool(STREAM, [row(1)], tmp_path / "spool")
    (tmp_path / "spool").rmdir()
    spool.start(lambda: 0)
    until(lambda: spool.is_over)
    with pytest.raises(HostError, match="cannot store the rows of stream `s`"):
        spool.check()


def test_a_place_that_cannot_be_written_to_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(HostError, match="cannot store the rows of stream `s`"):
        Spool(STREAM, [row(1)], tmp_path / "file" / "spool")


def test_misfits_are_marked_as_the_exchange_wants_them(tmp_path: Path) -> None:
    spool = Spool(STREAM, [row(1), row("many"), row(2)], tmp_path)
    spool.start(lambda: 0)
    until(lambda: spool.is_over)
    [bad] = spooled(tmp_path)[MALFORMED_COLUMN].drop_nulls()
    assert bad == '["many", "2026-01-01 00:00:00", "k: \'many\' is not a valid BIGINT"]'
    assert rows_spooled(spooled_files(tmp_path)) == 3


def test_columns_must_be_declared(spark: SparkSession) -> None:
    with pytest.raises(MalformedRow, match=r"(?s)columns of stream `s` are not known.*columns="):
        Engine(spark).stream("s", [row(1)])


def test_a_generator_is_a_stream_and_is_continued_behind_what_was_spooled(
    spark: SparkSession, tmp_path: Path
) -> None:
    asked: list[int] = []

    def rows(skip: int) -> Iterator[Any]:
        asked.append(skip)
        for k in range(skip, 10_000):
            if k == 6_000 and len(asked) == 1:
                raise ConnectionError("the line went dead")
            yield row("many" if k == 77 else k)

    def engine() -> Engine:
        made = Engine(spark)
        made.stream("s", rows, columns=COLUMNS, timestamp="ts", slack=timedelta(seconds=1))
        made.sql(
            f"CREATE QUERY sums INTO parquet '{tmp_path / 'out'}' AS "
            "SELECT k % 3 AS third, sum(k) AS total, count(*) AS n FROM s [RANGE 1 HOUR] "
            "GROUP BY third"
        )
        made.start()
        return made

    first = engine()
    with pytest.raises(HostError, match="stream `s` failed: ConnectionError"):
        first.finish()
    first.stop()
    second = engine()
    second.finish()
    assert asked == [0, 6_000]
    answer = pl.read_parquet(tmp_path / "out" / "*.parquet")
    assert answer["n"].sum() == 9_999
    assert answer["total"].sum() == sum(range(10_000)) - 77
    assert answer.select("third", "window_end").is_duplicated().sum() == 0
    assert second.counts("s").late == 0


def test_a_list_is_a_stream_and_its_answers_are_shown_on_the_console(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    engine = Engine(spark)
    engine.stream("s", [row(k) for k in range(10)], columns=COLUMNS, timestamp="ts")
    engine.sql("CREATE QUERY high INTO console OPTIONS (rows '2') AS SELECT k FROM s WHERE k >= 6")
    engine.start()
    engine.finish()
    assert engine.is_finite()
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "high, batch 0: 4 rows"
    assert said[-1] == "2 more rows"


def spool_of(folder: Path, readers: dict[Path, set[str]], rows: Any) -> Spool:
    """One that is read by these pipelines, which are done with these files; it has ended."""
    spool = Spool(STREAM, rows, folder)
    spool.note_readers(readers)
    spool.start(lambda: 0, lambda: {str(place): names for place, names in readers.items()})
    until(lambda: spool.is_over)
    spool.check()
    return spool


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def test_files_that_every_pipeline_has_read_are_deleted_but_for_the_last(tmp_path: Path) -> None:
    folder, one, two = tmp_path / "one" / "streams" / "s", tmp_path / "one", tmp_path / "two"
    two.mkdir()
    readers: dict[Path, set[str]] = {one: set(), two: set()}
    for count in (1, 2, 3):
        spool_of(folder, readers, [row(k) for k in range(count)])
    files = [f"{number:012d}.parquet" for number in range(3)]
    assert names(folder) == files
    readers[one] = set(files)
    readers[two] = set(files[:1])
    spool_of(folder, readers, [row(k) for k in range(4)])
    files.append(f"{3:012d}.parquet")
    assert names(folder) == files[1:]
    readers[two] = set(files)
    readers[one] = set(files)
    spool_of(folder, readers, [row(k) for k in range(5)])
    assert names(folder) == [f"{4:012d}.parquet"]
    assert rows_spooled(spooled_files(folder)) == 5
    # The next start finds everything as it was left, and goes on behind it.
    spool_of(folder, readers, [row(k) for k in range(6)])
    assert spooled(folder)["k"].to_list() == [4, 5]


def test_files_stay_for_a_pipeline_that_is_not_started_now(tmp_path: Path) -> None:
    folder, one, two = tmp_path / "one" / "streams" / "s", tmp_path / "one", tmp_path / "two"
    two.mkdir()
    files = {f"{number:012d}.parquet" for number in range(9)}
    spool_of(folder, {one: set(), two: set()}, [row(0)])
    spool_of(folder, {one: files}, [row(k) for k in range(2)])
    assert len(names(folder)) == 2
    # Everything is moved together, and the other one is given up at last.
    (tmp_path / "moved").mkdir()
    one.rename(tmp_path / "moved" / "one")
    two.rename(tmp_path / "moved" / "two")
    folder, one, two = (tmp_path / "moved" / p.relative_to(tmp_path) for p in (folder, one, two))
    spool_of(folder, {one: files}, [row(k) for k in range(3)])
    assert len(names(folder)) == 3
    two.rmdir()
    spool_of(folder, {one: files}, [row(k) for k in range(4)])
    assert names(folder) == [f"{3:012d}.parquet"]


@pytest.mark.parametrize("is_noted", [True, False])
def test_a_deletion_that_was_cut_off_is_taken_back_or_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_noted: bool
) -> None:
    folder = tmp_path / "one" / "streams" / "s"
    spool_of(folder, {}, [row(0)])
    first = f"{0:012d}.parquet"

    def killed(*arguments: object, **more: object) -> None:
        raise OSError("killed")

    # Hidden, and killed before its line has gone; or behind that.
    if is_noted:
        monkeypatch.setattr("penstock.io.storage.appended_lines.write_private", killed)
    else:
        monkeypatch.setattr(Path, "unlink", killed)
    spool = Spool(STREAM, [row(0), row(1)], folder)
    spool.start(lambda: 0, lambda: {str(tmp_path / "one"): {first}})
    until(lambda: spool.is_over)
    assert first not in names(folder) and f".{first}" in names(folder)
    monkeypatch.undo()
    spool_of(folder, {}, [row(0), row(1), row(2)])
    assert (first in names(folder)) is is_noted
    assert f".{first}" not in names(folder)
