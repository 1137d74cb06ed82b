"""Fault points act when they are armed, at the occurrence they are armed for, and never else."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.spark import faults

SOURCE = Path(__file__).parents[2] / "src" / "penstock"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    before = faults.folder()
    faults.use(tmp_path / "faults")
    yield tmp_path / "faults"
    faults.use(before)


def test_every_point_is_reached_somewhere_and_every_place_is_listed() -> None:
    text = "\n".join(file.read_text() for file in (SOURCE / "spark").rglob("*.py"))
    assert set(re.findall(r"\breach\(\"([a-z.]+)\"\)", text)) == faults.POINTS.keys() - (
        faults.REPEATABLE
    )
    assert set(re.findall(r"\bin step\(\"([a-z.]+)\"\)", text)) == faults.REPEATABLE


def test_without_the_variable_nothing_is_looked_for(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults.arm(folder, "group.begin", "fail")
    monkeypatch.setattr(faults, "_folder", None)
    faults.reach("group.begin")
    assert list(faults.step("state.segment")) == [None]
    assert faults.hits(folder) == ()


def test_a_point_that_is_not_armed_lets_pass(folder: Path) -> None:
    faults.arm(folder, "group.kept", "fail")
    faults.reach("group.begin")
    assert list(faults.step("state.segment")) == [None]


def test_a_fault_hits_the_occurrences_it_is_meant_for(folder: Path) -> None:
    faults.arm(folder, "group.begin", "fail", occurrence=2, times=2)
    faults.reach("group.begin")
    for _ in range(2):
        with pytest.raises(faults.InjectedFault, match=r"group\.begin"):
            faults.reach("group.begin")
    faults.reach("group.begin")
    assert faults.hits(folder) == ["group.begin fail 2", "group.begin fail 3"]


def test_occurrences_are_counted_over_all_processes_and_a_killed_one_has_counted(
    folder: Path,
) -> None:
    faults.arm(folder, "group.begin", "kill", occurrence=2)
    program = "from penstock.spark.faults import reach\nreach('group.begin')\nprint('alive')"
    ends = [
        subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
        for _ in range(3)
    ]
    assert [end.returncode for end in ends] == [0, -9, 0]


def test_a_step_that_may_be_repeated_is_and_another_fails(folder: Path) -> None:
    faults.arm(folder, "state.segment", "repeat")
    assert len(list(faults.step("state.segment"))) == 2
    assert len(list(faults.step("state.segment"))) == 1
    faults.arm(folder, "group.begin", "repeat")
    with pytest.raises(faults.InjectedFault):
        faults.reach("group.begin")


def test_a_delay_delays_and_goes_on(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    faults.arm(folder, "group.begin", "delay")
    faults.reach("group.begin")
    assert slept == [faults.DELAY]


def test_what_is_not_a_fault_is_refused(folder: Path) -> None:
    with pytest.raises(ValueError, match="no fault `fail` at `nowhere`"):
        faults.arm(folder, "nowhere", "fail")
    with pytest.raises(ValueError, match="no fault `explode`"):
        faults.arm(folder, "group.begin", "explode")


def test_nothing_is_left_armed_or_counted_when_it_is_disarmed(folder: Path) -> None:
    faults.arm(folder, "group.begin", "delay")
    faults.reach("group.begin")
    faults.disarm(folder)
    faults.reach("group.begin")
    assert list(folder.iterdir()) == []
