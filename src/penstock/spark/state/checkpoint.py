"""A pipeline's checkpoint: where Spark keeps its offsets and state, and whose they are.

What lies in it is in the table of `checkpoint/layout.py`.

State lies under the fingerprints of operators (`optimizer/physical.py`), so a checkpoint is
continued by the same queries in whatever order they are declared, and by others beside them, which
begin anew; under other settings too, if these change no operators (`changed_settings.py`). Where
queries have changed or gone, what they alone have kept is forgotten: whoever starts them must say
that this is meant. A stream that brings something else is refused (`program_changes.py`). And it is
continued by one driver at a time, which the lock sees to.
Files of ours are sealed: one that was changed or is missing is refused, with its name. The folder
is its owner's alone, so nobody else reads what Spark writes into it either.

Secrets of sources stay out of it altogether. A password may be another one at the next start: what
it opens is still the same.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from penstock.checkpoint.layout import BESIDE_RESULTS, Layout
from penstock.errors import HostError
from penstock.io.sinks.registry import folder_of
from penstock.io.storage.lock import hold
from penstock.io.storage.sealed import (
    PRIVATE_FOLDER,
    START_OVER,
    read_sealed,
    write_sealed,
)
from penstock.io.storage.storage_path import StoragePath
from penstock.model.computed_column import ComputedColumn
from penstock.model.streams import Sink
from penstock.optimizer.codec import decode, encode
from penstock.optimizer.options import Options
from penstock.optimizer.physical import (
    PhysicalPlan,
    Plans,
    Program,
    from_json,
    to_json,
    used_in,
    walk,
)
from penstock.optimizer.specs import SourceSpec, StaticJoinSpec
from penstock.spark.placement.partitioning import PartitionKeys
from penstock.spark.rows.choice import GROUPS
from penstock.spark.state.program_changes import (
    ProgramChanges,
    own_options,
    program_changes,
)
from penstock.spark.state.program_log import ProgramLog
from penstock.spark.state.spark_files import damaged, is_over, is_unused, last_begun, last_finished


@dataclass(frozen=True)
class Continued:
    """A checkpoint that is there, and what belongs to it."""

    folder: StoragePath
    plans: Plans
    asked: Mapping[str, str]  # digests of the queries as declared
    streams: tuple[str, ...]  # by their places
    options: Options
    form: str  # with groups or without (`rows/choice.py`)
    keys: Mapping[str, PartitionKeys]  # by which rows of each stream are spread
    described: Mapping[str, Any]  # all that, as `describe` has it
    own: Mapping[str, Options] = field(default_factory=dict)  # of queries that have others
    altered: Mapping[str, tuple[PhysicalPlan, ...]] = field(default_factory=dict)  # see `Program`
    why: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # see `Program`
    change: int = 0  # the number that the next change will have
    computed: Mapping[str, tuple[ComputedColumn, ...]] = field(default_factory=dict)  # by stream

    @classmethod
    def at(cls, folder: StoragePath) -> Continued | None:
        """The checkpoint in a folder; None: there is none."""
        Layout(folder).check_format()
        log = ProgramLog(folder)
        last = log.last()
        if last is None:
            return None
        program = last.program
        streams, options = tuple(program["stream"]), Options(**program["setting"])
        plans, form = from_json(program["plans"]), program["operator"]
        spread = program["keys"].items()
        keys = {name: None if key is None else tuple(key) for name, key in spread}
        asked, own = program["query"], own_options(program)
        altered = {
            name: tuple(from_json(each)[name] for each in plans)
            for name, plans in program.get("altered", {}).items()
        }
        why = {name: (reason, how) for name, (reason, how) in program.get("why", {}).items()}
        known = (streams, options, form, keys, program, own, altered, why)
        read = {name: decode(stream) for name, stream in program["stream"].items()}
        computed = {name: stream.computed for name, stream in read.items()}
        return cls(folder, plans, asked, *known, log.next, computed)

    def options_of(self, query: str) -> Options:
        """What one of its queries has run by."""
        return self.own.get(query, self.options)


def beside(sinks: Iterable[Sink | None]) -> Iterator[StoragePath]:
    """Where checkpoints lie if the user names no place: beside files that are written."""
    for sink in sinks:
        folder = None if sink is None else folder_of(sink)
        if folder is not None:
            yield folder / BESIDE_RESULTS


def continued_in(folder: StoragePath | None, sinks: Iterable[Sink | None]) -> list[Continued]:
    """The checkpoints that queries with these sinks may continue; `folder`: where the user says."""
    places = beside(sinks) if folder is None else sorted(folder.glob("*"))
    return [found for place in places if (found := Continued.at(place))]


def in_use(folder: StoragePath) -> HostError:
    """A checkpoint that another process has."""
    return HostError(
        f"the checkpoint `{folder}` is in use by another process",
        hint="stop that one first, or name another checkpoint",
    )


def cannot_keep(folder: StoragePath, why: str) -> HostError:
    """A place that cannot be written."""
    return HostError(f"cannot keep a checkpoint at `{folder}`: {why}")


class Checkpoint:
    """A folder that belongs to one program, held by this process until `release`.

    `form` tells whether the pipeline has groups (`rows/choice.py`), and `keys` by what rows are
    spread over them. `accept_changes`: queries may have changed or gone.
    """

    def __init__(
        self,
        folder: StoragePath,
        program: Program,
        form: str = GROUPS,
        keys: Mapping[str, PartitionKeys] | None = None,
        *,
        accept_changes: bool = False,
    ) -> None:
        self.folder = folder
        self.layout = Layout(folder)
        self.log = ProgramLog(folder)
        self._form = form
        self._keys = keys or {}
        self._accepts = accept_changes
        try:
            self.layout.check_format()
            folder.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
            # Else whoever made it has decided.
            if isinstance(folder, Path) and folder.stat().st_uid == os.getuid():
                folder.chmod(PRIVATE_FOLDER)
            lock = hold(self.layout.lock)
        except OSError as cause:
            raise cannot_keep(folder, str(cause)) from cause
        if lock is None:
            raise in_use(folder)
        self._lock = lock
        #: What is different from what it has run so far; None: it has run nothing.
        self.changes: ProgramChanges | None = None
        try:
            self.layout.write_format()
            self.id = self._claim(program)
            #: The last batch that is over, -1 if none is.
            self.finished = last_finished(self.spark)
            #: The last batch that has begun, perhaps in a process that was killed.
            self.begun = last_begun(self.spark)
        except BaseException:
            self.release()
            raise

    @property
    def spark(self) -> StoragePath:
        """Spark's own folder."""
        return self.layout.spark

    @property
    def control(self) -> StoragePath:
        """The folder through which punctuation reaches the running query."""
        return self.layout.control

    @property
    def is_new(self) -> bool:
        """Whether nothing has been run from it yet."""
        return is_unused(self.spark)

    def is_over(self, batch: int) -> bool:
        """Whether Spark has committed a batch that has begun."""
        return batch <= self.finished or is_over(self.spark, batch)

    def groups(self, wanted: list[int]) -> list[int]:
        """The keys of the partition groups: as wanted at the beginning, the same ever after.

        State lies with its group, and Spark keeps its number of partitions; a session that comes
        with another number must not spread rows in another way.
        """
        file = self.layout.groups
        if file.exists():
            return [int(key) for key in read_sealed(file)]
        if not self.is_new:
            raise damaged(file, "is gone")
        write_sealed(file, wanted)
        return wanted

    def release(self) -> None:
        self._lock.release()

    def check_held(self) -> None:
        """Raise if another process has taken it over."""
        self._lock.check()

    @property
    def sinks(self) -> Mapping[str, Mapping[str, str]]:
        """Where results have gone until now (`delivery/outputs.py`)."""
        last = self.log.last()
        return {} if last is None else last.sinks

    def confirm(
        self, program: Program, sinks: Mapping[str, Mapping[str, str]] | None = None
    ) -> None:
        """Note what runs from the next batch on, where that is something else than before."""
        last, batch = self.log.last(), self.finished + 1
        now = (self._describe(program), dict(sinks or {}))
        # A machine that dies may lose a commit of Spark's, and keep the change behind that batch.
        if last is None or (last.program, last.sinks) != now or last.batch > batch:
            self.log.append(batch, self.id, *now)
        self.log.forget(self.finished)

    def change(self, program: Program, batch: int, sinks: Mapping[str, Mapping[str, str]]) -> None:
        """Have another program run from a batch on, which has not begun; the one before is over."""
        self.log.append(batch, self.id, self._describe(program), sinks)

    def going_on(self, program: Program) -> Program:
        """A program as it goes on with the next batch: queries that caught up still do.

        What is noted for the batch behind that does not hold yet.
        """
        next_ = self.finished + 1
        entries = self.log.entries()
        now = [entry for entry in entries if entry.batch <= next_][-1:]
        counted = [*now, *(entry for entry in entries if entry.batch > next_)]
        still = {change for each in counted for change in each.program.get("catching_up", ())}
        return program.with_catching_up(still.union(program.catching_up))

    def _describe(self, program: Program) -> dict[str, Any]:
        return describe(program, self._form, self._keys)

    def _claim(self, program: Program) -> str:
        """The checkpoint's id; raises if it belongs to another program."""
        found = self.log.last()
        if found is None:
            if not self.is_new or self.layout.groups.exists():
                raise damaged(self.layout.programs.folder, "is gone")
            return uuid4().hex
        theirs, mine = found.program, self._describe(program)
        self.changes = changes = program_changes(theirs, mine)
        if difference := changes.refused if self._accepts else changes.differences:
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
        return found.id


