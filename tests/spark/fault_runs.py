"""Cases of the fault campaign on real Spark, one after the other in a process of their own.

    python -m tests.spark.fault_runs CASES [MASTER]

CASES is a file of JSON: a list of cases. Each is run with its faults armed, or, if it names none,
with those that an earlier process has armed and not met. Unless it is `tried_on` in the same
process until it gets to its end, what fails is left as it is, for a later process.
What became of a case is written beside its inputs, so whoever started this process knows how far it
came when it was killed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from penstock.errors import PenstockError
from penstock.spark import faults
from penstock.spark.engine import Engine
from penstock.spark.faults import InjectedFault
from penstock.spark.session import local_session

#: How often a case is started before it is given up; more often than it has faults in the driver.
STARTS = 14

#: Point, action, occurrence, and how many times in a row.
Fault = tuple[str, str, int, int]


@dataclass(frozen=True)
class Case:
    """One run of a script into faults."""

    folder: str
    script: str
    faults: Sequence[Fault]
    tried_on: bool = True

    @property
    def status(self) -> Path:
        """Where it is written what became of it."""
        return Path(self.folder) / "status"


def run(spark: SparkSession, case: Case, faults_at: Path) -> None:
    """Run a case into its faults."""
    if case.faults:
        faults.disarm(faults_at)
    for point, action, occurrence, times in case.faults:
        faults.arm(faults_at, point, action, occurrence=occurrence, times=times)
    note(case, "begun")
    said = finish(spark, case.script, STARTS if case.tried_on else 1)
    hits = len({hit.split()[0] for hit in faults.hits(faults_at)})
    note(case, f"{'failed' if said else 'done'} hits={hits} {said}")


def finish(spark: SparkSession, script: str, starts: int = STARTS) -> str:
    """Run a script to its end, in so many starts; gives why the last of them failed."""
    said = ""
    for _ in range(starts):
        engine = Engine(spark)
        try:
            engine.sql(script)
            engine.start()
            engine.finish()
        except (PenstockError, InjectedFault) as cause:
            said = f"{type(cause).__name__}: {cause}".splitlines()[0]
        else:
            return ""
        finally:
            with suppress(PenstockError):  # the case is judged by what it has written
                engine.stop()
    return said


def note(case: Case, text: str) -> None:
    case.status.write_text(text)


def write_cases(file: Path, cases: Iterable[Case]) -> Path:
    file.write_text(json.dumps([asdict(case) for case in cases]))
    return file


def main(arguments: Sequence[str]) -> None:
    file, *master = arguments
    cases = [Case(**each) for each in json.loads(Path(file).read_text())]
    place = Path(file).with_suffix(".faults")
    faults.use(place)
    spark = local_session(cores=2, master=master[0] if master else None)
    for number, case in enumerate(cases, start=1):
        run(spark, case, place)
        print(f"{number}/{len(cases)} {case.folder}: {case.status.read_text()}", flush=True)
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1:])
