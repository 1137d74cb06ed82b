"""Query: a handle on a standing query that runs on Spark.

Results of a micro-batch arrive whole, after Spark has computed it. If Spark repeats a batch after a
crash, what it put out the first time is replaced, in files as in memory.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import polars as pl

from penstock.io.results import no_results, presented
from penstock.kernel.readable import readable
from penstock.plan.blockers import Blockers
from penstock.plan.nodes import Node
from penstock.spark.delivery.batch_counts import BatchCounts
from penstock.spark.delivery.batch_sink import BatchSink
from penstock.sql.parse.statements import Sink

if TYPE_CHECKING:
    from penstock.spark.engine import Engine


#: Seconds between two looks at whether a query has ended.
PAUSE = 0.2


class Query:
    """One standing query; names are Spark's own where Spark has one for it."""

    def __init__(self, engine: Engine, name: str, plan: Node, sink: Sink | None) -> None:
        self.name = name
        self.plan = plan
        self.sink = sink
        self._engine = engine
        self._rows = BatchCounts()
        self._batches: dict[int, pl.DataFrame] = {}
        self._subscribers: list[Callable[[pl.DataFrame], None]] = []
        self._arrived = threading.Condition()

    @property
    def rows(self) -> int:
        """How many rows it has put out since it was started."""
        return self._rows.total

    @property
    def total_rows(self) -> int:
        """How many since its checkpoint began, over all restarts."""
        return self._engine.total_rows(self.name)

    def rows_of(self, batch: int) -> int:
        """How many one batch has put out."""
        return self._rows.get(batch)

    def results(self) -> pl.DataFrame:
        """Every row so far, unless it went to a sink or a subscriber."""
        return pl.concat([no_results(self.plan.schema), *self._batches.values()])

    def toDF(self) -> Any:
        """The results so far as a Spark DataFrame, in the session of the engine.

        Times are instants, whatever zone the session shows them in.
        """
        instants = pl.selectors.datetime(time_zone=None).dt.replace_time_zone("UTC")
        rows = self.results().with_columns(instants)
        return self._engine.spark.createDataFrame(rows.to_arrow())

    def subscribe(self, callback: Callable[[pl.DataFrame], None]) -> None:
        """Have each micro-batch's rows handed to `callback`."""
        self._subscribers.append(callback)

    def iterate(self) -> Iterator[dict[str, Any]]:
        """Rows as they come, from the first on, until the query ends; waits for those to come.

        Rows are there for it only if the query has neither a sink nor a subscriber.
        """
        handed_out: set[int] = set()
        while True:
            spark_query = self._engine.spark_query(self.name)
            for batch, rows in list(self._batches.items()):
                if batch not in handed_out:
                    handed_out.add(batch)
                    yield from readable(rows).iter_rows(named=True)
            is_over = spark_query is None or not spark_query.isActive
            self._engine.check()
            if is_over and self._engine.spark_query(self.name) is spark_query:
                # What came since the last look is here by now: the query is over.
                if handed_out.issuperset(list(self._batches)):
                    return
            else:
                with self._arrived:
                    self._arrived.wait(PAUSE)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return self.iterate()

    def explain(self) -> str:
        """The plan, with the operators chosen for it and why."""
        return self._engine.explain(self.name, self.plan)

    def why(self) -> Blockers:
        """What holds it back; printed, it is what EXPLAIN LIVE says."""
        return self._engine.why(self.name)

    @property
    def status(self) -> dict[str, Any]:
        """What its pipeline is doing, or did last, in Spark's words."""
        return self._engine.status(self.name)

    @property
    def lastProgress(self) -> dict[str, Any] | None:
        """The latest micro-batch, the last in the end: Spark's figures, ours under `penstock`."""
        return self._engine.last_progress(self.name)

    def awaitTermination(self, timeout: int | None = None) -> bool:
        return self._engine.await_termination(self.name, timeout)

    def forget(self) -> None:
        """Drop what it has put out: it starts again from the beginning."""
        self._rows, self._batches = BatchCounts(), {}

    def receive(self, batch: int, rows: pl.DataFrame, into: BatchSink | None = None) -> None:
        """Take over what a micro-batch computed, and write it where it goes."""
        shown = presented(rows, self.plan.schema)
        self._rows[batch] = shown.height
        for callback in self._subscribers:
            callback(shown)
        if into is None:
            if not self._subscribers:
                self._batches[batch] = shown
                with self._arrived:
                    self._arrived.notify_all()
        else:
            into.write(batch, shown)

    def __repr__(self) -> str:
        return f"<Query {self.name}: {self.rows} rows>"
