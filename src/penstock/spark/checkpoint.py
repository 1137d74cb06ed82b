"""A pipeline's checkpoint: where Spark keeps its offsets and state, and whose they are.

Beside Spark's own folder lies a description of the queries. A checkpoint is continued only by the
same queries over the same streams: anything else would read old state into new operators. And only
by one driver at a time, which a lock sees to.
"""

from __future__ import annotations

import fcntl
import json
from pathlib import Path
from typing import IO, Any

from penstock.errors import HostError
from penstock.plan.explain import explain_graph
from penstock.plan.graph import QueryGraph, walk
from penstock.plan.nodes import TableJoin
from penstock.spark.group_host import Program


class Checkpoint:
    """A folder that belongs to one program, held by this process until `release`."""

    def __init__(self, folder: Path, program: Program) -> None:
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
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
        self._claim(program)

    @property
    def spark(self) -> Path:
        """Spark's own folder."""
        return self.folder / "spark"

    @property
    def pulse(self) -> Path:
        """The folder through which promises reach the running query."""
        return self.folder / "pulse"

    def groups(self, wanted: list[int]) -> list[int]:
        """The keys of the partition groups: as wanted at the beginning, the same ever after.

        State lies with its group, and Spark keeps its number of partitions; a session that comes
        with another number must not spread rows in another way.
        """
        file = self.folder / "groups.json"
        if not file.exists():
            _write(file, wanted)
        return [int(key) for key in self._read(file)]

    @property
    def is_new(self) -> bool:
        """Whether nothing has been run from it yet."""
        return not (self.spark / "offsets").exists()

    def release(self) -> None:
        self._lock.close()

    def _read(self, file: Path) -> Any:
        try:
            return json.loads(file.read_text())
        except (OSError, ValueError) as cause:
            self.release()
            raise HostError(
                f"`{file}` cannot be read: {cause}", hint="start anew with another checkpoint"
            ) from cause

    def _claim(self, program: Program) -> None:
        file = self.folder / "program.json"
        mine = describe(program)
        if not file.exists():
            _write(file, mine)
            return
        theirs = self._read(file)
        # Sources and operators are numbered as they are declared, so the order counts as well.
        if list(theirs.items()) != list(mine.items()):
            self.release()
            difference = _difference(theirs, mine)
            raise HostError(
                f"the checkpoint `{self.folder}` belongs to other queries: {difference}",
                hint="continue it with the queries it was begun with, or start anew with another "
                "checkpoint and another place for the results",
            )


def describe(program: Program) -> dict[str, str]:
    """A program as text: equal exactly when it computes the same from the same streams."""
    streams = {
        f"stream {stream.name}": f"{stream.schema}; {stream.disorder()}; {stream.origin}; "
        f"{dict(stream.origin.options)}"
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
    chosen = {
        "union": program.union,
        "join": program.join,
        "aggregation": program.aggregation,
        "late": program.late,
        "lowering": program.lowering,
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


def _write(file: Path, content: object) -> None:
    """In one piece."""
    hidden = file.with_suffix(".new")
    hidden.write_text(json.dumps(content, indent=2))
    hidden.replace(file)
