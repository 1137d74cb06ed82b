"""Folders in shared memory, one for each of Spark's queries on this machine.

Shared memory lies where everybody may write, so a folder is used only if it is ours and nobody
else's: what another user had put there would be read as rows of ours. Whoever uses the folder of a
query holds a lock on it, which a kill lets go of; folders that nobody holds are removed at the next
start.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import polars as pl
import pyarrow as pa

from penstock.io.storage.scratch import hold, own_folder, remove_stale

#: Where memory is shared.
MEMORY = Path("/dev/shm")

#: Folders that this process uses, with the handles that hold them.
_HELD: dict[Path, int] = {}


def map_rows(file: Path) -> pl.DataFrame | None:
    """The rows of a file, without copying them; None if it is not there."""
    try:
        table = pa.ipc.open_stream(pa.memory_map(str(file))).read_all()
    except OSError:
        return None
    rows = pl.from_arrow(table, rechunk=False)
    assert isinstance(rows, pl.DataFrame)
    return rows


def shared_folder(query: str) -> Path | None:
    """The folder in shared memory for one Spark query, held by this process until it ends.

    None where there is no shared memory, or none that is safe to use.
    """
    ours = own_folder(MEMORY)
    if ours is None:
        return None
    folder = ours / query
    try:
        if folder not in _HELD:
            forget_stale()
            folder.mkdir(mode=0o700, exist_ok=True)
            _HELD[folder] = hold(folder)
    except OSError:  # somebody is just removing it
        return None
    return folder


def forget_shared(query: str) -> None:
    """Remove what a query left in shared memory."""
    ours = own_folder(MEMORY)
    if ours is not None:
        handle = _HELD.pop(ours / query, None)
        if handle is not None:
            os.close(handle)
        shutil.rmtree(ours / query, ignore_errors=True)


def let_go_of_shared(query: str) -> None:
    """Hold the folder of a query no longer, of which this process has had nothing for a while."""
    ours = own_folder(MEMORY)
    handle = None if ours is None else _HELD.pop(ours / query, None)
    if handle is not None:
        os.close(handle)


def forget_stale() -> None:
    """Remove what queries left in shared memory whose processes are gone."""
    ours = own_folder(MEMORY)
    if ours is None:
        return
    remove_stale(ours)
