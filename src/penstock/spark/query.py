"""Query: a handle on a standing query that runs on Spark.

Results of a micro-batch arrive whole, after Spark has computed it. If Spark repeats a batch after a
crash, what it put out the first time is replaced, in files as in memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import polars as pl

from penstock.plan.nodes import Node
from penstock.results import no_results, presented
from penstock.spark.batch_sink import BatchSink
from penstock.sql.statements import Sink

if TYPE_CHECKING:
    from penstock.spark.engine import Engine


class Query:
    """One standing query; names are Spark's own where Spark has one for it."""

    def __init__(self, engine: Engine, name: str, plan: Node, sink: Sink | None) -> None:
        self.name = name
        self.plan = plan
        self.sink = sink
        self._engine = engine
        self._rows: dict[int, int] = {}  # by batch, because Spark may repeat one
        self._batches: dict[int, pl.DataFrame] = {}
        self._subscribers: list[Callable[[pl.DataFrame], None]] = []

    @property
    def rows(self) -> int:
        """How many rows it has put out since it was started."""
        return sum(self._rows.values())

    def results(self) -> pl.DataFrame:
        """Every row so far, unless it went to a sink or a subscriber."""
        return pl.concat([no_results(self.plan.schema), *self._batches.values()])

    def toDF(self) -> Any:
        """The results so far as a Spark DataFrame."""
        return self._engine.spark.createDataFrame(self.results().to_arrow())

    def subscribe(self, callback: Callable[[pl.DataFrame], None]) -> None:
        """Have each micro-batch's rows handed to `callback`."""
        self._subscribers.append(callback)

    def explain(self) -> str:
        """The plan, with the operators chosen for it and why."""
        return self._engine.explain(self.plan)

    @property
    def status(self) -> dict[str, Any]:
        """What its pipeline is doing, in Spark's words."""
        query = self._engine.spark_query(self.name)
        return query.status if query else {"message": "Not started", "isTriggerActive": False}

    @property
    def lastProgress(self) -> dict[str, Any] | None:
        """The latest micro-batch: Spark's own figures, and under `penstock` ours."""
        return self._engine.last_progress(self.name)

    def awaitTermination(self, timeout: int | None = None) -> bool:
        query = self._engine.spark_query(self.name)
        return bool(query.awaitTermination(timeout)) if query else True

    def receive(self, batch: int, rows: pl.DataFrame) -> None:
        """Take over what a micro-batch computed."""
        shown = presented(rows, self.plan.schema)
        self._rows[batch] = shown.height
        for callback in self._subscribers:
            callback(shown)
        if self.sink is None:
            if not self._subscribers:
                self._batches[batch] = shown
        else:
            BatchSink(self._engine, self.sink).write(batch, shown)

    def __repr__(self) -> str:
        return f"<Query {self.name}: {self.rows} rows>"
