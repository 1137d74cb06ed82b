"""A directory of results has one writer at a time, and one owner."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from penstock.errors import HostError
from penstock.io.storage.output_folder import LOCK, OutputFolder


def test_a_second_writer_is_refused_until_the_first_lets_go(tmp_path: Path) -> None:
    first = OutputFolder(tmp_path / "out")
    with pytest.raises(HostError, match="another run is writing its results into"):
        OutputFolder(tmp_path / "out")
    first.release()
    assert list((tmp_path / "out").iterdir()) == []
    OutputFolder(tmp_path / "out").release()


def test_a_killed_writer_holds_nothing(tmp_path: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path;"
        "from penstock.io.storage.output_folder import OutputFolder;"
        "held = OutputFolder(Path(sys.argv[1])); os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False).returncode == -9
    assert (tmp_path / LOCK).exists()
    OutputFolder(tmp_path).release()


def test_its_owner_is_known_by_an_empty_file(tmp_path: Path) -> None:
    folder = OutputFolder(tmp_path / "out")
    assert folder.owner is None
    folder.own("abc.query-q")
    folder.own("abc.query-p")
    folder.release()
    (tmp_path / "out").rename(tmp_path / "moved")
    moved = OutputFolder(tmp_path / "moved")
    assert moved.owner == "abc.query-p"
    assert all(file.stat().st_size == 0 for file in moved.path.iterdir())
    moved.release()


def test_what_a_killed_writer_had_not_finished_is_removed(tmp_path: Path) -> None:
    (tmp_path / ".part-00000001.csv").write_text("half")
    (tmp_path / "part-00000000.csv").write_text("whole")
    folder = OutputFolder(tmp_path)
    folder.remove_unfinished()
    assert folder.has_results
    folder.release()
    assert [file.name for file in tmp_path.iterdir()] == ["part-00000000.csv"]


def test_a_place_that_is_no_directory_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(HostError, match=r"cannot write results to .*file/out"):
        OutputFolder(tmp_path / "file" / "out")
