"""Planning: the pipelines that an engine would start now, and where their checkpoints lie."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakSet

from penstock.catalog.catalog import QueryEntry
from penstock.io.storage.storage_path import StoragePath
from penstock.optimizer.cost.costs import costs
from penstock.optimizer.cost.machine import machine
from penstock.optimizer.join_statistics import JoinStatistics
from penstock.optimizer.statistics import Statistics
from penstock.plan.graph import streams_of
from penstock.spark.masters import is_one_process
from penstock.spark.placement.pipeline_groups import PipelineGroup, assign_pipelines
from penstock.spark.sources.file_sizes import are_small
from penstock.spark.state.checkpoint import beside, continued_in, describe
from penstock.spark.state.program_changes import ProgramChanges, program_changes
from penstock.spark.state.remembered import remembered

if TYPE_CHECKING:
    from penstock.spark.engine import Engine
    from penstock.spark.query import SparkQuery


def known_of_machine(master: str | None) -> Statistics:
    """What joins cost and may take, where they run in this process's machine.

    Of the machines of a cluster nothing is known: the reference machine stands for them.
    """
    if not is_one_process(master):
        return Statistics()
    return Statistics(join_costs=costs(), machine=machine())


class Planning:
    """The queries of an engine that are declared and not running.

    `checkpoint` is where the user wants checkpoints. `accepts`: that queries are others than those
    that a checkpoint was left by.
    """

    def __init__(self, engine: Engine, checkpoint: StoragePath | None) -> None:
        self._engine = engine
        self._checkpoint = checkpoint
        self.accepts = False
        #: What is remembered of joins, where it was read, and the queries beside which it was.
        self._remembered = JoinStatistics()
        self._read: set[StoragePath] = set()
        self._looked_at: WeakSet[SparkQuery] = WeakSet()  # those that are gone are let go

    def waiting(self) -> list[QueryEntry]:
        """The queries that are declared and not running."""
        engine = self._engine
        return [each for each in engine.catalog.queries if engine._running_of(each.name) is None]

    def planned(
        self, *, is_small: bool = False, accept_changes: bool | None = None
    ) -> list[PipelineGroup]:
        """The pipelines of all of them."""
        engine, entries = self._engine, self.waiting()
        waiting = {entry.name: entry.plan for entry in entries}
        options = {entry.name: engine.catalog.options_of(entry) for entry in entries}
        sinks = [engine._queries[name].sink for name in waiting]
        continued = continued_in(self._checkpoint, sinks)
        accepts = self.accepts if accept_changes is None else accept_changes
        begins = {each.name: each.begin for each in entries if each.begin is not None}
        groups = assign_pipelines(
            waiting, options, continued, begins=begins, is_small=is_small, accept_changes=accepts
        )
        apart = engine._following.apart
        for entry in entries:
            engine._note_shapes(entry, anew=True)  # nothing is stored in another
        known = engine._with_shapes() if groups else engine._statistics
        return [
            replace(each, apart=apart.get(next(iter(each.queries)), ""), statistics=known)
            for each in groups
        ]

    def remembered(self) -> JoinStatistics:
        """What the checkpoints know of joins that queries may continue; each is read once."""
        for place in self._not_read():
            self._read.add(place)
            found = [place] if self._checkpoint is None else sorted(place.glob("*"), key=str)
            self._remembered |= remembered(found)
        return self._remembered

    def _not_read(self) -> list[StoragePath]:
        """Where nobody has looked yet for what is remembered, and one can."""
        if self._checkpoint is not None:
            found = [self._checkpoint]
        else:
            new = [each for each in self._engine._queries.values() if each not in self._looked_at]
            places = [(each, place) for each in new for place in beside([each.sink])]
            later = {each for each, place in places if not self._is_readable(place)}
            self._looked_at.update(each for each in new if each not in later)
            found = [place for _, place in places]
        return [each for each in found if each not in self._read and self._is_readable(each)]

    def _is_readable(self, place: StoragePath) -> bool:
        """No Spark is started to look into a store."""
        return isinstance(place, Path) or self._engine._session is not None

    def is_small(self) -> bool:
        """Whether they read little, and leave no checkpoint for more."""
        engine, entries = self._engine, self.waiting()
        names = {stream for entry in entries for stream in streams_of(entry.plan)}
        read = [engine.declared_stream(name).stream for name in names]
        kept = any(beside(engine._queries[entry.name].sink for entry in entries))
        return self._checkpoint is None and not kept and are_small(read)

    def changes(self) -> dict[StoragePath, ProgramChanges]:
        """By checkpoint, how they differ from those it was left by."""
        found = {}
        for group in self.planned(accept_changes=True):
            if group.continued is not None:
                program = group.program(self._engine.catalog.streams)
                form = group.form(program).step
                found[group.continued.folder] = program_changes(
                    group.continued.described, describe(program, form, group.keys)
                )
        return found

    def new_pipelines(self) -> list[str]:
        """The queries that continue no checkpoint."""
        groups = self.planned(accept_changes=True)
        return [name for each in groups if each.continued is None for name in each.queries]

    def checkpoint_of(self, group: PipelineGroup) -> StoragePath | None:
        """Where a pipeline's checkpoint belongs; None: nowhere for good."""
        if group.continued is not None:
            return group.continued.folder
        if self._checkpoint is not None:
            return self._checkpoint / next(iter(group.queries))
        return next(beside(self._engine._queries[name].sink for name in group.queries), None)
