"""FROM workload: rows that are made of a seed, `FROM workload 'packets' OPTIONS (rate '4000', …)`.

An offset is a point in the workload's own time; a batch is what arrives between two of them, made
wherever Spark wants it, and made again after a crash. Each trigger moves on by `step` (one second
of the workload's time); with `pace '1'` it follows the clock instead, as fast as `pace` says. A
workload with `rows` ends there.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from typing import Any

from penstock.errors import BadSetting
from penstock.io.files import FileBlock
from penstock.io.sources.source_kind import SourceKind
from penstock.model.schema import Column
from penstock.model.streams import Origin, Stream
from penstock.model.timestamps import SECOND
from penstock.workloads import Workload, workload
from penstock.workloads.options import WorkloadOptions

#: Rows that one task makes.
ROWS_PER_TASK = 250_000


class WorkloadSource(SourceKind):
    """Rows that are made of a seed."""

    def is_finite(self, stream: Stream) -> bool:
        return "rows" in stream.origin.lowercase_options

    def row_log(self, stream: Stream) -> WorkloadLog:
        return WorkloadLog(stream.origin)


class WorkloadLog:
    """Offsets are ticks of the workload's time."""

    def __init__(self, origin: Origin) -> None:
        self._workload = workload_of(origin)
        self._step, self._pace = pacing_of(origin)
        self._begun: tuple[float, int] | None = None  # the clock, and the tick it stands for

    @property
    def columns(self) -> tuple[Column, ...]:
        return self._workload.columns

    def initial_offset(self) -> dict[str, Any]:
        return {"tick": self._workload.arrivals.start}

    def latest_offset(self, start: Mapping[str, Any]) -> dict[str, Any]:
        tick = int(start["tick"])
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

    def partitions(self, start: Mapping[str, Any], end: Mapping[str, Any]) -> list[tuple[int, int]]:
        first, last = (self._workload.arrived(int(each["tick"])) for each in (start, end))
        return [
            (begin, min(ROWS_PER_TASK, last - begin)) for begin in range(first, last, ROWS_PER_TASK)
        ]

    def read(self, partition: tuple[int, int]) -> Iterator[FileBlock]:
        yield FileBlock(self._workload.rows(*partition))


def workload_of(origin: Origin) -> Workload:
    """The workload that a source describes."""
    pacing_of(origin)
    own = {name: text for name, text in origin.options if name.lower() not in ("step", "pace")}
    return workload(str(origin.path), own)


def pacing_of(origin: Origin) -> tuple[int, float]:
    """How far a trigger moves on, in ticks, and how fast the clock does; 0: not by the clock."""
    own = WorkloadOptions(str(origin.path), dict(origin.options))
    step, pace = own.length("step", SECOND), own.number("pace", 0.0)
    if step <= 0:
        raise BadSetting(
            "`step` cannot be 0: the workload would never move", hint="step '1 second'"
        )
    if not 0 <= pace < math.inf:
        raise BadSetting(f"`pace` cannot be {pace:g}", hint="pace '1' is the pace of the clock")
    return step, pace
