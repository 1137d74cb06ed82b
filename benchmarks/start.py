"""From the call to the first result and to the end: `penstock run` against a plain PySpark script.

Both compute `examples/talkers.sql`, two windowed aggregates over 240 rows of CSV, each in processes
of its own, from the shell's call on: what counts is how long a person waits. The script
(`_plain_talkers.py`) does the same with `window()`, and has the settings that make it start and end
sooner. `local` is `penstock run --local`, without Spark, against the same script. Everything that
set-up has made is used: byte code, and an archive of Spark's classes.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from penstock.lab.benchmarking import Case, Timed

ROOT = Path(__file__).resolve().parents[1]
OURS = (str(ROOT / "penstock"), "run", "examples/talkers.sql")
PLAIN = (sys.executable, "benchmarks/_plain_talkers.py", "examples/data")

#: A row of a result, as text: the query's name and its values.
Rows = set[tuple[str, ...]]


def cases(quick: bool) -> Iterator[Case]:
    for name, ours, what in (
        ("first-result", OURS, 0),
        ("whole-run", OURS, 1),
        ("whole-run-local", (*OURS, "--local"), 1),
    ):
        yield Case(
            name=name,
            ours=partial(timed, ours, rows_of_tables, what),
            rival=partial(timed, PLAIN, rows_of_json, what),
            rival_name="a plain PySpark script",
            repeats=3 if quick else 5,
            warm_up=1,
            ours_io="CSV, read in our tasks by Arrow → table on stdout",
            rival_io="CSV, read by Spark with the schema declared → lines on stdout",
        )


def timed(command: Sequence[str], rows: Callable[[list[str]], Rows], what: int) -> Timed:
    """Seconds to the first line of a result (0) or to the end (1)."""
    begun = time.perf_counter()
    process = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    lines, first = [], 0.0
    for line in process.stdout:
        first = first or time.perf_counter() - begun
        lines.append(line.rstrip())
    if process.wait() != 0:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
    return Timed(sorted(rows(lines)), (first, time.perf_counter() - begun)[what])


def rows_of_json(lines: list[str]) -> Rows:
    """What the script printed."""
    return {tuple(map(_shown, json.loads(line))) for line in lines}


def rows_of_tables(lines: list[str]) -> Rows:
    """What `penstock run` printed: a line `name: n rows`, then a header, then a line per row."""
    found: Rows = set()
    query, header = "", False
    for line in lines:
        if not line.startswith("  "):
            query, header = line.split(":")[0], True
        elif header:
            header = False
        else:
            found.add((query, *(_shown(value) for value in line.strip().split("   ") if value)))
    return found


def _shown(value: object) -> str:
    """A value as both print it: tables show three decimals."""
    text = str(value).strip()
    try:
        return f"{round(float(text), 3):g}"
    except ValueError:
        return text
