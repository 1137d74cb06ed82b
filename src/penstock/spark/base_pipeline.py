"""BasePipeline: what both kinds of pipeline do with Spark, with groups or without.

Each is one Structured Streaming query. A batch is computed, delivered and reported here, in steps
that all have a fault point.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.checkpoint.layout import SparkLayout
from penstock.io.storage.hadoop_path import HadoopPath
from penstock.kernel.progress.future import measures_by_clock
from penstock.model.streams import Stream
from penstock.optimizer.physical import Program
from penstock.spark.catching_up.catch_up import CatchUp
from penstock.spark.control.control_stream import END_OF_RUN, ControlStream
from penstock.spark.control.told import TOLD, Told
from penstock.spark.delivery.delivery import BatchReport, OutputRows
from penstock.spark.epochs import Epochs
from penstock.spark.faults import reach
from penstock.spark.jvm import forget_read, forget_sockets
from penstock.spark.placement.partitioning import PartitionKeys
from penstock.spark.processor import QUERY_ID
from penstock.spark.running_queries import begins
from penstock.spark.session import FILE_MANAGER, PARTITIONS, changed, worker_environment
from penstock.spark.sources.direct_files import is_direct
from penstock.spark.sources.unreadable_files import unreadable_files
from penstock.spark.state.checkpoint import Checkpoint
from penstock.spark.state.spark_files import batch_time

#: After so many batches Java is told what it need not remember.
_MANY = 1000
#: With this Spark gives streams that have one task each the same task, one after the other.
TASKS_TOGETHER = "spark.sql.unionOutputPartitioning"
#: Spark writes and compiles a program of its own for a plan; in every batch it is written again.
WRITTEN_PROGRAMS = "spark.sql.codegen.wholeStage"


@dataclass(eq=False)
class BasePipeline(ABC):
    """One Spark streaming query, not started yet.

    `keys` are those by which streams are partitioned; `frames` the streams as Spark reads them;
    `sinks` those that tasks of a batch may write results to: format and folder, by query. The
    program may change while it runs, where there are `epochs`.
    """

    spark: SparkSession
    program: Program
    keys: Mapping[str, PartitionKeys]
    frames: Mapping[str, DataFrame]
    checkpoint: Checkpoint
    deliver: Callable[[int, Sequence[OutputRows]], None]
    report: Callable[[BatchReport], None]
    sinks: Callable[[int], Mapping[str, Sequence[str]]]
    groups: int | None = None  # partition groups; None: as many as the session has partitions
    has_stores: bool = False  # whether tasks may write results to stores
    #: Has queries of some changes stand among the others, from the batch on that it gives.
    join: Callable[[Collection[int]], int] = lambda changes: 0
    #: Has joins run in other shapes from the batch on that is about to begin, where that pays.
    adapt: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        self.control = ControlStream(self.checkpoint.control)
        self.query: StreamingQuery | None = None
        self.epochs: Epochs | None = None
        self.catch_up: CatchUp | None = None  # where queries can read again what came before them
        self.may_begin: threading.Event | None = None  # None: batches may
        self.unreadable = unreadable_files(
            self.checkpoint.folder,
            self.checkpoint.spark,
            self.program.streams,
            self.frames,
            self._forget_read,
            lambda: self.control.send({}),
        )
        with worker_environment(self.spark.sparkContext):
            self._answers = self._computed()

    def start(self, interval: str) -> StreamingQuery:
        if self.unreadable is not None:
            self.unreadable.begin_run()
        settings = settings_for(self.program.streams)
        if self.groups is not None:
            settings[PARTITIONS] = str(self.groups)
        if isinstance(self.checkpoint.folder, HadoopPath):
            settings[FILE_MANAGER] = ""  # ours is for files of this machine
        with changed(self.spark, settings):
            self.query = (
                self._answers.writeStream.foreachBatch(self._hand_out)
                .option("checkpointLocation", str(self.checkpoint.spark.resolve()))
                .trigger(processingTime=interval)
                .start()
            )
        return self.query

    def _forget_read(self, source: int, paths: Sequence[str]) -> None:
        """Have one of Spark's sources read files again."""
        assert self.query is not None
        log = SparkLayout(self.checkpoint.spark.resolve()).source(source)
        forget_read(self.query, str(log), paths)

    def _tell(self, batch: int, known: Told) -> None:
        """Tell the tasks of a batch what is known, and what no kind of pipeline does otherwise."""
        context = self.spark.sparkContext
        has_clock = any(measures_by_clock(stream) for stream in self.program.streams)
        told = replace(
            known,
            now=batch_time(self.checkpoint.spark, batch) if has_clock else None,
            unreadable={} if self.unreadable is None else self.unreadable.begin(batch),
            running=begins(context.getLocalProperty(QUERY_ID)),
        )
        context.setLocalProperty(TOLD, told.as_text())

    @abstractmethod
    def _computed(self) -> DataFrame:
        """What Spark is to compute."""

    def end_run(self) -> None:
        """Have the next batch answer whatever waits."""
        self.control.send({END_OF_RUN: 1})

    def _hand_out(self, frame: DataFrame, batch: int) -> None:
        if self.may_begin is not None:
            self.may_begin.wait()
        reach("deliver.begin")
        self._begin(batch)
        computed = frame.toArrow()
        reach("deliver.computed")
        self.deliver(batch, self._output_rows(batch, computed))
        reach("deliver.over")
        if batch % _MANY == _MANY - 1:
            forget_sockets(self.spark)
        self._finish(batch)
        reach("batch.over")

    @abstractmethod
    def _begin(self, batch: int) -> None:
        """Tell the tasks of a batch what they need to know."""

    @abstractmethod
    def _output_rows(self, batch: int, computed: pa.Table) -> Sequence[OutputRows]:
        """The rows to be delivered out of what Spark has computed."""

    @abstractmethod
    def _finish(self, batch: int) -> None:
        """Report a batch that was delivered."""


def settings_for(streams: Iterable[Stream]) -> dict[str, str]:
    """Spark's settings for a pipeline over these streams.

    Where only files are read, by ourselves, few rows pass through Spark's own operators: programs
    for these take longer than they save.
    """
    own = {TASKS_TOGETHER: "false"}
    return own | {WRITTEN_PROGRAMS: "false"} if all(map(is_direct, streams)) else own
