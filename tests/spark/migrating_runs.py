"""Joins that change all the time on real Spark, in a process that may be killed at any step.

    python -m tests.spark.migrating_runs FOLDER [MASTER]

FOLDER holds `case.json`: `streams` and `queries` by their text, and `steps`, one after the other. A
step brings rows and bounds of streams, and has settings for some queries, by which they are altered
while they run. The number of steps that are done stands in `done`, so whoever starts this process
again has it go on. Queries are declared as the last step has left them; the checkpoint may have
them as the next one does.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl

from penstock.errors import PenstockError
from penstock.spark import faults
from penstock.spark.engine import Engine
from penstock.spark.faults import InjectedFault
from penstock.spark.session import local_session
from tests.spark.living_runs import set_all


class Migrating:
    """The steps of one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._case: dict[str, Any] = json.loads((folder / "case.json").read_text())
        self._done = folder / "done"

    @property
    def done(self) -> int:
        return int(self._done.read_text()) if self._done.exists() else 0

    def run(self, engine: Engine) -> None:
        """Do what is left to do."""
        first = self.done
        for text in self._case["streams"]:
            engine.sql(text)
        settings = {name: each[1] for name, each in self._case["queries"].items()}
        for step in self._case["steps"][:first]:
            settings |= step["altered"]
        for name, (text, _) in self._case["queries"].items():
            into = f"INTO parquet '{self._folder}/{name}'"
            engine.sql(f"{set_all(settings[name])}; CREATE QUERY {name} {into} AS {text}")
        engine.start(accept_changes=True)
        for number, step in enumerate(self._case["steps"][first:], start=first):
            for name, altered in step["altered"].items():
                engine.sql(f"ALTER QUERY {name} SET ({altered})")
            for stream, rows in step["rows"].items():
                self._bring(stream, number, rows)
            engine.process_available()
            for stream, bound in step["bounds"].items():
                engine.punctuate(stream, bound)
            self._note(number + 1)
        engine.finish()

    def _note(self, done: int) -> None:
        hidden = self._folder / ".done"
        hidden.write_text(str(done))
        hidden.rename(self._done)

    def _bring(self, stream: str, number: int, rows: list[Mapping[str, Any]]) -> None:
        folder = self._folder / "in" / stream
        file = folder / f"{number:05d}.parquet"
        if not file.exists():
            columns = {"k": pl.String, "v": pl.Int32, "d": pl.Float64, "ts": pl.Int64}
            table = pl.DataFrame(rows, schema=columns, orient="row")
            table = table.with_columns(pl.col("ts").cast(pl.Datetime("us", "UTC")))
            table.write_parquet(folder / f".{number}")
            (folder / f".{number}").rename(file)


def main(folder: Path, master: str | None = None) -> int:
    if (folder / "faults").exists():
        faults.use(folder / "faults")
    spark = local_session(cores=2, master=master)
    engine = Engine(spark, checkpoint=folder / "checkpoint")
    try:
        Migrating(folder).run(engine)
    except (PenstockError, InjectedFault) as cause:
        print(f"{type(cause).__name__}: {cause}", flush=True)
        return 1
    finally:
        with suppress(PenstockError):
            engine.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), *sys.argv[2:]))
