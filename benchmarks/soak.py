"""Half an hour of an endless stream: whether anything grows with time.

Two pipelines run on Spark with a trigger every second. One reads small parquet files, 500 rows a
second, which Spark deletes when they are read (`cleanSource`, `maxFileAge`), and an iterable of the
program, which is spooled; it has tumbling and sliding windows and a join, and a query that is
replaced every 20 s. The other selects rows of a generated stream of 2,000 rows a second. Results go
to parquet files; some rows are late, and go to a file of their own. That is how a pipeline is run
for weeks.

Every 5 s figures are taken of the driver's Python, of Java and of the Python workers. What counts
begins after a warm-up of a third (in `--quick`, half) of the time, and is cut into thirds: a case
is one figure, its `ratio` the first third over the last, so below 1 it has grown. For memory,
threads and batch time a third's figure is the median; for numbers of files the highest, because
files are deleted now and then, many at once. `growth` is the slope of the line with the least
squares, by the hour. A case fails below its `limit`, but for `flat`, the batch time of both
pipelines together, which a busy machine changes. `ours` and `rival` are that time in the last and
the first third, in all cases.

Java has a heap of 1 GB from the start, so that its memory shows what grows outside of the heap;
`java-live` is what is left in the heap when its garbage is collected. The output directories have a
file for each batch with results, and the checkpoint's lists of them a line: these grow as they
should, and are not in the figures. In the end every row of the files must be in a tumbling window,
or among the late ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median

from _flatness import Flatness, flatness
from _soak_run import Soak, say, soak

from penstock.lab.benchmarking import Case, Timed
from penstock.spark.session import local_session

ENVIRONMENT = {"POLARS_MAX_THREADS": "1"}

#: Java's memory is all there from the beginning.
HEAP = {
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-Xms1g -XX:+AlwaysPreTouch",
}
BATCH, FLAT = "batch_ms", "flat"


@dataclass(frozen=True)
class Figure:
    """What a case is about; `limit` is the least ratio."""

    figure: str
    unit: str
    limit: float
    of_third: Callable[[Sequence[float]], float] = median


FIGURES = {
    FLAT: Figure(BATCH, "ms", 0.9),
    "driver-memory": Figure("driver_mb", "MB", 0.9),
    "java-memory": Figure("java_mb", "MB", 0.9),
    "java-live": Figure("java_live_mb", "MB", 0.9),
    "worker-memory": Figure("workers_mb", "MB", 0.9),
    "driver-threads": Figure("driver_threads", "", 0.9),
    "java-threads": Figure("java_threads", "", 0.9),
    "checkpoint-files": Figure("checkpoint_files", "", 0.9, max),
    "checkpoint-size": Figure("checkpoint_kb", "KB", 0.8, max),
    "shared-files": Figure("shared_files", "", 0.5, max),
    "temporary-files": Figure("temporary_files", "", 0.5, max),
}


def cases(quick: bool) -> Iterator[Case]:
    seconds = 300.0 if quick else 1800.0
    warm_up = seconds / (2 if quick else 3)
    spark = local_session(conf=HEAP)
    run = soak(spark, seconds, say)
    times = flatness(run.samples[BATCH], warm_up)
    samples = {name: list(map(list, taken)) for name, taken in run.samples.items()}
    for name, figure in FIGURES.items():
        found = flatness(run.samples[figure.figure], warm_up, figure.of_third)
        yield Case(
            name=name,
            ours=partial(Timed, run, times.last / 1000),
            rival=partial(Timed, run, times.first / 1000),
            rival_name="the first third",
            repeats=1,
            warm_up=0,
            ratio=lambda ours, rival, found=found: found.ratio,  # type: ignore[misc]
            difference=partial(_wrong, name, figure, found),
            ours_io="parquet files and an iterable; a workload → parquet by Polars",
            rival_io="the same run",
            extra={
                "first": round(found.first, 1),
                "last": round(found.last, 1),
                "unit": figure.unit,
                "growth": round(found.slope, 1),
                "limit": figure.limit,
                **({"batches": run.batches, "samples": samples} if name == FLAT else {}),
            },
        )


def _wrong(name: str, figure: Figure, found: Flatness, ours: Soak, rival: Soak) -> str | None:
    if ours.wrong is not None:
        return str(ours.wrong)
    if name == FLAT or found.ratio >= figure.limit:
        return None
    return f"{found.last:g} {figure.unit} in the last third, {found.first:g} in the first"
