"""A case on Spark: every batch is a file of each stream, and Spark takes one of each a trigger.

So its micro-batches are the batches of the case. In the middle all pipelines are stopped and
started again from their checkpoints, by an engine that knows nothing of the first one.
"""

from __future__ import annotations

import os
import random
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import polars as pl

from penstock.model.streams import Origin, Stream
from penstock.model.types import Type
from penstock.spark import faults
from penstock.spark.engine import Engine
from penstock.verification.case import Row, VerificationCase, frame_of, rows_of
from penstock.verification.script import Planned, Script
from penstock.verification.ways import Way

#: One file of each stream a trigger.
_ONE_BY_ONE = (("maxFilesPerTrigger", "1"),)


class OnSpark:
    """Runs cases; `engine` makes an engine that keeps its checkpoint in a folder."""

    def __init__(self, engine: Callable[[Path], Engine]) -> None:
        self._engine = engine

    def __call__(
        self, script: Script, case: VerificationCase, way: Way, queries: Sequence[str] | None = None
    ) -> dict[str, list[Row]]:
        """What each query that can run on this way has put out once all streams have ended."""
        names = [p.name for p in script.declared(way.settings, queries) if can_run(p)]
        if not names:
            return {}
        with tempfile.TemporaryDirectory(prefix="penstock-verify-") as folder:
            place = Path(folder)
            streams = {each.stream.name: each.stream for each in script.streams()}
            origins = {
                name: Origin("parquet", str(place / "in" / name), _ONE_BY_ONE) for name in streams
            }
            for name in streams:
                (place / "in" / name).mkdir(parents=True)
            middle = len(case.batches) // 2 if way.restarts else 0
            found: dict[str, list[Row]] = {name: [] for name in names}
            if way.faults:
                _arm(way)
            for batches in filter(len, (range(middle), range(middle, len(case.batches)))):
                for number in batches:
                    _write(place / "in", streams, case, number)
                engine = self._engine(place / "checkpoint")
                script.on(engine, way.settings, queries=names, origins=origins)
                self._take_in(engine, is_last=batches.stop == len(case.batches))
                for query in engine.queries:
                    found[query.name] += rows_of(query.to_polars())
            if (armed := faults.folder()) is not None:
                faults.disarm(armed)
            return found

    def _take_in(self, engine: Engine, *, is_last: bool) -> None:
        try:
            engine.start()
            if is_last:
                engine.finish()
            else:
                engine.process_available()
        finally:
            engine.stop()


def _arm(way: Way) -> None:
    """Have one task fail, which Spark repeats, or do a step twice, if workers look for faults."""
    folder, chance = faults.folder(), random.Random(f"{way.seed} spark")
    if folder is not None:
        faults.disarm(folder)
        here = sorted({**faults.IN_EXCHANGE, **faults.IN_GROUP})
        action = chance.choice(("fail", "repeat"))
        faults.arm(folder, chance.choice(here), action, occurrence=chance.choice((1, 2, 3)))


def can_run(planned: Planned) -> bool:
    """Whether what a query gives on Spark can be told beforehand."""
    # Of the clock of the machine it cannot.
    return not any(stream.stamped for stream in planned.streams.values())


def _write(
    folder: Path, streams: Mapping[str, Stream], case: VerificationCase, number: int
) -> None:
    """A batch as files; Spark reads files in the order of their age."""
    batch, age = case.batches[number], time.time() - 3600 + number
    for name, stream in streams.items():
        times = [c.name for c in stream.columns if c.type is Type.TIMESTAMP]
        rows = frame_of(stream.columns, batch.of(stream))
        hidden = folder / name / f".{number:04d}.parquet"
        rows.with_columns(pl.col(times).cast(pl.Datetime("us", "UTC"))).write_parquet(hidden)
        os.utime(hidden, (age, age))
        hidden.rename(folder / name / f"{number:04d}.parquet")
