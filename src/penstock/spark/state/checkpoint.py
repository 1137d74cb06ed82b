"""A pipeline's checkpoint: where Spark keeps its offsets and state, and whose they are.

    lock                held by the driver that runs it
    program.json        its id, and what it computes: streams, and the operators of every query
    groups.json         the keys of the partition groups
    sinks.json          where each query's results go
    results/NAME        what was written there, file by file (`io/storage/manifest.py`)
    rows/N.json         what is known before batch N, in a pipeline without groups (`rows/host.py`)
    control/, streams/  punctuation, and rows of iterables
    spark/              Spark's own

State lies under the fingerprints of operators (`optimizer/physical.py`), so a checkpoint is
continued by the same queries in whatever order they are declared, and by others beside them, which
begin anew; under other settings too, if these change no operators (`changed_settings.py`). What has
changed is refused: a query that computes something else, by other operators, or is gone, a stream
that brings something else. And it is continued by one driver at a time, which the lock sees to.
Files of ours are sealed: one that was changed or is missing is refused, with its name. The folder
is its owner's alone, so nobody else reads what Spark writes into it either.

Secrets of sources stay out of it altogether. A password may be another one at the next start: what
it opens is still the same.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

from penstock.errors import HostError
from penstock.io.sinks.registry import folder_of
from penstock.io.storage.sealed import (
    OTHER_RELEASE,
    PRIVATE_FOLDER,
    START_OVER,
    read_sealed,
    write_sealed,
)
from penstock.optimizer.codec import encode
from penstock.optimizer.options import UNLIMITED, Options
from penstock.optimizer.physical import Plans, Program, from_json, to_json, walk
from penstock.optimizer.specs import SourceSpec, StaticJoinSpec
from penstock.spark.rows.choice import GROUPS, ROWS
from penstock.spark.state.changed_settings import differing_settings
from penstock.spark.state.spark_files import damaged, is_unused, last_finished
from penstock.sql.parse.statements import Sink

PROGRAM = "program.json"


@dataclass(frozen=True)
class Continued:
    """A checkpoint that is there, and what belongs to it."""

    folder: Path
    plans: Plans
    asked: Mapping[str, str]  # digests of the queries as declared
    streams: tuple[str, ...]  # by their places
    options: Options
    form: str  # with groups or without (`rows/choice.py`)
    #: Its queries as they are declared now: the settings of each.
    declared: Mapping[str, Options] = field(default_factory=dict)

    @classmethod
    def at(cls, folder: Path) -> Continued | None:
        """The checkpoint in a folder; None: there is none."""
        if not (folder / PROGRAM).exists():
            return None
        program = read_sealed(folder / PROGRAM)["program"]
        if not _is_ours(program):
            return None  # it is refused where it is claimed
        streams, options = tuple(program["stream"]), Options(**program["setting"])
        plans, form = from_json(program["plans"]), program["operator"]
        return cls(folder, plans, program["query"], streams, options, form)


def beside(sinks: Iterable[Sink | None]) -> Iterator[Path]:
    """Where checkpoints lie if the user names no place: beside files that are written."""
    for sink in sinks:
        folder = None if sink is None else folder_of(sink)
        if folder is not None:
            yield folder / "_checkpoint"


def continued_in(folder: Path | None, sinks: Iterable[Sink | None]) -> list[Continued]:
    """The checkpoints that queries with these sinks may continue; `folder`: where the user says."""
    places = beside(sinks) if folder is None else sorted(folder.glob("*"))
    return [found for place in places if (found := Continued.at(place))]


class Checkpoint:
    """A folder that belongs to one program, held by this process until `release`.

    `declared` are the settings of its queries, also of those that are not in this program; `form`
    tells whether the pipeline has groups (`rows/choice.py`).
    """

    def __init__(
        self,
        folder: Path,
        program: Program,
        declared: Mapping[str, Options] | None = None,
        form: str = GROUPS,
    ) -> None:
        self.folder = folder
        self._form = form
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
        #: The queries that were not among its own until now.
        self.added: frozenset[str] = frozenset()
        try:
            self.id = self._claim(program, declared or {})
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
    def control(self) -> Path:
        """The folder through which punctuation reaches the running query."""
        return self.folder / "control"

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

    def confirm(self, program: Program) -> None:
        """Note the queries that are new: from now on they belong to it."""
        if self.added:
            write_sealed(self.folder / PROGRAM, {"id": self.id, "program": self._describe(program)})

    def _describe(self, program: Program) -> dict[str, Any]:
        return describe(program, self._form)

    def _claim(self, program: Program, declared: Mapping[str, Options]) -> str:
        """The checkpoint's id; raises if it belongs to another program."""
        file = self.folder / PROGRAM
        mine = self._describe(program)
        if not file.exists():
            if not self.is_new or (self.folder / "groups.json").exists():
                raise damaged(file, "is gone")
            name = uuid4().hex
            write_sealed(file, {"id": name, "program": mine})
            return name
        found = read_sealed(file)
        theirs = found["program"]
        if not _is_ours(theirs):
            raise HostError(
                f"the checkpoint `{self.folder}` was written by an earlier release, whose state "
                "this one cannot read",
                hint=OTHER_RELEASE,
            )
        if differing := differing_settings(declared):
            before = _settings(theirs)
            wanted = "; ".join(f"SET {name} = {before[name]}" for name in differing)
            raise HostError(
                f"the checkpoint `{self.folder}` has queries that run together, and they are "
                f"declared under different settings now: {'; '.join(differing.values())}",
                hint=f"declare all of them under {wanted}, or {START_OVER}",
            )
        if difference := _difference(theirs, mine):
            raise HostError(
                f"the checkpoint `{self.folder}` belongs to other queries: {difference}",
                hint="continue it with the queries and settings it was begun with, or "
                f"{START_OVER}",
            )
        if theirs["operator"] != mine["operator"]:
            raise HostError(
                f"the checkpoint `{self.folder}` was begun without state, and the queries need "
                "some now",
                hint=f"continue it with the queries it was begun with, or {START_OVER}",
            )
        self.added = frozenset(mine["query"].keys() - theirs["query"].keys())
        return str(found["id"])


