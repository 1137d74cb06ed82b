"""A pipeline's checkpoint: where Spark keeps its offsets and state, and whose they are.

    lock                held by the driver that runs it
    program.json        its id, and a description of the queries
    groups.json         the keys of the partition groups
    sinks.json          where each query's results go
    results/NAME        what was written there, file by file (`io/storage/manifest.py`)
    pulse/, streams/    promises, and rows of iterables
    spark/              Spark's own

A checkpoint is continued only by the same queries over the same streams: anything else would read
old state into new operators. And only by one driver at a time, which the lock sees to. Files of
ours are sealed: one that was changed or is missing is refused, with its name. The folder is its
owner's alone, so nobody else reads what Spark writes into it either.

Secrets of sources stay out of it altogether. A password may be another one at the next start: what
it opens is still the same.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

from penstock.errors import HostError
from penstock.io.storage.sealed import PRIVATE_FOLDER, read_sealed, write_sealed
from penstock.optimizer.physical import Program
from penstock.plan.explain import explain_graph
from penstock.plan.graph import QueryGraph, walk
from penstock.plan.nodes import TableJoin
from penstock.redaction import redacted_options
from penstock.spark.state.spark_files import damaged, is_unused, last_finished


class Checkpoint:
    """A folder that belongs to one program, held by this process until `release`."""

    def __init__(self, folder: Path, program: Program) -> None:
        self.folder = folder
        try:
            folder.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
            if folder.stat().st_uid == os.getuid():  # else whoever made it has decided
                folder.chmod(PRIVATE_FOLDER)
            self._lock: IO[str] = (folder / "lock").open("w")
        except OSError as cause:
            raise HostError(f"cannot keep a checkpoint at `{folder}`: {cause}") from cause
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._lock.close()
            raise HostError(
                f"the checkpoint `{folder}` is in use by another process",
                hint="stop that one first, or name another checkpoint",
            ) from None
        try:
            self.id = self._claim(program)
            #: The last batch that is over, -1 if none is.
            self.finished = last_finished(self.spark)
        except BaseException:
            self.release()
            raise

    @property
    def spark(self) -> Path:
        """Spark's own folder."""
        return self.folder / "spark"

    @property
    def pulse(self) -> Path:
        """The folder through which promises reach the running query."""
        return self.folder / "pulse"

    @property
    def is_new(self) -> bool:
        """Whether nothing has been run from it yet."""
        return is_unused(self.spark)

    def groups(self, wanted: list[int]) -> list[int]:
        """The keys of the partition groups: as wanted at the beginning, the same ever after.

        State lies with its group, and Spark keeps its number of partitions; a session that comes
        with another number must not spread rows in another way.
        """
        return [int(key) for key in self.kept("groups.json", wanted)]

    def kept(self, name: str, wanted: Any) -> Any:
        """What a file of the checkpoint holds: what is wanted at the beginning, then ever after."""
        file = self.folder / name
        if file.exists():
            return read_sealed(file)
        if not self.is_new:
            raise damaged(file, "is gone")
        write_sealed(file, wanted)
        return wanted

    def release(self) -> None:
        self._lock.close()

    def _claim(self, program: Program) -> str:
        """The checkpoint's id; raises if it belongs to another program."""
        file = self.folder / "program.json"
        mine = describe(program)
        if not file.exists():
            if not self.is_new or (self.folder / "groups.json").exists():
                raise damaged(file, "is gone")
            name = uuid4().hex
            write_sealed(file, {"id": name, "program": mine})
            return name
        found = read_sealed(file)
        theirs = found["program"]
        # Sources and operators are numbered as they are declared, so the order counts as well.
        if list(theirs.items()) != list(mine.items()):
            difference = _difference(theirs, mine)
            raise HostError(
                f"the checkpoint `{self.folder}` belongs to other queries: {difference}",
                hint="continue it with the queries it was begun with, or start anew with another "
                "checkpoint and another place for the results",
            )
        return str(found["id"])


def describe(program: Program) -> dict[str, str]:
    """A program as text: equal exactly when it computes the same from the same streams."""
    streams = {
        f"stream {stream.name}": f"{stream.schema}; {stream.disorder()}; {stream.origin}; "
        f"{redacted_options(stream.origin.options)}"
        for stream in program.streams
    }
    tables = {
        f"table {node.table.name}": f"{node.table.schema}; {node.table.rows} rows, "
        f"{node.table.digest}"
        for plan in program.queries.values()
        for node in walk(plan)
        if isinstance(node, TableJoin)
    }
    queries = {
        f"query {name}": explain_graph(QueryGraph({name: plan}))
        for name, plan in program.queries.items()
    }
    options = program.options
    chosen = {
        "union": options.union,
        "join": options.join,
        "aggregation": options.aggregation,
        "late": options.late,
        "lowering": options.lowering,
    }
    return {**streams, **tables, **queries, **chosen}


def _difference(theirs: dict[str, str], mine: dict[str, str]) -> str:
    gone = [name for name in theirs if name not in mine]
    new = [name for name in mine if name not in theirs]
    changed = [name for name in mine if name in theirs and mine[name] != theirs[name]]
    parts = [
        f"{', '.join(names)} {what}"
        for names, what in ((gone, "gone"), (new, "new"), (changed, "changed"))
        if names
    ]
    return "; ".join(parts) or "the same ones, declared in another order"
