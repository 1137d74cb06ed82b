"""Pipelines without groups, and without Spark: the exchange, and the driver's graph.

The driver may fail at any step of a batch, or be killed; the batch is then repeated, in the latter
case by one that knows nothing but what lies in the checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import polars as pl

from penstock.checkpoint.layout import NumberedFiles
from penstock.spark.delivery.delivery import RESULT, OutputRows
from penstock.spark.delivery.group_reports import GroupReport
from penstock.spark.epochs import Epoch
from penstock.spark.exchange.messages import Record, in_order
from penstock.spark.in_memory.micro_batches import (
    Exchange,
    Killed,
    MicroBatch,
    Row,
    until_it_works,
)
from penstock.spark.rows.host import RowHost


class FakeRowPipeline:
    """A program whose queries look at single rows, batch for batch; state lies in a folder."""

    def __init__(self, exchange: Exchange, folder: Path) -> None:
        self.exchange = exchange
        self._folder = folder
        self.outputs: list[list[OutputRows]] = []
        self.reports: list[GroupReport] = []
        self.restart()

    def restart(self) -> None:
        """Go on with what the checkpoint holds."""
        self._host = RowHost(NumberedFiles(self._folder))
        self._epoch = Epoch(self.exchange.program, self.exchange.early)

    def process(
        self,
        batch: MicroBatch,
        shuffled: Callable[[list[Record]], list[Record]] = lambda messages: messages,
        sinks: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        """A batch, as often as it takes; tasks may write to `sinks`."""
        output = until_it_works(lambda: self._attempt(batch, shuffled, sinks or {}))
        self.outputs.append(output)
        self.reports.append(self._host.report)

    def _attempt(
        self,
        batch: MicroBatch,
        shuffled: Callable[[list[Record]], list[Record]],
        sinks: Mapping[str, Sequence[str]],
    ) -> list[OutputRows]:
        number = len(self.outputs)
        try:
            told = self._host.open(number, self._epoch, sinks)
            messages = self.exchange.messages(batch, told)
            output = self._host.process(number, in_order(shuffled(messages)))
            self._host.keep(number)
        except Killed:
            self.restart()
            raise
        return output

    def blocks(self, kind: str, name: str) -> list[list[pl.DataFrame]]:
        """What was delivered, batch for batch."""
        return [
            [rows for _, whose, of, rows in output if (of, whose) == (kind, name)]
            for output in self.outputs
        ]

    def results(self, name: str) -> list[list[pl.DataFrame]]:
        return self.blocks(RESULT, name)

    def rows(self, kind: str, name: str) -> list[Row]:
        """What was delivered in all batches."""
        batches = self.blocks(kind, name)
        return [row for blocks in batches for block in blocks for row in block.to_dicts()]
