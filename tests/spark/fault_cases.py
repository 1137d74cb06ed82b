"""Queries of every shape over a few files, with what they must answer, to be run into faults.

Each stream has four files, one a batch; values are integers, so answers are exactly the oracle's.
Where rows come late, they do so by a wide margin, in the third batch and the fourth.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from penstock.local.engine import LocalEngine
from penstock.model.timestamps import SECOND
from penstock.oracle.evaluate import evaluate
from penstock.plan.nodes import Node
from penstock.spark.faults import (
    IN_CONTROL,
    IN_DRIVER,
    IN_EXCHANGE,
    IN_GROUP,
    IN_ROWS,
)
from tests.engine.running import rows_of

Row = dict[str, Any]

FILES = 4
ROWS = 10
START = 1_700_000_000 * SECOND
STREAMS = ("a", "b")

STREAM = """
CREATE STREAM {name} (k STRING, v BIGINT, ts TIMESTAMP) FROM parquet '{folder}/in/{name}'
  OPTIONS (maxFilesPerTrigger '1') TIMESTAMP BY ts SLACK 2 SECONDS {late};
"""
LATE = "LATE INTO parquet '{folder}/out/late'"

COUNTS = "SELECT k, count(*) AS n, sum(v) AS s FROM a [RANGE 4 SECONDS SLIDE 2 SECONDS] GROUP BY k"
TUMBLING = "SELECT k, count(*) AS n, sum(v) AS s FROM a [RANGE 2 SECONDS] GROUP BY k"
PAIRS = "SELECT x.k AS k, x.v AS v, y.v AS w FROM a x JOIN b y ON x.k = y.k WITHIN 2 SECONDS"
ALL_PAIRS = PAIRS.replace("JOIN", "FULL JOIN")
SESSIONS = "SELECT k, count(*) AS n, max(v) AS m FROM a GROUP BY session_window(ts, '1 seconds'), k"
PICKED = "SELECT k, v * 2 AS w, ts FROM a WHERE v % 3 > 0"
BY_VALUE = "SELECT v % 4 AS r, count(*) AS n FROM a [RANGE 3 SECONDS] GROUP BY v % 4"


@dataclass(frozen=True)
class Shape:
    """Queries that run together."""

    queries: Mapping[str, str]
    has_late: bool = False
    has_groups: bool = True

    @property
    def points(self) -> list[str]:
        """The fault points that a run comes by."""
        found = [*IN_EXCHANGE, *(IN_GROUP if self.has_groups else IN_ROWS)]
        found += [*IN_DRIVER, *IN_CONTROL]
        return [point for point in found if self.has_late or point != "deliver.late"]

    def script(self, folder: Path) -> str:
        """Statements that read and write below a folder."""
        late = LATE.format(folder=folder) if self.has_late else ""
        used = [n for n in STREAMS if any(f" {n} " in sql for sql in self.queries.values())]
        return "".join(
            STREAM.format(name=n, folder=folder, late=late if n == "a" else "") for n in used
        ) + "".join(
            f"CREATE QUERY `{name}` INTO parquet '{folder}/out/{name}' AS {sql};"
            for name, sql in self.queries.items()
        )


SHAPES = {
    "aggregate": Shape({"counts": COUNTS}),
    "join": Shape({"pairs": PAIRS}),
    "outer join": Shape({"all_pairs": ALL_PAIRS}),
    "tumbling": Shape({"tumbling": TUMBLING}),
    "session window": Shape({"sessions": SESSIONS}),
    "LATE INTO": Shape({"counts": COUNTS}, has_late=True),
    "two pipelines on a stream": Shape({"counts": COUNTS, "by_value": BY_VALUE}),
}
#: Without groups; of what is late all goes in.
ROWS_ALONE = Shape({"picked": PICKED, "everything": "SELECT k, v, ts FROM a "}, has_groups=False)
#: All shapes at once: what a fault hits, it hits in all of them.
TOGETHER = Shape(
    {
        "counts": COUNTS,
        "pairs": PAIRS,
        "all_pairs": ALL_PAIRS,
        "sessions": SESSIONS,
        "by_value": BY_VALUE,
    },
    has_late=True,
)


def batch_of(stream: str, number: int) -> list[Row]:
    """The rows of a stream's file that are on time."""
    chance = random.Random(f"{stream} {number}")
    begin = START + number * 5 * SECOND // 2
    return [
        {
            "k": chance.choice("xyz"),
            "v": 1000 * (STREAMS.index(stream) + 1) + ROWS * number + n,
            "ts": begin + chance.randrange(3 * SECOND),
        }
        for n in range(ROWS)
    ]


