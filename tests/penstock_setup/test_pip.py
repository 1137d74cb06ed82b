"""How pip's many words become few, with a shell script for pip."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from penstock_setup.pip import install, reason, tail
from penstock_setup.places import SetupFailed
from penstock_setup.progress import Progress


def pip_that(directory: Path, script: str) -> list[str]:
    program = directory / "pip"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return [str(program)]


def test_the_count_is_what_pip_installs_here_not_what_the_lock_lists(tmp_path: Path) -> None:
    pip = pip_that(tmp_path, "echo Collecting a==1; echo 'Installing collected packages: a, b'")
    lock = tmp_path / "lock"
    assert install(pip, [], lock, tmp_path / "log", Progress(io.StringIO())) == 2


def test_pip_is_held_to_the_lock(tmp_path: Path) -> None:
    pip = pip_that(tmp_path, 'echo "$@"')
    install(pip, ["--target", "x"], Path("the.lock"), tmp_path / "log", Progress(io.StringIO()))
    said = (tmp_path / "log").read_text()
    assert "--require-hashes" in said
    assert said.endswith("--target x -r the.lock\n")


def test_pip_does_not_see_the_users_pythonpath(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", "/theirs")
    pip = pip_that(tmp_path, 'echo "[$PYTHONPATH]"')
    install(pip, [], Path("the.lock"), tmp_path / "log", Progress(io.StringIO()))
    assert (tmp_path / "log").read_text() == "[]\n"


def test_a_failure_gives_the_reason_and_pips_last_words(tmp_path: Path) -> None:
    pip = pip_that(tmp_path, "echo 'ERROR: No matching distribution found for polars'; exit 1")
    with pytest.raises(SetupFailed) as failure:
        install(pip, [], Path("the.lock"), tmp_path / "log", Progress(io.StringIO()))
    text = str(failure.value)
    assert "name a Python from 3.10 to 3.14 in PENSTOCK_PYTHON" in text
    assert text.endswith("    ERROR: No matching distribution found for polars")


def test_a_network_that_is_down_is_not_blamed_on_the_python() -> None:
    said = (
        "WARNING: Retrying (Retry(total=0)) after connection broken by NewConnectionError\n"
        "ERROR: No matching distribution found for polars==2.1.0\n"
    )
    assert "check the network" in reason(said)


def test_last_words_are_few() -> None:
    said = "\n".join(f"line {n}\n" for n in range(100))
    assert tail(said).splitlines()[0] == "    line 92"
    assert tail(said).splitlines()[-1] == "    line 99"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_on_a_terminal_a_step_is_rewritten_in_place() -> None:
    out = Terminal()
    progress = Progress(out)
    progress.step("fetching package 1, numpy")
    progress.step("fetching package 2, polars")
    progress.say("done")
    assert out.getvalue().count("\n") == 1
    assert out.getvalue().endswith("\rpenstock: done\n")


def test_in_a_log_a_step_is_not_repeated_at_once() -> None:
    out = io.StringIO()
    progress = Progress(out)
    progress.say("begin")
    progress.step("fetching package 1, numpy")
    assert out.getvalue() == "penstock: begin\n"
