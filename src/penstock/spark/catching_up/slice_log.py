"""SliceLog: which part of the past each batch reads again, in the checkpoint.

    slices/17.json      in batch 17 the queries of change -3 read stream `a` up to entry 40 of
                        Spark's log, from where the file before this one says

An entry is written before the batch is computed, and a batch that is repeated finds it. What a
batch begins with is in the last entry before its own.
"""

from __future__ import annotations

from typing import TypeAlias

from penstock.checkpoint.layout import Layout
from penstock.io.storage.sealed import PRIVATE_FOLDER, read_sealed, write_sealed
from penstock.io.storage.storage_path import StoragePath
from penstock.spark.faults import reach, step

Ends: TypeAlias = dict[int, dict[str, int]]
"""By change and stream, up to which entry of Spark's log its queries have read."""


class SliceLog:
    """The slices of the last batches."""

    def __init__(self, checkpoint: StoragePath) -> None:
        self._files = Layout(checkpoint).slices

    def before(self, batch: int) -> Ends:
        """How far queries have come before a batch."""
        numbers = [number for number in self._files.numbers() if number < batch]
        return self._read(numbers[-1]) if numbers else {}

    def of(self, batch: int) -> Ends:
        """What was written down of a batch; nothing, if it has not begun."""
        return self._read(batch) if batch in self._files.numbers() else {}

    def write(self, batch: int, ends: Ends) -> None:
        """Write down how far queries come with a batch."""
        self._files.folder.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
        reach("slice.begin")
        for _ in step("slice.write"):
            write_sealed(
                self._files.file(batch), {str(change): each for change, each in ends.items()}
            )
        reach("slice.written")
        # Spark repeats the last batch only, which begins with the entry before it.
        for number in [number for number in self._files.numbers() if number < batch][:-1]:
            self._files.file(number).unlink(missing_ok=True)

    def forget(self, batch: int) -> None:
        """No query catches up: remove what was written of batches before this one."""
        for number in self._files.numbers():
            if number < batch:
                self._files.file(number).unlink(missing_ok=True)

    def _read(self, batch: int) -> Ends:
        return {
            int(change): dict(each) for change, each in read_sealed(self._files.file(batch)).items()
        }
