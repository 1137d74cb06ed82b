"""The driver or an executor is killed, again and again; results are those of an undisturbed run.

Everything is real: `penstock run` in a process of its own, SIGKILL to it and all it started at a
random moment, the same command again, until a run ends by itself.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from tests.spark.test_engine_on_spark import QUERIES, by_local_engine, same, script, write_packets

KILLS = 20
EXECUTOR_KILLS = 4
FILES = 25
ROOT = Path(__file__).parents[2]
NAMES = ("sliding", "subset", "large")


def start(text: Path, *options: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "penstock", "run", str(text), *options],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


@pytest.mark.slow
def test_a_killed_driver_neither_loses_nor_repeats_a_row(tmp_path: Path) -> None:
    queries = {name: QUERIES[name] for name in NAMES}
    write_packets(tmp_path / "in", range(FILES), rows=400)
    text = tmp_path / "run.sql"
    text.write_text(script(tmp_path / "in", queries, tmp_path / "out"))
    chance = random.Random(7)
    kills = 0
    while True:
        process = start(text)
        # Once results begin to appear a kill falls into every stage of a batch.
        moment = chance.uniform(4, 22) if kills < KILLS else 600
        try:
            _, said = process.communicate(timeout=moment)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            kills += 1
            time.sleep(0.2)
            continue
        assert process.returncode == 0, said.decode()
        if kills >= KILLS:
            break
        # It got to its end before it was killed: the same again, from the beginning.
        compare(tmp_path, queries)
        shutil.rmtree(tmp_path / "out")
    compare(tmp_path, queries)


def compare(folder: Path, queries: dict[str, str]) -> None:
    expected = by_local_engine(script(folder / "in", queries))
    for name in queries:
        answer = pl.read_parquet(folder / "out" / name / "*.parquet")
        assert same(answer, expected.query(name).results()), name


@pytest.mark.slow
def test_a_killed_executor_neither_loses_nor_repeats_a_row(tmp_path: Path) -> None:
    queries = {name: QUERIES[name] for name in NAMES}
    write_packets(tmp_path / "in", range(FILES), rows=400)
    text = tmp_path / "run.sql"
    text.write_text(script(tmp_path / "in", queries, tmp_path / "out"))
    process = start(text, "--master", "local-cluster[2,1,1024]")
    chance = random.Random(11)
    kills = 0
    while process.poll() is None:
        time.sleep(chance.uniform(0.5, 3))
        running = executors(process.pid)
        # Once results appear both executors are at work.
        if kills < EXECUTOR_KILLS and running and any((tmp_path / "out").rglob("part-*")):
            os.kill(chance.choice(running), signal.SIGKILL)
            kills += 1
    assert process.returncode == 0, process.communicate()[1].decode()
    assert kills >= 1
    compare(tmp_path, queries)


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
