"""The private environment: exactly the packages of the lock file, or none.

It is made anew whenever the lock changes, because pip adds and upgrades but never takes away,
and an environment with a left-over package is not the locked one.
"""

from __future__ import annotations

import filecmp
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from penstock_setup.bytecode import compile_all
from penstock_setup.pip import install
from penstock_setup.places import Places, SetupFailed
from penstock_setup.progress import Progress

PIP_WITH_PYTHON_OPTION = (22, 3)


def is_current(places: Places, asked: str) -> bool:
    """Whether the environment is the one of this lock, made with the Python that is asked for."""
    return (
        os.access(places.env_python, os.X_OK)
        and same_file(places.lock, places.env_stamp)
        and asked in ("", places.made_with.read_text(encoding="utf-8").rstrip("\n"))
    )


def make(places: Places, asked: str, progress: Progress) -> None:
    """Make the environment anew with the Python that runs this."""
    python = base_python()
    progress.say(f"making an environment with {python} in {places.env}")
    shutil.rmtree(places.env, ignore_errors=True)
    # Debian and Ubuntu split ensurepip from Python, and with it the pip of new environments.
    options = [] if importlib.util.find_spec("ensurepip") else ["--without-pip"]
    venv = subprocess.run(
        [str(python), "-m", "venv", *options, str(places.env)], capture_output=True, text=True
    )
    if venv.returncode != 0:
        raise SetupFailed(f"{python} -m venv failed:\n{venv.stdout}{venv.stderr}".rstrip())
    count = install(pip_command(places), [], places.lock, places.log, progress)
    compile_all(places, progress)
    places.made_with.write_text(f"{asked}\n", encoding="utf-8")
    shutil.copyfile(places.lock, places.env_stamp)
    progress.say(f"{count} packages installed after {progress.seconds} s")


def pip_command(places: Places) -> list[str]:
    """How to call pip for the environment: its own, else that of its Python, told to work on it."""
    if any(places.env.glob("lib/python*/site-packages/pip")):
        return [str(places.env_python), "-m", "pip"]
    python = base_python()
    asked = subprocess.run([str(python), "-m", "pip", "--version"], capture_output=True, text=True)
    if pip_version(asked.stdout) < PIP_WITH_PYTHON_OPTION:
        raise SetupFailed(
            f"{python} has neither ensurepip nor a pip of 22.3 or newer: install one"
            " (Debian, Ubuntu: apt install python3-venv), then call again"
        )
    return [str(python), "-m", "pip", "--python", str(places.env_python)]


def pip_version(said: str) -> tuple[int, int]:
    """Major and minor version; older than any if there is no pip.

    >>> pip_version("pip 23.0.1 from /usr/lib/python3/dist-packages/pip (python 3.11)")
    (23, 0)
    >>> pip_version("")
    (0, 0)
    """
    found = re.match(r"pip (\d+)\.(\d+)", said)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def base_python() -> Path:
    """The Python behind the one that runs this, by its full name.

    Not the name it was called by: behind `python3` stands another version after an upgrade, and
    the environment would lose its packages without a trace. A name that is gone, we notice.
    """
    return Path(os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable))


def same_file(one: Path, other: Path) -> bool:
    return other.is_file() and filecmp.cmp(one, other, shallow=False)
