"""Adapting on Spark: what the driver looks at between two batches of a pipeline, and what it keeps.

When and what is decided as on every host (`runtime/adapting.py`). `waiting` is what has come to the
streams of a query for a batch: Spark does not tell what else there is.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from penstock.catalog.catalog import QueryEntry
from penstock.model.timestamps import BEGINNING
from penstock.plan.graph import streams_of
from penstock.runtime.adapting import Progress
from penstock.spark.delivery.delivery import BatchReport

if TYPE_CHECKING:
    from penstock.spark.engine import Engine
    from penstock.spark.running_pipeline import RunningPipeline


def adapt(engine: Engine, running: RunningPipeline, report: BatchReport) -> None:
    """Let joins of a pipeline have other shapes, from the batch on that is about to begin.

    Queries that catch up, and those that are just changing, are left alone.
    """
    program, measured = running.program, running.measured
    queries = [
        (entry, options)
        for entry in map(engine.catalog.get, program.live.plans)
        if isinstance(entry, QueryEntry) and engine._running_of(entry.name) is running
        if (options := engine._options_of(entry.name, entry.plan)).adapts
        if entry.name not in report.changing
    ]
    known = replace(engine._statistics, joins=measured.so_far, remembered=measured.remembered)

    def bound(entry: QueryEntry) -> int:
        return min(report.bounds.get(name, BEGINNING) for name in streams_of(entry.plan))

    def waiting(entry: QueryEntry) -> float:
        return sum(report.rows.get(name, 0) for name in streams_of(entry.plan))

    def progress() -> Progress:
        return Progress(program.plans, bound, running.operators.statuses(), waiting)

    engine._adapting.look(queries, known, progress, measured.plans)
    measured.plans = engine._adapting.plans_of(running.group.queries, measured.plans)
    if running.program is not program:
        measured.write()  # the plan stays if this process does not
