"""Every attempt at a batch runs one program: changes are logged when the batch before is over."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock, patch

import pytest

from penstock.optimizer.physical import Program
from penstock.spark import faults
from penstock.spark.epochs import Epochs
from penstock.spark.faults import InjectedFault
from penstock.spark.state.checkpoint import Checkpoint
from penstock.spark.state.program_log import ProgramLog
from tests.spark.state.programs import COUNT, ONE, program

TWO = program({"q": COUNT.format(s=5), "r": COUNT.format(s=1)})
THREE = program({"q": COUNT.format(s=5), "s": COUNT.format(s=1)})


class Driver:
    """What Spark and a driver do with a checkpoint; another one may come after it."""

    def __init__(self, folder: Path) -> None:
        self.spark = folder / "spark"
        self.checkpoint = Checkpoint(folder, ONE, accept_changes=True)
        self.checkpoint.confirm(ONE)
        context: Any = MagicMock(master="local")
        self.epochs = Epochs(context, self.checkpoint, ONE, lambda program: {})

    def begin(self, batch: int) -> Program:
        self._write("offsets", batch)
        return self.epochs.begin(batch).program

    def commit(self, batch: int) -> None:
        self._write("commits", batch)

    def _write(self, log: str, batch: int) -> None:
        (self.spark / log).mkdir(parents=True, exist_ok=True)
        (self.spark / log / str(batch)).write_text("v1\n{}\n")

    def change(self, program: Program) -> int:
        return self.epochs.change(program, {}, lambda batch: None)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    with patch("penstock.spark.shipped_programs.SparkFiles.getRootDirectory", lambda: tmp_path):
        yield tmp_path / "checkpoint"


def logged(folder: Path) -> list[tuple[int, list[str]]]:
    """Of each entry of the log, its batch and its queries."""
    return [(e.batch, sorted(e.program["query"])) for e in ProgramLog(folder).entries()]


def test_a_batch_that_is_delivered_and_not_committed_is_repeated_by_its_program(
    folder: Path,
) -> None:
    driver = Driver(folder)
    driver.begin(0)
    assert driver.change(TWO) == 1
    # Whoever comes after a kill finds what batch 0 was delivered by.
    assert logged(folder) == [(0, ["q"])]
    assert not driver.epochs.is_logged()
    driver.commit(0)
    assert driver.epochs.is_logged()
    assert logged(folder) == [(0, ["q"]), (1, ["q", "r"])]
    assert driver.begin(1) is TWO


def test_a_change_between_two_batches_is_logged_at_once(folder: Path) -> None:
    driver = Driver(folder)
    assert driver.change(TWO) == 0
    assert logged(folder)[-1] == (0, ["q", "r"])
    assert driver.begin(0) is TWO
    driver.commit(0)
    assert driver.change(THREE) == 1
    assert logged(folder)[-1] == (1, ["q", "s"])


def test_a_batch_that_begins_has_its_program_logged_first(folder: Path) -> None:
    driver = Driver(folder)
    driver.begin(0)
    numbers = [driver.epochs.next_change, driver.change(TWO), driver.epochs.next_change]
    assert numbers == [1, 1, 2]  # queries of different changes have operators of their own
    driver.change(THREE)
    assert driver.begin(0) is ONE  # Spark tries it again
    assert logged(folder) == [(0, ["q"])]
    driver.commit(0)
    assert driver.begin(1) is THREE
    assert logged(folder) == [(0, ["q"]), (1, ["q", "r"]), (1, ["q", "s"])]
    assert [entry.number for entry in ProgramLog(folder).entries()] == [0, 1, 2]


def test_a_batch_that_another_process_has_begun_is_not_changed(folder: Path) -> None:
    killed = Driver(folder)
    killed.begin(0)
    killed.checkpoint.release()
    driver = Driver(folder)
    assert driver.change(TWO) == 1
    assert driver.begin(0) is ONE
    assert logged(folder) == [(0, ["q"])]
    driver.commit(0)
    driver.epochs.end()
    assert logged(folder)[-1] == (1, ["q", "r"])


def test_a_change_that_cannot_be_logged_is_none(folder: Path, tmp_path: Path) -> None:
    driver, before = Driver(folder), faults.folder()
    faults.use(tmp_path / "faults")
    faults.arm(tmp_path / "faults", "program.write", "fail")
    try:
        with pytest.raises(InjectedFault):
            driver.change(TWO)
    finally:
        faults.use(before)
    assert driver.begin(0) is ONE
    assert logged(folder) == [(0, ["q"])]
    assert not list(tmp_path.glob("penstock-program-*"))