def describe(program: Program, form: str = GROUPS) -> dict[str, Any]:
    """A program as JSON: what is asked of which streams and tables, and the operators for it."""
    specs = (plan.spec for plan in walk(program.plans.values()))
    tables = (spec.join.table for spec in specs if isinstance(spec, StaticJoinSpec))
    return {
        "stream": {s.name: encode(SourceSpec.of(s).stream) for s in program.streams},
        "table": {table.name: encode(table) for table in tables},
        "query": dict(program.asked),
        "setting": asdict(program.options),
        "plans": to_json(program.plans),
        "operator": form,  # Spark refuses what another one has left
    }


def _is_ours(program: Mapping[str, Any]) -> bool:
    return program.get("operator") in (GROUPS, ROWS)


def _difference(theirs: Mapping[str, Any], mine: Mapping[str, Any]) -> str:
    """What has changed so that state would not fit; empty: nothing."""
    found: dict[str, list[str]] = {"gone": [], "new": [], "changed": []}
    for kind in ("stream", "table", "query"):
        before, now = theirs[kind], mine[kind]
        found["gone"] += [f"{kind} {name}" for name in before if name not in now]
        found["new"] += [f"{kind} {name}" for name in now if name not in before]
        found["changed"] += [
            f"{kind} {name}" for name in now if name in before and before[name] != now[name]
        ]
    others, settings = _changed_operators(theirs, mine)
    found["changed"] += others
    adds_only_queries = all(name.startswith(("query ", "table ")) for name in found["new"])
    if not found["gone"] and not found["changed"] and adds_only_queries:
        places = [name for name in mine["stream"] if name in theirs["stream"]]
        return "" if places == list(theirs["stream"]) else "the streams are in another order"
    differences = [f"{', '.join(names)} {what}" for what, names in found.items() if names]
    return "; ".join(differences + settings)


def _changed_operators(
    theirs: Mapping[str, Any], mine: Mapping[str, Any]
) -> tuple[list[str], list[str]]:
    """Queries that ask for the same and are to be computed otherwise, and what was set for that."""
    before, now = theirs["plans"]["queries"], mine["plans"]["queries"]
    asked = [name for name in now if theirs["query"].get(name) == mine["query"][name]]
    changed = [f"operators of query {name}" for name in asked if before[name] != now[name]]
    was, is_ = _settings(theirs), _settings(mine)
    settings = [name for name in is_ if changed and was[name] != is_[name]]
    return changed, [f"setting {name} was {was[name]} and is {is_[name]}" for name in settings]


def _settings(program: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a program as they are written in SQL."""
    found = asdict(Options(**program["setting"]))
    return {name: UNLIMITED if value is None else value for name, value in found.items()}
