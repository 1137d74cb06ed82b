"""Byte code for all packages and for our own, made once.

Spark starts a Python of its own for every query and waits ten seconds for it. Where nothing is
compiled, that Python compiles a thousand modules first; with PYTHONDONTWRITEBYTECODE, each one
does. Compiled here, they are found whatever that variable says.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from penstock_setup.places import Places
from penstock_setup.progress import Progress

#: Tests of packages, which nobody runs.
_TESTS = r"[/\\]tests?[/\\]"


def compile_all(places: Places, progress: Progress) -> None:
    """Compile what the environment holds and the project's sources.

    What cannot be compiled or written costs time when it is imported, nothing else: that is no
    reason to fail.
    """
    folders = [places.root / "src", *places.env.glob("lib*/python*/site-packages")]
    python = [str(places.env_python), "-m", "compileall", "-q", "-q", "-j", "0", "-x", _TESTS]
    process = subprocess.Popen(
        [*python, *map(str, _there(folders))],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    progress.wait_for(process, lambda: "compiling the packages")


def _there(folders: list[Path]) -> list[Path]:
    """Each folder once: lib64 is often another name of lib."""
    return sorted({folder.resolve() for folder in folders if folder.is_dir()})
