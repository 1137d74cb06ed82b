"""`penstock test`, on a suite of its own: nothing of the real suite runs twice."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from penstock.cli.test import pytest_arguments

SUITE = """
import pytest

def test_passes(): pass
def test_fails(): assert 1 == 2

@pytest.mark.slow
def test_slow(): pass
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    (tmp_path / "test_sample.py").write_text(SUITE)
    return tmp_path


def penstock_test(cwd: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "penstock", "test", *arguments, "-p", "no:cacheprovider"]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True)


def test_the_last_line_and_the_exit_code_are_pytests(suite: Path) -> None:
    done = penstock_test(suite, "test_sample.py")
    assert "1 failed, 1 passed, 1 deselected in " in done.stdout.splitlines()[-1]
    assert done.returncode == 1


def test_options_reach_pytest_and_one_test_of_a_file_can_be_named(suite: Path) -> None:
    done = penstock_test(suite, "test_sample.py::test_passes", "-q")
    assert done.stdout.splitlines()[-1].startswith("1 passed in ")  # quiet: no line around it
    assert done.returncode == 0


def test_slow_runs_the_slow_ones_too(suite: Path) -> None:
    done = penstock_test(suite, "--slow", "test_sample.py", "-k", "not fails")
    assert "2 passed, 1 deselected in " in done.stdout.splitlines()[-1]


def test_a_path_of_the_project_needs_no_directory_change(tmp_path: Path) -> None:
    root, here = tmp_path / "root", tmp_path / "here"
    (root / "tests").mkdir(parents=True)
    here.mkdir()
    (here / "test_mine.py").write_text("")
    given = ["tests", "test_mine.py::test_x", "test_nowhere.py", "-k", "tests"]
    assert pytest_arguments(given, seed=None, here=here, root=root) == [
        "tests",
        f"{here}/test_mine.py::test_x",
        "test_nowhere.py",
        "-k",
        "tests",
    ]
