"""ProgramLog: what a pipeline runs, batch by batch, in its checkpoint.

    programs/0.json     what runs from batch 0 on
    programs/1.json     what runs from batch 7 on

An entry is written once, before the first batch that it is about begins and after the one before is
committed, and never changed; of several about one batch the last counts. So every attempt at a
batch, in whatever process that declares the same, runs the same program, and a reader can tell
which queries lived when. Queries that were edited meanwhile begin with the batch that is repeated.

The number of an entry is also the name of the change (`SourceSpec.since`): a query that sees rows
from then on has operators of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from penstock.checkpoint.layout import Layout
from penstock.io.storage.sealed import PRIVATE_FOLDER, read_sealed, write_sealed
from penstock.io.storage.storage_path import StoragePath
from penstock.spark.faults import reach, step


@dataclass(frozen=True)
class Entry:
    """A program, as JSON, where its results go, and the first batch that runs it."""

    number: int
    batch: int
    id: str  # of the checkpoint
    program: Mapping[str, Any]
    sinks: Mapping[str, Mapping[str, str]]  # by whose rows they take (`delivery/outputs.py`)


class ProgramLog:
    """The programs of one checkpoint, oldest first."""

    def __init__(self, checkpoint: StoragePath) -> None:
        self._files = Layout(checkpoint).programs

    def last(self) -> Entry | None:
        """What runs in the end; None: nothing was begun."""
        numbers = self._files.numbers()
        return self._read(numbers[-1]) if numbers else None

    def entries(self) -> list[Entry]:
        return [self._read(number) for number in self._files.numbers()]

    def of(self, batch: int) -> Entry:
        """What a batch runs."""
        return [entry for entry in self.entries() if entry.batch <= batch][-1]

    @property
    def next(self) -> int:
        """The number of the next entry."""
        return max(self._files.numbers(), default=-1) + 1

    def append(
        self,
        batch: int,
        id: str,
        program: Mapping[str, Any],
        sinks: Mapping[str, Mapping[str, str]],
    ) -> Entry:
        """Have a program run from a batch on, which has not begun."""
        entry = Entry(self.next, batch, id, program, sinks)
        self._files.folder.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
        reach("program.begin")
        for _ in step("program.write"):
            content = {"batch": batch, "id": id, "program": program, "sinks": sinks}
            write_sealed(self._files.file(entry.number), content)
        reach("program.written")
        return entry

    def forget(self, finished: int) -> None:
        """Remove entries that no batch behind a finished one can ask for."""
        entries = self.entries()
        for entry, later in pairwise(entries):
            if later.batch <= finished:
                self._files.file(entry.number).unlink(missing_ok=True)

    def _read(self, number: int) -> Entry:
        return Entry(number, **read_sealed(self._files.file(number)))
