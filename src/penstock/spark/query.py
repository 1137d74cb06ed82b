"""SparkQuery: a continuous query that runs on Spark.

Results of a micro-batch arrive whole, after Spark has computed it. If Spark repeats a batch after a
crash, what it put out the first time is replaced, in files as in memory; results that were fetched
are not handed out again.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from penstock.errors import PenstockError
from penstock.model.ets import Ets
from penstock.model.streams import Sink
from penstock.optimizer.physical import Program
from penstock.plan.nodes import Node
from penstock.runtime.query import Query
from penstock.runtime.status import FAILED, NOT_STARTED, RUNNING, STOPPED, BatchStatus
from penstock.spark.border import at_border
from penstock.spark.catching_up.standing import caught_up
from penstock.spark.delivery.batch_counts import numbers_by_batch
from penstock.spark.delivery.batch_sink import BatchSink
from penstock.spark.delivery.staging import Staged

if TYPE_CHECKING:
    from penstock.spark.engine import Engine
    from penstock.spark.running_pipeline import RunningPipeline


#: Seconds between two looks at whether a query has ended.
PAUSE = 0.2


@at_border
class SparkQuery(Query):
    """One continuous query."""

    _engine: Engine

    def __init__(self, engine: Engine, name: str, plan: Node, sink: Sink | None) -> None:
        super().__init__(engine, name, plan, sink)
        self._rows = numbers_by_batch()
        self._arrived = threading.Condition()
        #: The pipeline that it runs in, or ran in last.
        self.pipeline: RunningPipeline | None = None

    def _is_stopped(self) -> bool:
        return self._engine._is_stopped()

    @property
    def rows(self) -> int:
        return self._rows.total

    @property
    def total_rows(self) -> int:
        return 0 if self.pipeline is None else self.pipeline.total_rows(self.name)

    def rows_of(self, batch: int) -> int:
        """How many one batch has put out."""
        return self._rows[batch]

    def toDF(self, *, partial: bool = False) -> Any:
        """`results` as a Spark DataFrame, in the session of the engine.

        Times are instants, whatever zone the session shows them in.
        """
        instants = pl.selectors.datetime(time_zone=None).dt.replace_time_zone("UTC")
        rows = self.to_polars(partial=partial).with_columns(instants)
        return self._engine.spark.createDataFrame(rows.to_arrow())

    @property
    def lastProgress(self) -> dict[str, Any] | None:
        """The latest micro-batch, the last in the end: Spark's figures, ours under `penstock`."""
        latest = None if self.pipeline is None else self.pipeline.spark_progress
        return None if latest is None else {**latest, "penstock": self.status.facts}

    @property
    def recentProgress(self) -> list[dict[str, Any]]:
        """Spark's figures of the latest micro-batches."""
        return [] if self.pipeline is None else self.pipeline.recent_progress

    def exception(self) -> PenstockError | None:
        return None if self.pipeline is None else self.pipeline.failure()

    def awaitTermination(self, timeout: float | None = None) -> bool:
        if self.pipeline is None or not self._is_declared:
            return True
        return self.pipeline.await_termination(timeout)

    def forget(self) -> None:
        """Drop what it has put out: it starts again from the beginning."""
        self._forget()
        self._rows = numbers_by_batch()

    @property
    def has_subscribers(self) -> bool:
        return bool(self._subscribers)

    def receive(
        self,
        batch: int,
        rows: pl.DataFrame,
        into: BatchSink | None = None,
        staged: Sequence[Staged] = (),
    ) -> None:
        """Take over what a micro-batch computed, and write it where it goes."""
        self._rows[batch] = rows.height + sum(each.rows for each in staged)
        write = None if into is None else (lambda shown: into.write(batch, shown, staged))
        self._hand_on(batch, rows, write)
        with self._arrived:
            self._arrived.notify_all()

    def _runs_by_itself(self) -> bool:
        self._engine.check()
        return self.pipeline is not None and self.pipeline.is_active

    def _wait_for_rows(self) -> None:
        with self._arrived:
            self._arrived.wait(PAUSE)

    def _doing(self) -> tuple[str, str]:
        pipeline = self.pipeline
        if pipeline is None:
            return NOT_STARTED, "Not started"
        message = str(pipeline.spark_status["message"])
        if self._is_declared and pipeline.is_active:
            _, coming = pipeline.coming.get(self.name, (0, message))
            return RUNNING, coming
        # One that was stopped within a batch tells of that batch for ever, as far as Spark goes.
        return (STOPPED, "Stopped") if self.exception() is None else (FAILED, message)

    def _program(self) -> Program | None:
        program = None if self.pipeline is None else self.pipeline.program
        return program if program is not None and self.name in program.queries else None

    def _ets(self) -> Ets:
        return super()._ets() if self.pipeline is None else self.pipeline.enabling.ets

    def _catching_up(self) -> str:
        at = None if self.pipeline is None else caught_up(self.pipeline, self.name)
        return "" if at is None or at.joined is not None else str(at)

    def _batch(self) -> BatchStatus | None:
        return None if self.pipeline is None else self.pipeline.last_batch
