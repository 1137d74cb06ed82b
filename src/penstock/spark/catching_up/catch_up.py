"""CatchUp: which part of the past the batches of a pipeline read again, on the driver.

When Spark hands a batch over, its offsets are written and nothing of it is computed. So what it
reads again is decided then, and written down; a batch that is repeated finds it (`slice_log`). A
slice goes as far as the files of the batch itself at the most. If it does, its queries have seen
all that the others have when the batch is over, and become their equals with the next.

Groups read slices, and Spark calls a group only if it has a message for it. The control stream has
one for each: so only batches that read something of it have slices, and as long as queries catch up
every batch sends one for the next.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from penstock.io.storage.storage_path import StoragePath
from penstock.optimizer.physical import Program
from penstock.optimizer.specs import SourceSpec
from penstock.spark.catching_up.can_read_again import why_gone
from penstock.spark.catching_up.history import History
from penstock.spark.catching_up.slice_log import Ends, SliceLog
from penstock.spark.catching_up.slices import AHEAD, SliceSize, next_slice
from penstock.spark.state.spark_files import log_offsets
from penstock.spark.state.unreadable_log import UnreadableLog

#: Of Spark's sources the first is the control stream; then come those of the program.
_CONTROL, _FIRST = 0, 1


@dataclass(frozen=True)
class CaughtUp:
    """How far the queries of a change have come: so many of so many files, or all, and when."""

    files: int
    of: int
    joined: int | None = None  # the batch from which on they stand among the others

    def __str__(self) -> str:
        if self.joined is None:
            # Before its first batch nobody has counted.
            return f"catching up{f': {self.files:,} of {self.of:,} files' if self.of else ''}"
        return f"caught up, and runs beside the others from batch {self.joined} on"


class CatchUp:
    """That of one pipeline; `streams` are those of its program, and `spark` is Spark's folder.

    `send` has the next batch reach all groups, and `join` makes a program in which queries of some
    changes have caught up; it gives the batch from which on that runs.
    """

    def __init__(
        self,
        checkpoint: StoragePath,
        spark: StoragePath,
        streams: Sequence[str],
        send: Callable[[], object],
        join: Callable[[Collection[int]], int],
    ) -> None:
        self._checkpoint = checkpoint
        self._log = SliceLog(checkpoint)
        self._spark = spark
        self._sources = {name: number for number, name in enumerate(streams, _FIRST)}
        self._histories = {n: History(spark, source) for n, source in self._sources.items()}
        self._send = send
        self._join = join
        self.size = SliceSize()
        self._began = 0.0
        self._is_clean = False
        self._over: list[int] = []  # changes whose queries have seen everything after this batch
        #: By change, how far its queries are.
        self.progress: dict[int, CaughtUp] = {}

    def begin(self, batch: int, program: Program) -> dict[int, dict[str, list[str]]]:
        """By change and stream, the files that a batch reads again."""
        self._over = []
        if not program.catching_up:
            if not self._is_clean:
                self._log.forget(batch)
                self._histories = {n: History(self._spark, s) for n, s in self._sources.items()}
                self._is_clean = True
            return {}
        self._is_clean, self._began = False, time.monotonic()
        here = log_offsets(self._spark, batch)
        earlier = log_offsets(self._spark, batch - 1) if batch else {}
        if here.get(_CONTROL) == earlier.get(_CONTROL):
            return {}  # some group may not hear of it
        before, known = self._log.before(batch), self._log.of(batch)
        reach = {name: here.get(source, -1) for name, source in self._sources.items()}
        new = {name: earlier.get(source, -1) for name, source in self._sources.items()}
        ends: Ends = {}
        for change in program.catching_up:
            streams = _read_by(program, change)
            ends[change] = known.get(change, {})
            if ends[change].keys() != set(streams):  # else the batch is repeated
                ends[change] = self._decided(streams, before.get(change, {}), reach, new)
        if ends != known:
            self._log.write(batch, ends)
        return {
            change: self._slice(change, before.get(change, {}), end, reach)
            for change, end in ends.items()
        }

    def _decided(
        self,
        streams: Collection[str],
        before: Mapping[str, int],
        reach: Mapping[str, int],
        new: Mapping[str, int],
    ) -> dict[str, int]:
        """How far queries come that read these streams."""
        left, coming = {}, 0
        for name in streams:
            entries = self._histories[name].up_to(reach[name])
            left[name] = entries[before.get(name, -1) + 1 :]
            coming += sum(each.bytes for each in entries[new[name] + 1 :])
        start = {name: before.get(name, -1) for name in streams}
        return start | next_slice(left, max(self.size.most, AHEAD * coming))

    def _slice(
        self,
        change: int,
        before: Mapping[str, int],
        end: Mapping[str, int],
        reach: Mapping[str, int],
    ) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        files = of = 0
        for name, last in end.items():
            entries = self._histories[name].up_to(reach[name])
            files += sum(len(each.files) for each in entries[: last + 1])
            of += sum(len(each.files) for each in entries)
            mine = entries[before.get(name, -1) + 1 : last + 1]
            found[name] = [file for each in mine for file in each.files]
        self.progress[change] = CaughtUp(files, of)
        if all(last >= reach[name] for name, last in end.items()):
            self._over.append(change)
        return found

    def end(self, batch: int, program: Program) -> None:
        """A batch was delivered, and is about to be committed."""
        if not program.catching_up:
            return
        self.size.note(time.monotonic() - self._began)
        if self._over:
            joined = self._join(self._over)
            for change in self._over:
                at = self.progress[change]
                self.progress[change] = CaughtUp(at.files, at.of, joined)
        self._send()

    def why_not(self, streams: Collection[str], batch: int) -> str:
        """Why the files of some streams cannot be read again; empty: they can.

        `batch` is the last one that has begun; none has, if it is below 0.
        """
        if UnreadableLog(self._checkpoint).was_used:
            return "files were skipped that may have come again later"
        here = log_offsets(self._spark, batch) if batch >= 0 else {}
        for name in streams:
            history = History(self._spark, self._sources[name])
            entries = history.up_to(here.get(self._sources[name], -1))
            if reason := why_gone(name, (file for each in entries for file in each.files)):
                return reason
        return ""


def _read_by(program: Program, change: int) -> list[str]:
    """The streams that queries of a change read."""
    specs = (plan.spec for plan in program.since(change).operators)
    return sorted({spec.stream.name for spec in specs if isinstance(spec, SourceSpec)})
