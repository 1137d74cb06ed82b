"""A query's folder in shared memory is ours alone, and goes with the query."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.spark import shared_memory
from penstock.spark.shared_memory import (
    forget_shared,
    forget_stale,
    let_go_of_shared,
    shared_folder,
)


@pytest.mark.skipif(shared_folder("test") is None, reason="no shared memory on this machine")
def test_what_a_query_left_in_shared_memory_can_be_forgotten() -> None:
    folder = shared_folder("penstock-test-of-shared-memory")
    assert folder is not None
    (folder / "1.arrow").write_text("x")
    assert folder.stat().st_mode & 0o077 == 0
    forget_shared("penstock-test-of-shared-memory")
    assert not folder.exists()


def test_without_shared_memory_there_is_no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_memory, "MEMORY", Path("/no/such/memory"))
    assert shared_folder("anything") is None
    forget_shared("anything")
    forget_stale()


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(shared_memory, "MEMORY", tmp_path)
    return tmp_path / f"penstock-{os.getuid()}"


def test_a_folder_that_others_can_write_to_is_not_used(memory: Path) -> None:
    memory.mkdir()
    memory.chmod(0o777)
    assert shared_folder("query") is None
    memory.chmod(0o755)  # nobody else has put anything there
    assert shared_folder("query") == memory / "query"
    assert memory.stat().st_mode & 0o777 == 0o700
    forget_shared("query")


def test_a_folder_that_is_let_go_of_is_left_to_others_and_can_be_held_again(memory: Path) -> None:
    folder = shared_folder("query")
    assert folder is not None
    (folder / "1.arrow").write_text("x")
    forget_stale()
    assert folder.exists()  # this process holds it
    let_go_of_shared("query")
    let_go_of_shared("query")
    assert (folder / "1.arrow").exists()
    assert shared_folder("query") == folder  # nobody held it, so what was in it is gone
    forget_stale()
    assert folder.exists()
    let_go_of_shared("query")
    forget_stale()
    assert not folder.exists()


def test_a_link_is_not_used(memory: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    memory.symlink_to(tmp_path / "elsewhere")
    assert shared_folder("query") is None
    memory.unlink()
    memory.write_text("")
    assert shared_folder("query") is None


def test_a_folder_of_somebody_else_is_not_used(
    memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = os.getuid() + 1
    monkeypatch.setattr(os, "getuid", lambda: other)
    memory.with_name(f"penstock-{other}").mkdir(mode=0o700)
    assert shared_folder("query") is None


def test_what_a_killed_process_left_is_removed_at_the_next_start(memory: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path; from penstock.spark import shared_memory;"
        "shared_memory.MEMORY = Path(sys.argv[1]);"
        "(shared_memory.shared_folder('killed') / '1.arrow').write_text('x');"
        "print('there', flush=True); sys.stdin.read()"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", code, str(memory.parent)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert other.stdout is not None
    assert other.stdout.readline() == b"there\n"
    mine = shared_folder("mine")
    assert mine is not None
    assert (memory / "killed" / "1.arrow").exists()  # somebody uses it
    other.kill()
    other.communicate()
    forget_stale()
    assert [folder.name for folder in memory.iterdir()] == ["mine"]
    forget_shared("mine")
