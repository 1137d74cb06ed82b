"""LocalQuery: a continuous query in this process."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import polars as pl

from penstock.local.sinks import open_sink
from penstock.model.streams import Sink
from penstock.plan.nodes import Node
from penstock.runtime.query import Query
from penstock.runtime.status import RUNNING, STOPPED

if TYPE_CHECKING:
    from penstock.local.engine import LocalEngine


class LocalQuery(Query):
    """One continuous query; what it fails with is raised where rows are pushed."""

    def __init__(self, engine: LocalEngine, name: str, plan: Node, sink: Sink | None) -> None:
        super().__init__(engine, name, plan, sink)
        self._rows = self._parts = 0
        self.rows_before = 0  # that had come to its streams when it was declared
        self._out = open_sink(name, f"query {name}", sink, plan.schema) if sink else None
        self._ended = threading.Event()
        self._is_stopped = False  # perhaps by user code, in the middle of a run

    @property
    def rows(self) -> int:
        return self._rows

    @property
    def total_rows(self) -> int:
        """The same as `rows`: there is no earlier run to continue."""
        return self._rows

    @property
    def lastProgress(self) -> dict[str, Any]:
        return {"name": self.name, "penstock": self.status.facts}

    @property
    def recentProgress(self) -> list[dict[str, Any]]:
        """The present alone: there are no micro-batches."""
        return [self.lastProgress]

    def exception(self) -> None:
        return None

    def awaitTermination(self, timeout: float | None = None) -> bool:
        return self._ended.wait(timeout)

    def close(self) -> None:
        """Nothing more comes: let others write where its results went."""
        if self._out is not None:
            self._out.close()
        self._ended.set()

    def end(self) -> None:
        """The engine has been stopped: drop what comes out of a run that is not over."""
        self._is_stopped = True
        self.close()

    def receive(self, rows: pl.DataFrame) -> None:
        """Take over rows that have just been computed."""
        if self._is_stopped:
            return
        self._parts += 1
        self._rows += rows.height
        self._hand_on(self._parts, rows, None if self._out is None else self._out.write)

    def _doing(self) -> tuple[str, str]:
        state = STOPPED if self._ended.is_set() else RUNNING
        return state, state
