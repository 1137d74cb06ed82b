"""Disks that fill under results, checkpoint and temporary files: an error, room, the right answer.

A disk is a file system in memory that a filler leaves so many bytes of. That takes the right to
mount one; where nobody has it these tests are skipped, and what they rest on is tested by a limit
on the size of files (`tests/io/test_results.py`, `tests/storage`).
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import polars as pl
import pytest
from pyspark.sql import SparkSession

from penstock.errors import HostError
from penstock.spark.engine import Engine
from tests.spark.packets import (
    QUERIES,
    by_local_engine,
    same,
    script,
    write_packets,
)

ROOT = Path(__file__).parents[2]
NAMES = ("sliding", "large")
SIZE = 64 << 20


class Disk:
    """A file system of its own, with as much room as `leave` leaves."""

    def __init__(self, place: Path) -> None:
        self.place = place
        place.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "none", str(place)]
        made = subprocess.run(command, capture_output=True, check=False)
        if made.returncode:
            pytest.skip(f"no right to mount a small disk: {made.stderr.decode().strip()}")

    def leave(self, room: int) -> None:
        filler = self.place / ".filler"
        with filler.open("wb") as file, suppress(OSError):
            while True:
                file.write(b"x" * (1 << 16))
                file.flush()
        with filler.open("rb+") as file:
            file.truncate(max(0, filler.stat().st_size - room))

    def make_room(self) -> None:
        (self.place / ".filler").unlink()

    def remove(self) -> None:
        subprocess.run(["umount", "-l", str(self.place)], check=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    made = Disk(tmp_path / "disk")
    yield made
    made.remove()


def attempt(engine: Engine) -> str | None:
    """What a run failed with."""
    try:
        engine.start()
        engine.finish()
    except HostError as refused:
        return str(refused)
    finally:
        with suppress(HostError, AttributeError):
            engine.stop()
    return None


@pytest.mark.slow
@pytest.mark.parametrize("under", ["results", "checkpoint"])
def test_a_full_disk_under_results_or_checkpoint(
    spark: SparkSession, tmp_path: Path, disk: Disk, under: str
) -> None:
    queries = {name: QUERIES[name] for name in NAMES}
    write_packets(tmp_path / "in", range(6), rows=500)
    expected = by_local_engine(script(tmp_path / "in", queries))
    faults = 0
    for room in (0, 4 << 10, 24 << 10, 64 << 10, 300 << 10):
        out = (disk.place if under == "results" else tmp_path) / f"out{room}"
        kept = (disk.place if under == "checkpoint" else tmp_path) / f"kept{room}"

        def engine(out: Path = out, kept: Path = kept) -> Engine:
            made = Engine(spark, checkpoint=kept)
            made.sql(script(tmp_path / "in", queries, out))
            return made

        disk.leave(room)
        said = attempt(engine())
        if said is not None:
            faults += 1
            assert "No space left" in said, said
            assert "free some" in said, said
        disk.make_room()
        again = attempt(engine())
        assert again is None, (room, again)
        for name in queries:
            answer = pl.read_parquet(out / name / "*.parquet")
            assert same(answer, expected.query(name).results()), (room, name)
    print(f"{under}: {faults} of 5 runs found no room, 0 wrong answers, 0 lost, 0 doubled")
    assert faults >= 2


@pytest.mark.slow
def test_a_full_disk_under_temporary_files(tmp_path: Path, disk: Disk) -> None:
    queries = {name: QUERIES[name] for name in NAMES}
    write_packets(tmp_path / "in", range(4), rows=500)
    expected = by_local_engine(script(tmp_path / "in", queries))
    text = tmp_path / "run.sql"
    text.write_text(script(tmp_path / "in", queries, tmp_path / "out"))

    def run() -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [sys.executable, "-m", "penstock", "run", str(text)],
            env={
                **os.environ,
                "PYTHONPATH": str(ROOT / "src"),
                "SPARK_LOCAL_DIRS": str(disk.place),
                "TMPDIR": str(disk.place),
            },
            capture_output=True,
            check=False,
            timeout=600,
        )

    disk.leave(100 << 10)
    first = run()
    said = first.stderr.decode()
    assert first.returncode == 1, said
    assert "Traceback" not in said, said
    assert "o space left" in said or "room" in said, said
    disk.make_room()
    second = run()
    assert second.returncode == 0, second.stderr.decode()
    for name in queries:
        answer = pl.read_parquet(tmp_path / "out" / name / "*.parquet")
        assert same(answer, expected.query(name).results()), name
    print("temporary files: 1 run found no room, 0 wrong answers, 0 lost, 0 doubled")
