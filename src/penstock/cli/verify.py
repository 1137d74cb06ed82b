"""`penstock verify FILE.sql`: compare the file's queries with the reference evaluator."""

from __future__ import annotations

import importlib.util
import json
import logging
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.shared.arguments import ScriptFile, read_script
from penstock.printable import printable

if TYPE_CHECKING:
    from penstock.verification.verify import Verification

#: Seconds between two words about where it is.
PATIENCE = 2.0


def verify(
    file: ScriptFile,
    rows: Annotated[
        int, typer.Option("--rows", min=4, metavar="N", help="Rows of each stream, at most.")
    ] = 200,
    seeds: Annotated[
        int, typer.Option("--seeds", min=1, metavar="K", help="Number of random cases.")
    ] = 10,
    seed: Annotated[
        int | None, typer.Option("--seed", metavar="S", help="Run only the case with this seed.")
    ] = None,
    spark: Annotated[
        bool | None,
        typer.Option("--spark/--no-spark", help="Whether one case runs on Spark as well."),
    ] = None,
    json_path: Annotated[
        Path | None, typer.Option("--json", metavar="PATH", help="Write all results to this file.")
    ] = None,
) -> None:
    """Compare the results of a file's queries with a reference, on a sample of its data.

    Rows arrive in random order, late, repeated and with NULLs, in random batches; queries run in
    this process and on Spark's host, with every algorithm, with restarts and lost workers. Results
    must equal those of a slow reference evaluator. A difference is reduced to a minimal case.
    """
    from penstock.verification.report import as_json, lines
    from penstock.verification.verify import Verification

    wanted = importlib.util.find_spec("pyspark") is not None if spark is None else spark
    done = Verification(read_script(file), rows)
    chosen = range(seeds) if seed is None else [seed]
    with without_late_warnings():
        tell(done.run(chosen))
        if wanted and done.outcome.found is None:
            on_spark(done, chosen[:1])
        elif not wanted:
            done.outcome.not_tried.append("Spark itself (--spark)")
    print(f"{done.outcome.seconds:.0f} seconds", file=sys.stderr)
    print(printable("\n".join(lines(done))))
    if json_path is not None:
        json_path.write_text(json.dumps(as_json(done), indent=2, default=str))
    if done.outcome.found is not None:
        raise typer.Exit(1)


@contextmanager
def without_late_warnings() -> Iterator[None]:
    """Leave out warnings about late rows: here they are late on purpose."""
    from penstock.runtime.late_warnings import LATE_ROWS_LOG

    level = LATE_ROWS_LOG.level
    LATE_ROWS_LOG.setLevel(logging.ERROR)
    try:
        yield
    finally:
        LATE_ROWS_LOG.setLevel(level)


def on_spark(done: Verification, seeds: Iterable[int]) -> None:
    from penstock.spark import faults
    from penstock.spark.engine import Engine
    from penstock.verification.run_spark import OnSpark

    print("starting Spark …", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        faults.use(Path(folder))  # Spark's workers look there, if they start after this
        try:
            tell(done.run_on_spark(OnSpark(lambda place: Engine(checkpoint=place)), seeds))
        finally:
            faults.use(None)


def tell(progress: Iterable[str]) -> None:
    """Say now and then where it is; what is done when somebody stops it counts."""
    said = time.monotonic()
    try:
        for text in progress:
            if time.monotonic() - said > PATIENCE:
                print(text, file=sys.stderr, flush=True)
                said = time.monotonic()
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
