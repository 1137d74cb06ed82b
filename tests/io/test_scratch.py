"""What a process needs no longer than it runs is gone when it ends, and after a kill."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from penstock.io.storage.scratch import own_folder

MAKE = """
import sys
from penstock.io.storage.scratch import scratch
(scratch() / "file").touch()
print(scratch(), flush=True)
sys.stdin.read()
"""


def start(place: Path) -> tuple[subprocess.Popen[str], Path]:
    process = subprocess.Popen(
        [sys.executable, "-c", MAKE],
        env={**os.environ, "TMPDIR": str(place)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_a_folder_goes_with_its_process_and_after_a_kill_with_the_next_start(
    tmp_path: Path,
) -> None:
    killed, left = start(tmp_path)
    living, used = start(tmp_path)
    assert left.parent == used.parent == own_folder(tmp_path)
    assert left.parent.stat().st_mode & 0o777 == left.stat().st_mode & 0o777 == 0o700
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert (left / "file").exists()
    other, _ = start(tmp_path)
    assert not left.exists() and (used / "file").exists()
    for process in (living, other):
        process.communicate()
        assert process.returncode == 0
    assert list(used.parent.iterdir()) == []


def test_a_place_that_others_can_write_to_is_not_used(tmp_path: Path) -> None:
    (tmp_path / f"penstock-{os.getuid()}").mkdir()
    (tmp_path / f"penstock-{os.getuid()}").chmod(0o777)
    process, used = start(tmp_path)
    assert used.parent == tmp_path
    process.communicate()
    assert not used.exists()
