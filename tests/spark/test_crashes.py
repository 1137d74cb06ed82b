"""The driver or an executor is killed, again and again; results are those of an undisturbed run.

Everything is real: `penstock run` in a process of its own, SIGKILL to it and all it started, the
same command again, until a run ends by itself. A kill comes at a random moment after the run has
committed a batch, so that each falls into work on state, results and logs, and not into the start.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.spark.packets import PACKETS, QUERIES, by_local_engine, write_packets

KILLS = int(os.environ.get("PENSTOCK_KILLS", "20"))
EXECUTOR_KILLS = int(os.environ.get("PENSTOCK_KILLS", "12"))
FILES = 40
ROOT = Path(__file__).parents[2]

JOIN = (
    "SELECT a.srcIP, a.len AS one, b.len AS other, a.ts AS first, b.ts AS second FROM packets a "
    "{kind} JOIN packets b ON a.srcIP = b.srcIP AND a.destIP = b.destIP AND a.srcPort < b.srcPort "
    "WITHIN 2 SECONDS"
)
#: What is computed at once, in one pipeline: aggregates, joins and outer joins.
TOGETHER = {
    "sliding": QUERIES["sliding"],
    "large": QUERIES["large"],
    "pairs": JOIN.format(kind=""),
    "lonely": JOIN.format(kind="LEFT"),
    "all_of_them": JOIN.format(kind="FULL"),
}


def declared(folder: Path, into: bool) -> str:
    sink = f"INTO parquet '{folder}/out/{{name}}'" if into else ""
    return PACKETS.format(data=folder / "in") + "".join(
        f"CREATE QUERY {name} {sink.format(name=name)} AS {sql};" for name, sql in TOGETHER.items()
    )


def start(text: Path, *options: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "penstock", "run", str(text), *options],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def commits(folder: Path) -> int:
    """How many batches are over."""
    numbers = folder.rglob("_checkpoint/spark/commits/[0-9]*")
    return 1 + max((int(file.name) for file in numbers if file.name.isdigit()), default=-1)


def until_killed(process: subprocess.Popen[bytes], folder: Path, chance: random.Random) -> bool:
    """Kill a run soon after it has committed a batch; False if it came to its end before."""
    before = commits(folder)
    while process.poll() is None and commits(folder) == before:
        time.sleep(0.02)
    end = time.monotonic() + chance.uniform(0, 3)
    while process.poll() is None and time.monotonic() < end:
        time.sleep(0.01)
    if process.poll() is not None:
        return False
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    return True


def differences(folder: Path) -> dict[str, tuple[int, int]]:
    """Rows that are missing, and rows too many, of each query that is not as it should be."""
    expected = by_local_engine(declared(folder, into=False))
    found = {}
    for name in TOGETHER:
        answer = pl.read_parquet(folder / "out" / name / "*.parquet")
        right, given = counted(expected.query(name).results()), counted(answer)
        if right != given:
            found[name] = ((right - given).total(), (given - right).total())
    return found


def counted(rows: pl.DataFrame) -> Counter[tuple[Any, ...]]:
    rounded = rows.select(pl.col(sorted(rows.columns))).with_columns(pl.col(pl.Float64).round(6))
    return Counter(rounded.rows())


def reported(what: str, kills: int, found: dict[str, tuple[int, int]]) -> None:
    lost, doubled = (sum(pair[side] for pair in found.values()) for side in (0, 1))
    print(f"{kills} kills of {what}: {len(found)} wrong answers, {lost} lost, {doubled} doubled")


@pytest.mark.slow
def test_a_killed_driver_neither_loses_nor_repeats_a_row(tmp_path: Path) -> None:
    write_packets(tmp_path / "in", range(FILES), rows=200)
    text = tmp_path / "run.sql"
    text.write_text(declared(tmp_path, into=True))
    chance = random.Random(7)
    kills = 0
    while kills < KILLS:
        process = start(text)
        if until_killed(process, tmp_path / "out", chance):
            kills += 1
            continue
        assert process.returncode == 0, process.communicate()[1].decode()
        break  # everything is processed
    process = start(text)
    _, said = process.communicate(timeout=1200)
    assert process.returncode == 0, said.decode()
    found = differences(tmp_path)
    reported("the driver", kills, found)
    assert kills >= min(KILLS, 5)
    assert not found


@pytest.mark.slow
def test_a_killed_executor_neither_loses_nor_repeats_a_row(tmp_path: Path) -> None:
    write_packets(tmp_path / "in", range(FILES), rows=200)
    text = tmp_path / "run.sql"
    text.write_text(declared(tmp_path, into=True))
    chance = random.Random(11)
    kills = starts = 0
    while True:
        process = start(text, "--master", "local-cluster[2,1,1024]")
        starts += 1
        while process.poll() is None:
            before = commits(tmp_path / "out")
            while process.poll() is None and commits(tmp_path / "out") == before:
                time.sleep(0.02)
            time.sleep(chance.uniform(0, 1))
            running = executors(process.pid)
            if kills < EXECUTOR_KILLS and running:
                os.kill(chance.choice(running), signal.SIGKILL)
                kills += 1
        said = process.communicate()[1].decode()
        if process.returncode == 0:
            break
        # Both executors were gone at once, or the same task fell four times: Spark gives up, and
        # says so; the next start goes on.
        assert "Python" in said or "executor" in said.lower(), said
        assert starts < 10, said
    found = differences(tmp_path)
    reported(f"executors, {starts} starts", kills, found)
    assert kills >= min(EXECUTOR_KILLS, 10)
    assert not found


def executors(group: int) -> list[int]:
    """The executors among the processes that a run has started."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes()
            same_group = os.getpgid(int(folder.name)) == group
        except OSError:  # it has just ended
            continue
        if same_group and b"CoarseGrainedExecutorBackend" in command:
            found.append(int(folder.name))
    return found
