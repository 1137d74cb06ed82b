"""Spark's reports on its batches (`lastProgress`): which batch is over, and when it was.

Now and then Spark also reports that a trigger has found nothing: at the start, and every ten
seconds of silence. Such a report has the number of the batch that will be next, which is still to
come, with a report of its own. It says that the batch before that one is over, and that all rows
which came before the trigger began have been read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from penstock.model.timestamps import MILLISECOND, to_ticks

Progress: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class BatchTimes:
    """A micro-batch that is over: by when all rows were read that had come, and looked for."""

    batch: int
    began: int
    listed: int


def has_run(progress: Progress) -> bool:
    """Whether a report is on a batch, and not on a trigger that found nothing."""
    return "addBatch" in progress["durationMs"]


def last_over(progress: Progress) -> int:
    """The last batch that was over when this was reported; -1: none was."""
    return int(progress["batchId"]) - (not has_run(progress))


def times_of(progress: Progress) -> BatchTimes:
    """When the last batch that is over was, at the latest."""
    began = to_ticks(datetime.fromisoformat(progress["timestamp"].replace("Z", "+00:00")))
    took = progress["durationMs"].get("latestOffset", 0)
    return BatchTimes(last_over(progress), began, began + took * MILLISECOND)
