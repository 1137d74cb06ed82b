"""Cases of the fault campaign on real Spark, one after the other in a process of their own.

    python -m tests.spark.fault_runs CASES [MASTER]

CASES is a file of JSON: a list of cases. Each is run with its fault armed; unless it is `tried_on`
in the same process until it gets to its end, what fails is left as it is, for a later process.
What became of a case is written beside its inputs, so whoever started this process knows how far it
came when it was killed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from penstock.errors import PenstockError
from penstock.spark import faults
from penstock.spark.engine import Engine
from penstock.spark.faults import InjectedFault
from penstock.spark.session import local_session

#: How often a case is started before it is given up.
STARTS = 6


@dataclass(frozen=True)
class Case:
    """One run of a script into one fault."""

    folder: str
    script: str
    point: str
    action: str
    occurrence: int
    times: int = 1
    tried_on: bool = True

    @property
    def status(self) -> Path:
        """Where it is written what became of it."""
        return Path(self.folder) / "status"


def run(spark: SparkSession, case: Case, faults_at: Path) -> None:
    """Run a case into its fault."""
    faults.disarm(faults_at)
    faults.arm(faults_at, case.point, case.action, occurrence=case.occurrence, times=case.times)
    note(case, "begun")
    said = finish(spark, case, STARTS if case.tried_on else 1)
    hits = len(faults.hits(faults_at))
    faults.disarm(faults_at)
    note(case, f"{'failed' if said else 'done'} hits={hits} {said}")


def finish(spark: SparkSession, case: Case, starts: int) -> str:
    """Run a script to its end, in so many starts; gives why the last of them failed."""
    said = ""
    for _ in range(starts):
        engine = Engine(spark)
        try:
            engine.sql(case.script)
            engine.start()
            engine.finish()
        except (PenstockError, InjectedFault) as cause:
            said = f"{type(cause).__name__}: {cause}".splitlines()[0]
        else:
            return ""
        finally:
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
