"""What a checkpoint says of its pipeline, read from outside, whether it runs or not.

Nothing is written, and no Spark is started. What only the driver knows, such as watermarks and what
a query waits for, is shown by the program that runs it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from penstock.checkpoint.layout import BESIDE_RESULTS, Layout, SparkLayout
from penstock.errors import HostError
from penstock.io.storage.lock import is_held
from penstock.io.storage.storage_path import StoragePath
from penstock.model.text_table import text_table
from penstock.optimizer.codec import decode
from penstock.redaction import redacted
from penstock.spark.delivery.outputs import query_rows
from penstock.spark.delivery.totals import Totals, stream_counts
from penstock.spark.state.program_log import ProgramLog
from penstock.spark.state.spark_files import last_begun
from penstock.spark.state.unreadable_log import UnreadableLog, listed

#: Instead of a place where results go.
MEMORY = "memory"


@dataclass(frozen=True)
class CheckpointStatus:
    """One checkpoint; counts are those since it began. `at`: when its last batch was committed."""

    folder: str
    is_running: bool
    batch: int  # the last one that was committed, -1: none was
    is_unfinished: bool  # whether a batch was begun behind it
    at: str | None
    bytes: int
    queries: Mapping[str, Mapping[str, Any]]
    streams: Mapping[str, Mapping[str, Any]]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        state = "running" if self.is_running else "not running"
        done = (
            f"micro-batch {self.batch} committed at {self.at}" if self.at else "nothing committed"
        )
        more = ", the next one has begun" if self.is_unfinished else ""
        queries = [(name, each["into"], each["rows"]) for name, each in self.queries.items()]
        streams = [
            (name, each["source"], each["rows"], each["late"], each["malformed"])
            for name, each in self.streams.items()
        ]
        unreadable = [
            (name, file, reason)
            for name, each in self.streams.items()
            for file, reason in each["unreadable"].items()
        ]
        skipped = [text_table([("stream", "unreadable file", "reason"), *unreadable])]
        return "\n\n".join(
            [
                f"{self.folder}: {state}, {done}{more}, {self.bytes / 1e6:,.1f} MB",
                text_table([("query", "into", "rows"), *queries]),
                text_table([("stream", "source", "rows", "late", "malformed"), *streams]),
                *(skipped if unreadable else ()),
            ]
        )


def checkpoints_in(folder: Path) -> list[Path]:
    """The checkpoint that a folder is, or those in it: of `--checkpoint`, or beside results."""
    candidates = [folder, folder / BESIDE_RESULTS, *sorted(folder.glob("*"))]
    candidates += sorted(folder.glob(f"*/{BESIDE_RESULTS}"))
    found = [each for each in candidates if Layout(each).programs.folder.is_dir()]
    if not found:
        raise HostError(
            f"there is no checkpoint at `{folder}`",
            hint="name a checkpoint, the directory given as --checkpoint, or a directory of "
            "results; relative paths start where you are",
        )
    return found


def checkpoint_status(folder: Path) -> CheckpointStatus:
    """What is to be read of a checkpoint."""
    layout = Layout(folder)
    layout.check_format()
    last = ProgramLog(folder).last()
    if last is None:
        raise HostError(
            f"the checkpoint `{folder}` has no program yet",
            hint="look again in a moment, if a run is just starting",
        )
    totals, logs = Totals(folder), SparkLayout(layout.spark)
    commits = [each for each in logs.commits.glob("*") if each.name.isdecimal()]
    batch = max((int(each.name) for each in commits), default=-1)
    skipped = listed(UnreadableLog(folder).now())
    return CheckpointStatus(
        str(folder),
        is_held(layout.lock),
        batch,
        last_begun(layout.spark) > batch,
        _time(logs.commit(batch)),
        sum(_sizes(folder)),
        {
            name: {
                "into": _place(last.sinks.get(query_rows(name))),
                "rows": totals.of(query_rows(name))["rows"],
            }
            for name in last.program["query"]
        },
        {
            name: {
                "source": str(decode(stream).origin),
                **_counts(totals.of(stream_counts(name))),
                "unreadable": skipped.get(name, {}),
            }
            for name, stream in last.program["stream"].items()
        },
    )


def _time(file: StoragePath) -> str | None:
    try:
        changed = datetime.fromtimestamp(file.stat().st_mtime, timezone.utc)
    except OSError:
        return None
    return changed.isoformat(sep=" ", timespec="seconds")


def _sizes(folder: Path) -> Iterator[int]:
    for each in folder.rglob("*"):
        try:
            yield each.lstat().st_size
        except OSError:  # it is gone by now
            continue


def _place(sink: Mapping[str, str] | None) -> str:
    return MEMORY if sink is None else redacted(f"{sink['format']} '{sink['place']}'")


def _counts(found: Mapping[str, int]) -> dict[str, int]:
    read, rejected, malformed = (found.get(n, 0) for n in ("read", "late", "malformed"))
    late = rejected + found.get("passed", 0)
    return {"rows": read - rejected - malformed, "late": late, "malformed": malformed}
