"""A life of changing queries on real Spark, in a process that may be killed at any step.

    python -m tests.spark.living_runs FOLDER [MASTER]

FOLDER holds `steps.json`: what happens, one after the other. A step brings a file of rows, and says
which queries there are from then on, by name: text, directory, settings by which windows or joins
are computed, and whether they see what comes or all that came (FROM START).
Queries that differ from the step before are declared, replaced, altered or dropped while the
pipeline runs. The number of steps that are done stands in `done`, so
whoever starts this process again has it go on, with the queries that the checkpoint was left by:
those of the last step that is done, or of the next. What the log of programs says is copied to
`lives`, before and after every change: old entries are forgotten.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl

from penstock.errors import PenstockError
from penstock.spark import faults
from penstock.spark.catching_up import slices
from penstock.spark.engine import Engine
from penstock.spark.faults import InjectedFault
from penstock.spark.session import local_session
from penstock.spark.state.program_log import ProgramLog

STREAM = (
    "CREATE STREAM a (k STRING, v BIGINT, ts TIMESTAMP) FROM parquet '{folder}/in' "
    "OPTIONS (maxFilesPerTrigger '1') TIMESTAMP BY ts ORDERED"
)
#: The settings that queries have of their own.
AUTO = "aggregation = auto, join = auto, join_order = auto, migration = auto"
#: Always there: the first tells which rows each batch has read, the second has rows spread by `k`.
ALWAYS = {
    "everything": ["SELECT k, v, ts FROM a", "everything", AUTO, "NOW"],
    "grouped": [
        "SELECT k, count(*) AS n FROM a [RANGE 1 SECOND] GROUP BY k",
        "grouped",
        AUTO,
        "NOW",
    ],
}


def statement(folder: Path, name: str, query: Sequence[str]) -> str:
    """How a query is declared, whether or not there is one of its name."""
    text, place, settings, begin = query
    into = f"INTO parquet '{folder}/{place}'"
    declared = f"CREATE OR REPLACE QUERY {name} {into} FROM {begin} AS {text}"
    return "; ".join([set_all(settings), declared, set_all(AUTO)])


def set_all(settings: str) -> str:
    """SET for each of them; a tree of inputs has commas of its own."""
    return "; ".join(f"SET {each}" for each in re.split(r", (?=\w+ =)", settings))


class Life:
    """The steps of one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._steps: list[dict[str, Any]] = json.loads((folder / "steps.json").read_text())
        self._log = ProgramLog(folder / "checkpoint" / "everything")
        self._done = folder / "done"

    @property
    def done(self) -> int:
        return int(self._done.read_text()) if self._done.exists() else 0

    def run(self, engine: Engine) -> None:
        """Do what is left to do."""
        self._note()
        first = self.done
        engine.sql(STREAM.format(folder=self._folder))
        there = self._there(first)
        for name, (text, place, settings, _) in {**ALWAYS, **there}.items():
            into = f"INTO parquet '{self._folder}/{place}'"
            engine.sql(f"{set_all(settings)}; CREATE QUERY {name} {into} AS {text}")
        engine.sql(set_all(AUTO))
        engine.start(accept_changes=True)
        self._note()
        for number in range(first, len(self._steps)):
            before = there if number == first else self._queries(number - 1)
            self._change(engine, before, self._queries(number))
            self._bring(number, self._steps[number]["rows"])
            engine.process_available()
            hidden = self._folder / ".done"
            hidden.write_text(str(number + 1))
            hidden.rename(self._done)
        engine.finish()
        self._note()

    def _queries(self, step: int) -> dict[str, list[str]]:
        known = 0 <= step < len(self._steps)
        return self._steps[step]["queries"] if known else {}

    def _there(self, step: int) -> dict[str, list[str]]:
        """The queries of the checkpoint: those before a step that is to be done, or after it."""
        last = self._log.last()
        if last is None:
            return self._queries(step - 1)
        places = {name: Path(sink["place"]).name for name, sink in last.sinks.items()}
        for queries in (self._queries(step - 1), self._queries(step)):
            wanted = {**ALWAYS, **queries}
            if {f"query {name}": place for name, (_, place, *_) in wanted.items()} == places:
                return queries
        raise AssertionError(f"the log has {places}, and step {step} none of it")

    def _change(self, engine: Engine, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
        dropped = [f"DROP QUERY {name}" for name in before if name not in after]
        come = [
            statement(self._folder, name, query)
            for name, query in after.items()
            if name not in before or before[name][:2] != query[:2]
        ]
        altered = [
            f"ALTER QUERY {name} SET ({query[2]})"
            for name, query in after.items()
            if name in before and before[name][:2] == query[:2] and before[name] != query
        ]
        if dropped or come or altered:
            engine.sql("; ".join([*dropped, *come, *altered]))
            self._note()

    def _bring(self, number: int, rows: Sequence[Sequence[Any]]) -> None:
        file = self._folder / "in" / f"{number:05d}.parquet"
        if not file.exists():
            columns = {"k": pl.String, "v": pl.Int64, "ts": pl.Int64}
            table = pl.DataFrame(rows, schema=columns, orient="row")
            table = table.with_columns(pl.col("ts").cast(pl.Datetime("us", "UTC")))
            table.write_parquet(file.with_name(f".{number}"))
            file.with_name(f".{number}").rename(file)

    def _note(self) -> None:
        """Copy what the log has."""
        with (self._folder / "lives").open("a") as lives:
            for entry in self._log.entries():
                places = {name: sink["place"] for name, sink in entry.sinks.items()}
                lives.write(json.dumps([entry.number, entry.batch, places]) + "\n")


def main(folder: Path, master: str | None = None) -> int:
    if (folder / "faults").exists():
        faults.use(folder / "faults")
    slices.LEAST = 1  # a slice for every earlier batch
    spark = local_session(cores=2, master=master)
    engine = Engine(spark, checkpoint=folder / "checkpoint")
    try:
        Life(folder).run(engine)
    except (PenstockError, InjectedFault) as cause:
        print(f"{type(cause).__name__}: {cause}", flush=True)
        return 1
    finally:
        with suppress(PenstockError):
            engine.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), *sys.argv[2:]))
