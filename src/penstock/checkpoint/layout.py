"""Every path, number and format of a checkpoint.

    path                   written by, and when                               format
    format.json            `Checkpoint`, before anything else                 JSON
    lock                   the driver that holds the checkpoint               empty
    programs/N.json        `ProgramLog`, before the first batch that runs it  sealed
    groups.json            `Checkpoint`, before batch 0                       sealed
    slices/B.json          `SliceLog`, before batch B is computed             sealed
    unreadable/files.json  `UnreadableLog`, before the next one changes       sealed
    unreadable/batch.json  `UnreadableLog`, before the batch is computed      sealed
    rows/B.json            `RowHost`, before batch B - 1 is committed         sealed
    counts.json            `Totals`, before the batch is committed            sealed
    results/NAME           `Manifest`, with every file of results             lines with checksums
    control/N-X.json       `ControlStream`, when punctuation is sent          JSON with a checksum
    streams/S/N.parquet    `Spool`, when an iterable gives rows               Parquet
    streams/.S.list        `Manifest`, with every such file                   lines with checksums
    streams/.S.readers     `Spool`, when another pipeline reads there         sealed
    statistics.json        `remember`, now and then, and at the end           JSON
    spark/offsets/B        Spark, before batch B is computed                  Spark's
    spark/commits/B        Spark, when batch B is over                        Spark's
    spark/metadata         Spark, at the first start                          Spark's
    spark/sources/S/N      Spark, when source S hands out files               Spark's
    spark/state/           Spark, when a task ends                            Spark's

A sealed file is JSON with a digest (`io/storage/sealed.py`). B is the number of a batch; S is the
number of a source, or the name of a stream; N counts entries. Spark's state holds what
`SparkStateStore` gives it. Each file is written whole or not at all, and so is each line of a list:
a process may be killed between any two of these steps.

All of it has one format. Whoever changes what a file holds raises `FORMAT`. A checkpoint of another
format is refused before anything in it is read or written, and before Spark starts where files of
this machine hold it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote
from uuid import uuid4

from penstock.errors import HostError
from penstock.io.storage.sealed import START_ANEW, START_OVER, write_private
from penstock.io.storage.storage_path import StoragePath

FORMAT = 8

#: The folder of a checkpoint that lies in the directory of a query's results.
BESIDE_RESULTS = "_checkpoint"

#: How the name of one of Spark's lists ends that has all entries before it.
COMPACT = ".compact"


@dataclass(frozen=True)
class NumberedFiles:
    """Files of a folder that are named by numbers."""

    folder: StoragePath

    def file(self, number: int) -> StoragePath:
        return self.folder / f"{number}.json"

    def numbers(self) -> list[int]:
        """Those that are there, in order."""
        found = (file.stem for file in self.folder.glob("*.json"))
        return sorted(int(name) for name in found if name.isdecimal())


@dataclass(frozen=True)
class Layout:
    """The checkpoint in a folder."""

    folder: StoragePath

    @property
    def format(self) -> StoragePath:
        return self.folder / "format.json"

    @property
    def lock(self) -> StoragePath:
        return self.folder / "lock"

    @property
    def programs(self) -> NumberedFiles:
        return NumberedFiles(self.folder / "programs")

    @property
    def groups(self) -> StoragePath:
        return self.folder / "groups.json"

    @property
    def slices(self) -> NumberedFiles:
        return NumberedFiles(self.folder / "slices")

    @property
    def unreadable(self) -> UnreadableLayout:
        return UnreadableLayout(self.folder / "unreadable")

    @property
    def rows(self) -> NumberedFiles:
        return NumberedFiles(self.folder / "rows")

    @property
    def counts(self) -> StoragePath:
        return self.folder / "counts.json"

    @property
    def statistics(self) -> StoragePath:
        return self.folder / "statistics.json"

    @property
    def results(self) -> StoragePath:
        return self.folder / "results"

    @property
    def control(self) -> StoragePath:
        return self.folder / "control"

    @property
    def spark(self) -> StoragePath:
        return self.folder / "spark"

    def new_results(self, output: str) -> StoragePath:
        """The list of results that begin now; a query that comes back has one of its own."""
        name = quote(output, safe=" ")
        file = self.results / name
        return file if not file.exists() else self.results / f"{name}.{uuid4().hex[:8]}"

    def spooled(self, stream: str) -> StoragePath:
        """The folder of an iterable's rows."""
        return self.folder / "streams" / quote(stream, safe="")

    def check_format(self) -> None:
        """Refuse a checkpoint of another format; nothing in it is touched."""
        found = self._found()
        if found not in (None, FORMAT):
            which = f"format {found}" if self.format.exists() else f"a format before {FORMAT}"
            raise HostError(
                f"the checkpoint `{self.folder}` has {which}; this release reads and writes "
                f"format {FORMAT}",
                hint=f"continue with the release that wrote it, or {START_OVER}",
            )

    def write_format(self) -> None:
        """Mark what is begun now; what is there already was checked."""
        if not self.format.exists():
            write_private(self.format, json.dumps({"format": FORMAT}).encode())

    def _found(self) -> Any:
        """The format that it has; None: there is no checkpoint yet."""
        if not self.format.exists():
            # Before format 7 no file had the format of all.
            return 0 if self.groups.exists() or self.programs.numbers() else None
        try:
            return json.loads(self.format.read_bytes())["format"]
        except (OSError, ValueError, LookupError, TypeError, RecursionError) as cause:
            raise HostError(f"`{self.format}` cannot be read: {cause}", hint=START_ANEW) from cause


