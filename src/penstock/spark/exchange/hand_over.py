"""Hand-over: rows on their way from the exchange to the groups, in shared memory.

Inside a message rows are copied some eight times: to Java, into the shuffle and out of it, through
a sort, back to Python. Where all tasks run on one machine a large block is written to shared memory
instead, and its message holds the name of the file, which the group maps. A batch's files lie in a
folder of the query's, and the driver removes them when the batch is over. Until then every attempt
of a group finds them, and an attempt of the exchange writes others.

What does not fit into shared memory travels in its message, as all rows do on a cluster.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import polars as pl

from penstock.errors import HostError
from penstock.kernel.state import from_ipc, to_ipc
from penstock.spark.control.told import Told
from penstock.spark.shared_memory import map_rows, shared_folder

#: How a payload begins that names a file; Arrow's begin with four bytes of ones.
_NAMED = b"in "
#: A block takes at most this part of the memory that is left.
_PART = 4


class HandOver:
    """What one task of the exchange hands over; without a folder, everything in messages."""

    def __init__(self, told: Told) -> None:
        self._folder = None if told.memory is None else Path(told.memory)
        self._from = told.shared_from
        self._count = 0

    def payload(self, rows: pl.DataFrame) -> bytes:
        """The rows, or where they are; payloads of a task sort as they were made."""
        file = self._written(rows)
        return to_ipc(rows) if file is None else _NAMED + os.fsencode(file)

    def _written(self, rows: pl.DataFrame) -> Path | None:
        size = int(rows.estimated_size())
        if self._folder is None or size < self._from:
            return None
        file = self._folder / f"{self._count:08d}.{uuid4().hex}"
        self._count += 1
        try:
            memory = os.statvfs(self._folder)
            if _PART * size > memory.f_bavail * memory.f_frsize:
                return None
            with file.open("wb") as sink:
                rows.write_ipc_stream(sink, compression="uncompressed")
        except (OSError, pl.exceptions.PolarsError):  # it is full, or somebody has removed it
            with suppress(OSError):
                file.unlink(missing_ok=True)
            return None
        return file


def taken(payload: bytes | bytearray) -> pl.DataFrame:
    """The rows of a payload, wherever they are."""
    if not payload.startswith(_NAMED):
        return from_ipc(bytes(payload))
    file = Path(os.fsdecode(bytes(payload[len(_NAMED) :])))
    rows = map_rows(file)
    if rows is None:
        raise HostError(
            f"rows on their way to a group are gone: `{file}` cannot be read",
            hint="leave files in shared memory alone; start again, and the batch is repeated",
        )
    return rows


def emptied_folder(query: str) -> str | None:
    """Where tasks of a query hand rows over, with nothing in it; None: nowhere."""
    shared = shared_folder(query)
    if shared is None:
        return None
    folder = shared / "exchange"
    shutil.rmtree(folder, ignore_errors=True)
    try:
        folder.mkdir(mode=0o700)
    except OSError:
        return None
    return str(folder)
