"""Outputs: the places that a pipeline writes to, held and verified before it writes there.

A directory of results belongs to one checkpoint: another one would write files of the same names
into it. So a new checkpoint takes only what holds no results, and a continued one only what it owns
itself, where everything it has written still lies as it was written. What an unfinished batch has
left is removed; the batch is repeated.

A directory that was moved as a whole has its owner's mark with it, and is followed. Any other place
than before would split the results in two, and is refused, unless the query is another one, too.
Results of other columns never go where others are.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from urllib.parse import quote
from uuid import uuid4

from penstock.errors import HostError
from penstock.io.console import CONSOLE
from penstock.io.results import SINK_FORMATS
from penstock.io.sinks.registry import SINKS
from penstock.io.storage.manifest import Manifest
from penstock.io.storage.output_folder import OutputFolder, has_results_of_nobody
from penstock.io.storage.sealed import PRIVATE_FOLDER, START_OVER
from penstock.io.storage.storage_path import storage_path
from penstock.model.streams import Sink
from penstock.redaction import redacted_options
from penstock.spark.control.batch_turns import PATIENCE, delivers
from penstock.spark.state.checkpoint import Checkpoint
from penstock.spark.state.program_changes import ProgramChanges


def query_rows(name: str) -> str:
    """Whose rows the results of a query are, and whose counts those of them."""
    return f"query {name}"


def late_rows(stream: str) -> str:
    """Whose rows those of LATE INTO are."""
    return f"late rows of {stream}"


@dataclass(frozen=True)
class Destination:
    """A sink, and the columns of what goes there, where these must stay the same."""

    sink: Sink
    columns: str = ""


@dataclass(frozen=True)
class OutputPlace:
    """A sink as the checkpoint notes it; `list` is the file that lists what was written there.

    `writer` tells a query that writes to a table or stream outside from another of its name that
    wrote there before: each notes its own batches there.
    """

    format: str
    place: str
    options: str
    columns: str
    list: str = ""
    writer: str = ""

    @classmethod
    def of(cls, output: Destination) -> OutputPlace:
        sink = output.sink
        options = str(redacted_options(sink.options, sink.format))
        return cls(sink.format, _place(sink), options, output.columns)

    @property
    def is_folder(self) -> bool:
        return self.format in SINK_FORMATS

    @property
    def stays(self) -> bool:
        """Whether what goes there is there afterwards."""
        return self.format != CONSOLE

    def is_same(self, other: OutputPlace) -> bool:
        """Whether rows go to the same place."""
        return (self.format, self.place) == (other.format, other.place)

    def __str__(self) -> str:
        return f"into {self.format} `{self.place}`"


@dataclass(frozen=True)
class Held:
    """A place that is ours to write; `manifest` lists the files of a directory."""

    place: OutputPlace
    manifest: Manifest | None = None
    folder: OutputFolder | None = None


class Outputs:
    """The places that one pipeline writes to.

    They are known by whose rows go there: `query talkers`, `late rows of flows`. `held` are those
    that it begins with; others come and go while it runs.
    """

    def __init__(self, checkpoint: Checkpoint, outputs: Mapping[str, Destination]) -> None:
        self._checkpoint = checkpoint
        self._folders: dict[tuple[str, str], OutputFolder] = {}
        places = {whose: OutputPlace.of(each) for whose, each in outputs.items()}
        now = {whose: place for whose, place in places.items() if place.stays}
        before, new = ({}, now.keys()) if checkpoint.is_new else self._before(now)
        now = {whose: self._with_writer(whose, place, before) for whose, place in now.items()}
        _check_kinds(before, {w: each for w, each in now.items() if w not in new})
        try:
            self.held = {w: self._hold(w, place, before.get(w)) for w, place in now.items()}
        except BaseException:
            self.release()
            raise

    def _before(
        self, now: Mapping[str, OutputPlace]
    ) -> tuple[dict[str, OutputPlace], Collection[str]]:
        """Where rows went until now that go on, and whose are new, or go elsewhere now."""
        changes = self._checkpoint.changes or ProgramChanges()
        found = {w: OutputPlace(**each) for w, each in self._checkpoint.sinks.items()}
        for name in changes.dropped:
            found.pop(query_rows(name), None)
        changed = set(map(query_rows, changes.changed))
        moved = {w for w in changed if not (w in found and w in now and now[w].is_same(found[w]))}
        before = {whose: each for whose, each in found.items() if whose not in moved}
        return before, moved.union(map(query_rows, changes.added))

    def _with_writer(
        self, whose: str, place: OutputPlace, before: Mapping[str, OutputPlace]
    ) -> OutputPlace:
        """A place, with who writes there from now on.

        A batch that is repeated may have been written by the query that was there before: the one
        that asks for something else now must not take its results for written.
        """
        changes = self._checkpoint.changes or ProgramChanges()
        if place.is_folder or self._checkpoint.is_new:
            return place
        asks = whose in map(query_rows, changes.asks)
        old = before.get(whose)
        return replace(place, writer=uuid4().hex[:8] if asks or old is None else old.writer)

    def hold(self, whose: str, output: Destination) -> Held | None:
        """Hold a place for rows that begin to go there; None: nothing stays there."""
        place = OutputPlace.of(output)
        return self._hold(whose, place, None) if place.stays else None

    def let_go(self, whose: str, held: Held) -> None:
        """Leave a place to others."""
        folder = self._folders.pop((whose, held.place.place), None)
        if folder is not None:
            folder.release()

    def release(self) -> None:
        """Leave all of them to others."""
        for folder in self._folders.values():
            folder.release()
        self._folders = {}

    def _hold(self, whose: str, place: OutputPlace, before: OutputPlace | None) -> Held:
        """A place, if it is ours to write; `before`: where rows have gone so far that go on."""
        if not place.is_folder:
            return Held(place)
        # Whoever delivers a batch cannot wait for the end of one.
        patience = 0.0 if delivers() else PATIENCE
        folder = OutputFolder(storage_path(place.place), patience)
        self._folders[whose, place.place] = folder
        try:
            manifest = self._verified(whose, folder, place, before)
        except BaseException:
            self.let_go(whose, Held(place))
            raise
        return Held(replace(place, list=manifest.file.name), manifest, folder)

    def _verified(
        self, whose: str, folder: OutputFolder, place: OutputPlace, before: OutputPlace | None
    ) -> Manifest:
        checkpoint = self._checkpoint
        lists = checkpoint.layout.results
        lists.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
        pattern = rf"part-(\d{{8}})\.{place.format}"
        # A query that comes back, or goes elsewhere, has a list of its own.
        file = checkpoint.layout.new_results(whose) if before is None else lists / before.list
        manifest = Manifest(file, folder.path, pattern)
        mine = f"{checkpoint.id[:16]}.{quote(whose.replace(' ', '-'), safe='')[:100]}"
        # A query may be replaced by one whose name is written in another case.
        owner = mine if (folder.owner or "").lower() == mine.lower() else folder.owner
        if before is None and folder.has_results:
            raise has_results_of_nobody(place.place)
        if owner not in (None, mine) and folder.has_results:
            raise HostError(
                f"`{place.place}` holds results of another checkpoint ({owner}), not those of "
                f"{whose} in the checkpoint `{checkpoint.folder}` ({mine})",
                hint=f"continue {before}, or {START_OVER}",
            )
        has_moved = before is not None and not before.is_same(place)
        if owner != mine and has_moved and (folder.has_results or manifest.read()):
            raise HostError(
                f"{whose} was written {before} so far, and would now be written {place}",
                hint=f"continue {before}; or move that directory as a whole to the new "
                "place and continue there",
            )
        folder.remove_unfinished()
        manifest.verify(checkpoint.finished)
        folder.own(mine)
        return manifest


def _check_kinds(before: Mapping[str, OutputPlace], now: Mapping[str, OutputPlace]) -> None:
    """Raise if rows would go somewhere else than before; directories are looked at later."""
    for whose in sorted(before.keys() | now.keys()):
        old, new = before.get(whose), now.get(whose)
        if old is not None and new is not None:
            check_columns(whose, old, new)
            alike = replace(new, list=old.list, writer=old.writer)
            if old == alike or (old.is_folder and old.format == new.format):
                continue
        raise HostError(
            f"{whose} was written {old or 'nowhere'} so far, and would now be written "
            f"{new or 'nowhere'}",
            hint=f"{f'continue {old}' if old else 'leave INTO out'}, or {START_OVER}",
        )


def check_columns(whose: str, before: OutputPlace, now: OutputPlace) -> None:
    """Raise if rows of other columns would go to the same place."""
    if before.is_same(now) and before.columns != now.columns:
        raise HostError(
            f"{whose} has the columns {now.columns} now, and what was written {before} has "
            f"{before.columns}",
            hint="name another directory after INTO for the new results",
        )


def _place(sink: Sink) -> str:
    if sink.format in SINKS:
        return SINKS[sink.format].place(sink)
    return str(storage_path(str(sink.path)).resolve()) if sink.format in SINK_FORMATS else str(sink)
