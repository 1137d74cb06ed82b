"""Joins of four streams on Spark whose selectivities swap: a plan that adapts, against others.

Streams a, b, c and d, keys at random and rows up to 1 s out of order, each row joined with those of
the next stream within 3 s, of the same shop and with another key in common:

    a ── x ── b ── y, 1 partner ── c ── z ── d

For a third of the time a row has 30 partners along z and one row in 100 has any along x, so the
written order, from left to right, is the best; then both swap, and the order from right to left is.
A query that is declared with `adapt = on` knows nothing of this, and begins in the written order.

    case               ours          rival                                              ratio
    adapt-vs-stay      adapt = on    stays with the written order, adapt = off          rival / ours
    adapt-vs-oracle    adapt = on    is altered to the other order at exactly the       rival / ours
                                     swap, before any row of after it is read
    adapt-vs-restart   adapt = on    is dropped at exactly the swap and begins from     rival / ours
                                     scratch in the other order

The rival that restarts has no state to begin with and its results must be complete: so it reads its
streams from their beginning, as CREATE OR REPLACE QUERY has it for what cannot be altered, and its
results replace those of before. What it took until the swap counts. It knows when to restart and to
which order, which ours has to find out.

What counts is the time from the end of a first small batch to the last result, for all runs in two
parts, before the swap and after it; results go to parquet files and are compared row by row. A
micro-batch takes 5 s of each stream, and every one has results. `pause` is the longest time between
results from before a change of ours and from after it, in triggers: the median time between results
of all batches. Above 3 the benchmark fails. `slowest` is the longest time between any two, which is
that of the first plan after the swap, before anybody can know of it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from statistics import median

import polars as pl
from _four_streams import STREAMS, Chain, Fans, declared, query
from _streams import ONCE_ABOVE, OURS_IO
from pyspark.sql import SparkSession

from penstock.lab.benchmarking import Case, Timed
from penstock.model.timestamps import SECOND
from penstock.runtime.migrations import Migration
from penstock.spark.engine import Engine
from penstock.spark.session import local_session

ENVIRONMENT = {"POLARS_MAX_THREADS": "1"}

BEFORE, AFTER = Fans(x=0.01, y=1, z=30), Fans(x=30, y=1, z=0.01)
BAND, DISORDER, FILE_SECONDS = 3, 1, 5
FULL, QUICK = 210, 90  # seconds, of which a third is before the swap
WRITTEN, OTHER = "(((a, b), c), d)", "(a, (b, (c, d)))"
ADAPTED = "OAJoin(a, OAJoin(b, OAJoin(c, d)))"
#: Triggers for which nothing may come out.
LONGEST_PAUSE = 3.0


def cases(quick: bool) -> Iterator[Case]:
    seconds = QUICK if quick else FULL
    runs = Runs(local_session(), seconds)
    warm_up = Runs(runs.spark, QUICK)  # Java takes a minute to be as fast as it gets
    warm_up.adapting(), warm_up.staying()
    rivals = {
        "adapt-vs-stay": (runs.staying, "the first plan throughout"),
        "adapt-vs-oracle": (runs.altered, "ALTER QUERY at the swap"),
        "adapt-vs-restart": (runs.restarted, "a restart from scratch at the swap"),
    }
    for name, (rival, title) in rivals.items():
        yield Case(
            name=name,
            ours=runs.adapting,
            rival=rival,
            rival_name=title,
            repeats=1 if quick else 3,
            warm_up=0,
            once_above=ONCE_ABOVE,
            ours_io=OURS_IO["parquet"],
            rival_io=OURS_IO["parquet"],
            extra=runs.facts,
        )


@dataclass
class Runs:
    """One join of four streams, run in several ways."""

    spark: SparkSession
    seconds: int
    facts: dict[str, object] = field(default_factory=dict)

    @property
    def swap(self) -> int:
        return self.seconds // 3

    @cached_property
    def made(self) -> Path:
        """The files of all streams, which runs link to."""
        folder = Path(tempfile.mkdtemp())
        phases = ((0, BEFORE), (self.swap, AFTER))
        chain = Chain(self.seconds, phases, BAND, DISORDER, FILE_SECONDS)
        chain.write(folder)
        self.facts["rows"] = 4 * chain.rows
        return folder

    def adapting(self) -> Timed:
        with tempfile.TemporaryDirectory() as name:
            run = Run(self, Path(name))
            seconds = run.both(run.begun("SET adapt = on;"))
            assert [shape.after for shape in run.changes] == [ADAPTED], run.changes
            assert all(each.is_over for each in run.changes), run.changes
            pause, slowest = run.triggers(changing=True), run.triggers()
            self.facts |= {"pause": round(pause, 2), "slowest": round(slowest, 2)}
            assert pause <= LONGEST_PAUSE, f"nothing came out for {pause:.1f} triggers"
            return Timed(run.results, seconds)

    def staying(self) -> Timed:
        with tempfile.TemporaryDirectory() as name:
            run = Run(self, Path(name))
            seconds = run.both(run.begun(f"SET adapt = off; SET join_order = '{WRITTEN}';"))
            return Timed(run.results, seconds)

    def altered(self) -> Timed:
        with tempfile.TemporaryDirectory() as name:
            run = Run(self, Path(name))
            seconds = run.both(run.begun(f"SET join_order = '{WRITTEN}';"), OTHER)
            return Timed(run.results, seconds)

    def restarted(self) -> Timed:
        with tempfile.TemporaryDirectory() as name, tempfile.TemporaryDirectory() as other:
            first = Run(self, Path(name))
            engine = first.begun(f"SET adapt = off; SET join_order = '{WRITTEN}';")
            seconds = first.timed(engine, self.swap)
            again = Run(self, Path(other))
            again.link_files()
            begun = time.perf_counter()
            engine.stop()
            engine = again.begun(f"SET adapt = off; SET join_order = '{OTHER}';")
            seconds += time.perf_counter() - begun
            seconds += again.both(engine)
            return Timed(again.results, seconds)


@dataclass
class Run:
    """One run in a folder of its own."""

    of: Runs
    folder: Path
    changes: tuple[Migration, ...] = ()

    def begun(self, settings: str) -> Engine:
        """An engine that has processed the first files of the streams."""
        self.link_files()
        engine = Engine(self.of.spark, checkpoint=self.folder / "checkpoint")
        streams = declared(self.folder, 1, DISORDER)
        engine.sql(f"{streams}{settings}{query(self.folder, BAND)}")
        engine.start()
        engine.process_available()
        return engine

    def link_files(self) -> None:
        """Have the files of the streams in this folder, once."""
        for name in STREAMS:
            for each in (name, f"{name}-waiting"):
                if not (self.folder / each).exists():
                    shutil.copytree(self.of.made / each, self.folder / each, copy_function=os.link)

    def both(self, engine: Engine, order: str | None = None) -> float:
        """Seconds for what comes before the swap and after it; the order changes between."""
        seconds = self.timed(engine, self.of.swap)
        begun = time.perf_counter()
        if order is not None:
            engine.sql(f"ALTER QUERY q SET (join_order = '{order}')")
        seconds += time.perf_counter() - begun + self.timed(engine, None)
        self.changes = engine.status().migrations
        engine.stop()
        return seconds

    def timed(self, engine: Engine, until: int | None) -> float:
        """Seconds for the files that wait, up to some second."""
        begun = time.perf_counter()
        for name in STREAMS:
            files = sorted((self.folder / f"{name}-waiting").iterdir())
            for file in files if until is None else files[: until // FILE_SECONDS]:
                file.rename(self.folder / name / file.name)
        engine.process_available()
        return time.perf_counter() - begun

    @property
    def _files(self) -> list[Path]:
        return sorted((self.folder / "out").glob("*.parquet"))

    @property
    def results(self) -> pl.DataFrame:
        return pl.concat(map(pl.read_parquet, self._files))

    def triggers(self, *, changing: bool = False) -> float:
        """The longest time between two files of results, in triggers; or those around a change."""
        times = sorted(file.stat().st_mtime for file in self._files)
        gaps = list(pairwise(times))
        usual = median(later - before for before, later in gaps)
        if changing:
            gaps = [
                (
                    max(time for time in times if time * SECOND <= each.began),
                    min(time for time in times if time * SECOND >= (each.ended or 0)),
                )
                for each in self.changes
            ]
        return max(later - before for before, later in gaps) / usual