@dataclass(frozen=True)
class UnreadableLayout:
    """Files that were skipped."""

    folder: StoragePath

    @property
    def files(self) -> StoragePath:
        return self.folder / "files.json"

    @property
    def batch(self) -> StoragePath:
        return self.folder / "batch.json"


@dataclass(frozen=True)
class ControlLayout:
    """Messages, numbered in the order in which they were sent; names never come twice."""

    folder: StoragePath

    def file(self, number: int) -> StoragePath:
        return self.folder / f"{number:06d}-{uuid4().hex[:8]}.json"

    @staticmethod
    def number_of(file: StoragePath) -> int:
        return int(file.name.partition("-")[0])

    def sent(self) -> list[StoragePath]:
        """The messages that are kept, in order."""
        return sorted(self.folder.glob("[0-9]*.json"), key=self.number_of)


@dataclass(frozen=True)
class SpoolLayout:
    """Rows of an iterable, in files that are named by the number of their first row."""

    folder: StoragePath
    PATTERN = r"(\d{12})\.parquet"

    @property
    def manifest(self) -> StoragePath:
        return self.folder.with_name(f".{self.folder.name}.list")

    @property
    def readers(self) -> StoragePath:
        return self.folder.with_name(f".{self.folder.name}.readers")

    def file(self, first: int) -> StoragePath:
        return self.folder / f"{first:012d}.parquet"

    def unfinished(self) -> Iterator[StoragePath]:
        """Files that were being written when the process was killed."""
        return self.folder.glob(".*.parquet")


@dataclass(frozen=True)
class SparkLayout:
    """Spark's own folder."""

    folder: StoragePath

    @property
    def offsets(self) -> StoragePath:
        return self.folder / "offsets"

    @property
    def commits(self) -> StoragePath:
        return self.folder / "commits"

    def offset(self, batch: int) -> StoragePath:
        return self.offsets / str(batch)

    def commit(self, batch: int) -> StoragePath:
        return self.commits / str(batch)

    @property
    def metadata(self) -> StoragePath:
        return self.folder / "metadata"

    @property
    def state(self) -> StoragePath:
        return self.folder / "state"

    def source(self, number: int) -> StoragePath:
        """The log of a source that reads files."""
        return self.folder / "sources" / str(number)