def describe(
    program: Program, form: str = GROUPS, keys: Mapping[str, PartitionKeys] | None = None
) -> dict[str, Any]:
    """A program as JSON: what is asked of which streams and tables, and the operators for it."""
    specs = (plan.spec for plan in walk(program.plans.values()))
    users = {each.name: encode(each) for each in used_in(program.plans)}
    tables = (spec.join.table for spec in specs if isinstance(spec, StaticJoinSpec))
    spread = {name: None if key is None else list(key) for name, key in (keys or {}).items()}
    return {
        "stream": {s.name: encode(SourceSpec.of(s).stream) for s in program.streams},
        "table": {table.name: encode(table) for table in tables},
        "query": dict(program.asked),
        "setting": asdict(program.options),
        "own": {name: asdict(each) for name, each in program.own.items()},
        "altered": {
            name: [to_json({name: plan}) for plan in plans]
            for name, plans in program.altered.items()
        },
        "plans": to_json(program.plans),
        **({"function": users} if users else {}),
        "results": {name: encode(each) for name, each in program.on_results.items()},
        "operator": form,  # Spark refuses what another one has left
        "keys": spread,
        **({"catching_up": list(program.catching_up)} if program.catching_up else {}),
        **(
            {"why": {name: list(each) for name, each in program.why.items()}} if program.why else {}
        ),
    }