def late_of(shape: Shape, stream: str, number: int) -> list[Row]:
    """The rows of a stream's file that come too late."""
    if not shape.has_late or stream != "a" or number < 2:
        return []
    return [{"k": "late", "v": number, "ts": START + number}]


def write_inputs(shape: Shape, folder: Path) -> None:
    """The files of all streams; Spark reads them in the order of their age."""
    for stream in STREAMS:
        (folder / "in" / stream).mkdir(parents=True, exist_ok=True)
        for number in range(FILES):
            rows = [*batch_of(stream, number), *late_of(shape, stream, number)]
            file = folder / "in" / stream / f"{number}.parquet"
            frame = pl.DataFrame(rows).with_columns(pl.col("ts").cast(pl.Datetime("us", "UTC")))
            frame.write_parquet(file)
            os.utime(file, (1_700_000_000 + number, 1_700_000_000 + number))


@cache
def _plans(script: str) -> dict[str, Node]:
    engine = LocalEngine()
    engine.sql(script)
    return {query.name: query.plan for query in engine.queries}


def plans(shape: Shape) -> dict[str, Node]:
    """The queries as plans, read from nowhere and written nowhere."""
    declared = "".join(
        f"CREATE STREAM {n} (k STRING, v BIGINT, ts TIMESTAMP) TIMESTAMP BY ts SLACK 2 SECONDS;"
        for n in STREAMS
    )
    queries = "".join(f"CREATE QUERY `{n}` AS {sql};" for n, sql in shape.queries.items())
    return _plans(declared + queries)


def expected(shape: Shape) -> dict[str, list[Row]]:
    """What the oracle says of each query, and the rows that come too late."""
    inputs = {s: [row for n in range(FILES) for row in batch_of(s, n)] for s in STREAMS}
    found = {name: evaluate(plan, inputs) for name, plan in plans(shape).items()}
    late = [row for n in range(FILES) for row in late_of(shape, "a", n)]
    return {**found, "late": late} if shape.has_late else found


def written(shape: Shape, folder: Path) -> dict[str, list[Row]]:
    """What a run has put into its directories."""
    found = {}
    for name in expected(shape):
        files = sorted((folder / "out" / name).glob("part-*.parquet"))
        rows = [row for file in files for row in rows_of(pl.read_parquet(file))]
        if name == "late":
            rows = [{c: row[c] for c in ("k", "v", "ts")} for row in rows if row["why"] == "late"]
        found[name] = rows
    return found


@dataclass(frozen=True)
class Difference:
    """How an answer differs from the one expected."""

    lost: int = 0
    doubled: int = 0
    wrong: int = 0

    def __bool__(self) -> bool:
        return self != Difference()

    def __add__(self, other: Difference) -> Difference:
        return Difference(
            self.lost + other.lost, self.doubled + other.doubled, self.wrong + other.wrong
        )


def difference(ours: Iterable[Row], theirs: Iterable[Row]) -> Difference:
    """Rows that are missing, rows that are there more than once, and rows nobody expects."""
    mine, wanted = (
        Counter(frozenset(row.items()) for row in rows) for rows in (list(ours), list(theirs))
    )
    more = mine - wanted
    doubled = sum(count for row, count in more.items() if row in wanted)
    return Difference((wanted - mine).total(), doubled, more.total() - doubled)


def differences(
    answers: Mapping[str, list[Row]], wanted: Mapping[str, list[Row]]
) -> dict[str, Difference]:
    """The answers that are not as expected, by query."""
    found = {name: difference(answers.get(name, []), rows) for name, rows in wanted.items()}
    return {name: each for name, each in found.items() if each}
