"""What processes take of the machine, as /proc tells: memory and threads."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")


@dataclass(frozen=True)
class Process:
    """One process as it is now; memory that several share counts for each by its part of it."""

    id: int
    parent: int
    name: str
    bytes: int
    threads: int


def family(of: int | None = None) -> dict[str, list[Process]]:
    """This process (`driver`), `java` below it, and the Python below that (`workers`)."""
    driver = os.getpid() if of is None else of
    found: dict[str, list[Process]] = {"driver": [], "java": [], "workers": []}
    below = [driver]
    known = list(_processes())
    while below:
        process = below.pop()
        below += [child for child, parent in known if parent == process]
        if (read := process_of(process)) is not None:
            found[_role(read, driver)].append(read)
    return found


def _role(process: Process, driver: int) -> str:
    if process.id == driver:
        return "driver"
    return "java" if process.name == "java" else "workers"


def process_of(id: int) -> Process | None:
    """A process; None: it has gone."""
    try:
        status = (PROC / str(id) / "status").read_text()
        memory = (PROC / str(id) / "smaps_rollup").read_text()
    except OSError:
        return None
    fields = field_values(status)
    kilobytes = int(field_values(memory).get("Pss", "0 kB").split()[0])
    return Process(id, int(fields["PPid"]), fields["Name"], kilobytes << 10, int(fields["Threads"]))


def field_values(text: str) -> dict[str, str]:
    """The lines `name: value` of a file below /proc.

    >>> field_values("Name:\\tjava\\nThreads:\\t87")
    {'Name': 'java', 'Threads': '87'}
    """
    parts = (line.partition(":") for line in text.splitlines())
    return {name: value.strip() for name, colon, value in parts if colon}


def _processes() -> Iterator[tuple[int, int]]:
    """All processes and their parents."""
    for entry in PROC.iterdir():
        if entry.name.isdecimal():
            try:
                # The name, in brackets, may hold anything.
                rest = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            yield int(entry.name), int(rest[1])
