"""Books of a stream that is folded: the bound after each batch, and the rows that it rejected.

A row is late when it lies below the bound after the earlier micro-batches, here as in the kernel.
Spark's watermark does not say which rows those are: it is a number of milliseconds, and judges
windows. So tasks judge by a bound of ours, which the driver keeps in the checkpoint:

    books/
      7.json             the bound after the batches before 7
      7/RUN-2.json       noted in batch 7 by task 2: rows, their newest time, punctuation it read
      7/RUN-2.late       … rows it rejected, as Arrow IPC
      7/RUN-2.malformed

`8.json` is written when batch 7 has been handed out, before Spark commits it. So it is there when
batch 8 begins, and says the same when Spark repeats batch 8. Notes carry the name of the run, so
that a task of an earlier one that is still alive somewhere is not mistaken for one of this.
"""

from __future__ import annotations

import json
import os
import shutil
import uuid
from dataclasses import asdict, dataclass, field
from pathlib import Path

import polars as pl

from penstock.io.storage.sealed import read_sealed, write_sealed
from penstock.kernel.rejected import Reason
from penstock.kernel.state import from_ipc, to_ipc
from penstock.model.streams import Stream
from penstock.model.timestamps import BEGINNING, END

#: As many batches as Spark keeps itself.
KEPT = 100


@dataclass(frozen=True)
class Standing:
    """A stream's bound, and its newest time."""

    bound: int = BEGINNING
    newest: int = BEGINNING


@dataclass
class Note:
    """What tasks have seen of a stream in one batch."""

    rows: int = 0
    newest: int = BEGINNING
    bound: int = BEGINNING  # from outside
    aside: dict[Reason, list[pl.DataFrame]] = field(default_factory=dict)

    def reject(self, reason: Reason, rows: pl.DataFrame) -> None:
        if rows.height:
            self.aside.setdefault(reason, []).append(rows)


def standing_after(before: Standing, note: Note, stream: Stream) -> Standing:
    """How far a stream is when a batch is over; as the kernel's generators have it."""
    newest = max(before.newest, note.newest)
    bounds = [before.bound, note.bound]
    if stream.slack is not None and newest > BEGINNING:
        bounds.append(newest - stream.slack)
    return Standing(max(bounds), newest)


def lateness_after(before: Standing, note: Note, stream: Stream) -> int:
    """How far the latest of the late rows lies behind the newest of earlier batches."""
    if before.bound >= END:
        return 0  # the stream was over
    # A bound from outside may be ahead of all rows, and a late row the newest of them.
    late = note.aside.get(Reason.LATE, ())
    oldest = [rows.get_column(str(stream.timestamp)).min() for rows in late]
    return max([0, *(before.newest - time for time in oldest if isinstance(time, int))])


@dataclass(frozen=True)
class Books:
    """The books in a folder; tasks get a copy."""

    folder: str
    run: str = field(default_factory=lambda: uuid.uuid4().hex[:12])

    def before(self, batch: int) -> Standing:
        """How far the stream is by the batches before this one."""
        if batch == 0:
            return Standing()
        return Standing(**read_sealed(Path(self.folder) / f"{batch}.json"))

    # -- tasks --------------------------------------------------------------------------------

    def write(self, batch: int, task: int, note: Note) -> None:
        """Keep what a task has noted; a task that is tried again writes the same."""
        place = Path(self.folder) / str(batch)
        place.mkdir(parents=True, exist_ok=True)
        name = f"{self.run}-{task}"
        for reason, parts in note.aside.items():
            _write(place / f"{name}.{reason.value}", to_ipc(pl.concat(parts)))
        said = {"rows": note.rows, "newest": note.newest, "bound": note.bound}
        _write(place / f"{name}.json", json.dumps(said).encode())

    # -- driver -------------------------------------------------------------------------------

    def open(self, batch: int) -> None:
        """Make room for the notes of a batch."""
        shutil.rmtree(Path(self.folder) / str(batch), ignore_errors=True)

    def noted(self, batch: int) -> Note:
        """What all tasks of a batch have noted."""
        whole = Note()
        place = Path(self.folder) / str(batch)
        for file in sorted(place.glob(f"{self.run}-*.json"), key=_task):
            said = json.loads(file.read_text())
            whole.rows += said["rows"]
            whole.newest = max(whole.newest, said["newest"])
            whole.bound = max(whole.bound, said["bound"])
            for reason in (Reason.LATE, Reason.MALFORMED):
                rows = file.with_suffix(f".{reason.value}")
                if rows.exists():
                    whole.reject(reason, from_ipc(rows.read_bytes()))
        return whole

    def close(self, batch: int, after: Standing) -> None:
        """A batch is over: keep what it leaves for the next one, forget its notes."""
        folder = Path(self.folder)
        folder.mkdir(parents=True, exist_ok=True)
        write_sealed(folder / f"{batch + 1}.json", asdict(after))
        shutil.rmtree(folder / str(batch), ignore_errors=True)
        (folder / f"{batch + 1 - KEPT}.json").unlink(missing_ok=True)


def _task(file: Path) -> int:
    return int(file.stem.rpartition("-")[2])


def _write(file: Path, content: bytes) -> None:
    """In one piece, whoever else may be writing it."""
    hidden = file.with_name(f".{file.name}.{uuid.uuid4().hex}")
    hidden.write_bytes(content)
    os.replace(hidden, file)
