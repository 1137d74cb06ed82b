"""Workloads as a Spark streaming source: `FROM workload 'packets' OPTIONS (rate '4000', …)`.

The offset is a point in the workload's own time; a batch is what arrives between two of them, made
wherever Spark wants it, and made again after a crash. Each trigger moves on by `step` (one second
of the workload's time); with `pace '1'` it follows the clock instead, as fast as `pace` says. A
workload with `rows` ends there.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from penstock.errors import BadSetting
from penstock.model.timestamps import SECOND
from penstock.model.types import Type
from penstock.workloads import Workload, workload
from penstock.workloads.options import WorkloadOptions

NAME = "penstock_workload"
#: Rows that one task makes.
ROWS_PER_TASK = 250_000


class WorkloadSource(DataSource):
    """Reads the workload that the option `workload` names; the other options are its own."""

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> str:
        made = made_of(self.options)
        return ", ".join(f"`{column.name}` {column.type}" for column in made.columns)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return WorkloadReader(dict(self.options))


class WorkloadReader(DataSourceStreamReader):
    """Offsets are ticks of the workload's time."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._workload = made_of(options)
        self._step, self._pace = pacing_of(options)
        self._begun: tuple[float, int] | None = None  # the clock, and the tick it stands for

    def initialOffset(self) -> dict[str, Any]:
        return {"tick": self._workload.arrivals.start}

    def latestOffset(
        self, start: dict[str, Any] | None = None, limit: Any = None
    ) -> dict[str, Any]:
        tick = int((start or self.initialOffset())["tick"])
        total = self._workload.total
        if total is not None and self._workload.arrived(tick) >= total:
            return {"tick": tick}
        if not self._pace:
            return {"tick": tick + self._step}
        now = time.monotonic()
        if self._begun is None:
            self._begun = (now, tick)
        elapsed = int((now - self._begun[0]) * self._pace * SECOND)
        return {"tick": max(tick, self._begun[1] + elapsed)}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        first, last = (self._workload.arrived(int(o["tick"])) for o in (start, end))
        return [
            InputPartition((begin, min(ROWS_PER_TASK, last - begin)))
            for begin in range(first, last, ROWS_PER_TASK)
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        times = [c.name for c in self._workload.columns if c.type is Type.TIMESTAMP]
        made = self._workload.rows(*partition.value)
        rows = made.with_columns(pl.col(times).cast(pl.Datetime("us", "UTC"))).to_arrow()
        strings = pa.schema(
            [f.with_type(pa.string()) if f.type == pa.large_string() else f for f in rows.schema]
        )
        yield from rows.cast(strings).to_batches()


def made_of(options: Mapping[str, str]) -> Workload:
    """The workload that a source's options describe."""
    pacing_of(options)
    ours = ("workload", "step", "pace")
    rest = {name: value for name, value in options.items() if name.lower() not in ours}
    return workload(options["workload"], rest)


def pacing_of(options: Mapping[str, str]) -> tuple[int, float]:
    """How far a trigger moves on, in ticks, and how fast the clock does; 0: not by the clock."""
    own = WorkloadOptions(options["workload"], options)
    step, pace = own.length("step", SECOND), own.number("pace", 0.0)
    if step <= 0:
        raise BadSetting(
            "`step` cannot be 0: the workload would never move", hint="step '1 second'"
        )
    if not 0 <= pace < math.inf:
        raise BadSetting(f"`pace` cannot be {pace:g}", hint="pace '1' is the pace of the clock")
    return step, pace
