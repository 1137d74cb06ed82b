"""Outputs: the places that a pipeline writes to, held and verified before it runs.

A directory of results belongs to one checkpoint: another one would write files of the same names
into it. So a new checkpoint takes only what holds no results, and a continued one only what it owns
itself, where everything it has written still lies as it was written. What an unfinished batch has
left is removed; the batch is repeated.

A directory that was moved as a whole has its owner's mark with it, and is followed. Any other place
than before would split the results in two, and is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from penstock.errors import HostError
from penstock.io.console import CONSOLE
from penstock.io.results import SINK_FORMATS
from penstock.io.sinks.registry import SINKS
from penstock.io.storage.manifest import Manifest
from penstock.io.storage.output_folder import OutputFolder
from penstock.io.storage.sealed import PRIVATE_FOLDER, START_OVER, write_sealed
from penstock.redaction import redacted_options
from penstock.spark.state.checkpoint import Checkpoint
from penstock.sql.parse.statements import Sink

DESCRIBED = "sinks.json"


def query_rows(name: str) -> str:
    """Whose rows the results of a query are, and whose counts those of them."""
    return f"query {name}"


def late_rows(stream: str) -> str:
    """Whose rows those of LATE INTO are."""
    return f"late rows of {stream}"


class Outputs:
    """The sinks of one pipeline, by whose rows they take: `query talkers`, `late rows of flows`."""

    def __init__(self, checkpoint: Checkpoint, sinks: Mapping[str, Sink]) -> None:
        self._checkpoint = checkpoint
        self._folders: list[OutputFolder] = []
        self._manifests: dict[str, Manifest] = {}
        now = _described(sinks)
        before = now if checkpoint.is_new else checkpoint.kept(DESCRIBED, now)
        self._new = {query_rows(name) for name in checkpoint.added}
        before = {**{whose: now[whose] for whose in self._new & now.keys()}, **before}
        _check_kinds(before, now)
        try:
            for whose, sink in sinks.items():
                if sink.format in SINK_FORMATS:
                    self._manifests[whose] = self._hold(whose, sink, before[whose], now[whose])
            if checkpoint.is_new or before != now:
                write_sealed(checkpoint.folder / DESCRIBED, now)
        except BaseException:
            self.release()
            raise

    def manifest(self, whose: str) -> Manifest | None:
        """Where files that are written are to be noted; None: it is no directory of files."""
        return self._manifests.get(whose)

    def release(self) -> None:
        """Let others write there."""
        for folder in self._folders:
            folder.release()
        self._folders = []

    def _hold(self, whose: str, sink: Sink, before: list[str], now: list[str]) -> Manifest:
        folder = OutputFolder(Path(str(sink.path)))
        self._folders.append(folder)
        checkpoint = self._checkpoint
        lists = checkpoint.folder / "results"
        lists.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
        pattern = rf"part-(\d{{8}})\.{sink.format}"
        manifest = Manifest(lists / quote(whose, safe=" "), folder.path, pattern)
        mine = f"{checkpoint.id[:16]}.{quote(whose.replace(' ', '-'), safe='')[:100]}"
        owner = folder.owner
        is_new = checkpoint.is_new or (whose in self._new and owner != mine)
        if is_new and folder.has_results:
            raise HostError(
                f"`{sink.path}` holds results already, and there is no checkpoint to continue",
                hint="name another directory after INTO, or remove this one",
            )
        if owner not in (None, mine) and folder.has_results:
            raise HostError(
                f"`{sink.path}` holds results of another checkpoint ({owner}), not those of "
                f"{whose} in the checkpoint `{checkpoint.folder}` ({mine})",
                hint=f"continue {_into(before)}, or {START_OVER}",
            )
        if owner != mine and before != now and (folder.has_results or manifest.read()):
            raise HostError(
                f"{whose} was written {_into(before)} so far, and would now be written "
                f"{_into(now)}",
                hint=f"continue {_into(before)}; or move that directory as a whole to the new "
                "place and continue there",
            )
        folder.remove_unfinished()
        manifest.verify(checkpoint.finished)
        folder.own(mine)
        return manifest


def _check_kinds(before: Mapping[str, list[str]], now: Mapping[str, list[str]]) -> None:
    """Raise if rows would go somewhere else than before; directories are looked at later."""
    for whose in sorted(before.keys() | now.keys()):
        old, new = before.get(whose), now.get(whose)
        if old == new or (old and new and old[0] == new[0] and old[0] in SINK_FORMATS):
            continue
        raise HostError(
            f"{whose} was written {_into(old)} so far, and would now be written {_into(new)}",
            hint=f"{f'continue {_into(old)}' if old else 'leave INTO out'}, or {START_OVER}",
        )


def _described(sinks: Mapping[str, Sink]) -> dict[str, list[str]]:
    """[format, place, options] of every sink."""
    return {
        whose: [
            sink.format,
            _place(sink),
            str(redacted_options(sink.options, sink.format)),
        ]
        for whose, sink in sinks.items()
        if sink.format != CONSOLE  # nothing stays there
    }


def _place(sink: Sink) -> str:
    if sink.format in SINKS:
        return SINKS[sink.format].place(sink)
    return str(Path(str(sink.path)).resolve()) if sink.format in SINK_FORMATS else str(sink)


def _into(sink: list[str] | None) -> str:
    return f"into {sink[0]} `{sink[1]}`" if sink else "nowhere"
