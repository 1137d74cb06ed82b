"""Jars of a Kafka broker and of Spark's connector, for tests; fetched once, by Maven.

    PYTHONPATH=src .penstock/env/bin/python -m tests.kafka_jars

fetches them before the tests do. They are kept beside the environment, under the versions that
`kafka_jars.xml` names.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path

from penstock.home import home

POM = Path(__file__).with_suffix(".xml")
#: Seconds in which Maven must have fetched everything.
PATIENCE = 600


class NoJars(Exception):
    """They are not there, and cannot be fetched; what to do."""


def folder() -> Path:
    """Where they lie: another folder for other versions."""
    versions = sha256(POM.read_bytes()).hexdigest()[:16]
    return home(os.environ, Path(sys.prefix)) / "kafka" / versions


def broker_jars() -> Path:
    return _fetched() / "broker"


def connector_jars() -> list[Path]:
    return sorted((_fetched() / "connector").glob("*.jar"))


def _fetched() -> Path:
    found = _fetch()
    if isinstance(found, str):
        raise NoJars(found)
    return found


@cache
def _fetch() -> Path | str:
    """The folder; or why there is none, which is not tried again."""
    there = folder()
    if there.is_dir():
        return there
    if shutil.which("mvn") is None:
        return (
            "there is no `mvn`: install it (Debian: apt-get install maven), and `./penstock test` "
            "fetches a Kafka broker"
        )
    there.parent.mkdir(parents=True, exist_ok=True)
    with (there.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another process of the suite may be at it
        return there if there.is_dir() else _by_maven(there)


def _by_maven(there: Path) -> Path | str:
    half = there.with_name(f"{there.name}.half")
    shutil.rmtree(half, ignore_errors=True)
    command = ["mvn", "-q", "-B", "-C", "-f", str(POM), "generate-resources", f"-Dto={half}"]
    failed = _run(command)
    if failed:
        return f"Kafka cannot be fetched: {failed}; by hand: {' '.join(command[:-1])} -Dto=FOLDER"
    half.rename(there)
    return there


def _run(command: Sequence[str]) -> str:
    """What a command has failed with; empty: it has not."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        return f"Maven takes more than {PATIENCE} s"
    errors = [line for line in done.stdout.splitlines() if line.startswith("[ERROR]")]
    return (errors or [f"exit code {done.returncode}"])[0] if done.returncode else ""


if __name__ == "__main__":
    try:
        print(_fetched())
    except NoJars as missing:
        sys.exit(f"{missing}; until then tests of Kafka are skipped")
