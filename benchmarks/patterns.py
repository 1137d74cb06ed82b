"""MATCH_RECOGNIZE where attempts at a match are long: many rows of one key, and no end in sight.

Twelve patterns: failed logins as in docs/sql.md, prices that only fall as there, `A+ C` without any
C, and nine more. Their conditions look at a row and the one before it. A search that begins anew at
every row takes time that grows with the square of the rows.

    case      ours                                     against
    one-key   1,000,000 rows of one key, in one push   the same rows in 10,000 keys; the ratio is
                                                       the time of these over that of one key
    linear    1,000,000 rows of one key, in pushes     ten times the time of 100,000 such rows
              of 10,000 rows

Every pattern runs once; the one with the least ratio, which the column `pattern` names, runs three
times more and is the row of the case. `all` has the ratios of all patterns. How many matches there
are is held against Python's `re`, or against what is plain: nothing matches without a C.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from time import perf_counter

import numpy as np
import numpy.typing as npt
import polars as pl

from penstock.lab.benchmarking import Case, Timed
from penstock.local.engine import LocalEngine

ENVIRONMENT = {"POLARS_MAX_THREADS": "1"}

STREAM = "CREATE STREAM s (k BIGINT, v BIGINT, ts TIMESTAMP) TIMESTAMP BY ts ORDERED"
KEYS = 10_000
START, STEP = 1_767_225_600_000_000, 50  # a million rows take 50 seconds
IO = "tables in memory → collected into memory"
DEFINE = "DEFINE A AS v > 0, B AS v > 0, C AS v < 0"


@dataclass(frozen=True)
class Pattern:
    """A pattern; of its rows one in `ends` is a C, or none.

    `expected` is the regular expression for it, where there is a C; else the matches of n rows.
    """

    name: str
    clause: str
    ends: int = 0
    expected: str | int = 0


PATTERNS = (
    Pattern(
        "logins",
        "PATTERN (FAIL{3,} SUCCESS) WITHIN INTERVAL '1' MINUTE "
        "DEFINE FAIL AS FAIL.v > 0, SUCCESS AS SUCCESS.v < 0",
    ),
    Pattern("A+ C", f"PATTERN (A+ C) {DEFINE.replace(' B AS v > 0,', '')}"),
    Pattern(
        "falling",
        "AFTER MATCH SKIP TO LAST UP PATTERN (FIRST_ROW DOWN+ UP+) WITHIN 1 HOUR "
        "DEFINE DOWN AS DOWN.v <= PREV(DOWN.v), UP AS UP.v > PREV(UP.v)",
    ),
    Pattern("A+ C | B", f"PATTERN (A+ C | B) {DEFINE}", expected=1),
    Pattern("A+? C", f"PATTERN (A+? C) {DEFINE.replace(' B AS v > 0,', '')}"),
    Pattern("A+ B+ C", f"PATTERN (A+ B+ C) {DEFINE}"),
    Pattern("(A | B)+ C", f"PATTERN ((A | B)+ C) WITHIN 10 SECONDS {DEFINE}"),
    Pattern("(A B)+ C", f"PATTERN ((A B)+ C) {DEFINE}"),
    Pattern("A{2,5} B* C", f"PATTERN (A{{2,5}} B* C) {DEFINE}"),
    Pattern("to next", f"AFTER MATCH SKIP TO NEXT ROW PATTERN (A B+ C) {DEFINE}"),
    Pattern("some C", f"PATTERN (A B* C) WITHIN 10 MINUTES {DEFINE}", 50, "aa*c"),
    Pattern("some C | A", f"PATTERN (A B+ C C | A) {DEFINE}", 50, "aa+cc|a"),
)


@dataclass(frozen=True)
class Side:
    """Rows, how many are pushed at a time, and what the time is multiplied by."""

    rows: pl.DataFrame
    block: int
    factor: int = 1


def cases(quick: bool) -> Iterator[Case]:
    count = 100_000 if quick else 1_000_000
    for name, sides in (("one-key", one_key), ("linear", linear)):
        ratios = {pattern: ratio(pattern, *sides(pattern, count)) for pattern in PATTERNS}
        worst = min(PATTERNS, key=ratios.__getitem__)
        ours, rival = sides(worst, count)
        yield Case(
            name,
            ours=partial(run, worst, ours),
            rival=partial(run, worst, rival),
            rival_name=f"{KEYS:,} keys" if name == "one-key" else "10 times a tenth",
            repeats=3,
            warm_up=0,
            ours_io=IO,
            rival_io=IO,
            extra={
                "rows": count,
                "pattern": worst.name,
                "all": ", ".join(f"{each.name}: {ratios[each]:.2f}" for each in PATTERNS),
            },
        )


def ratio(pattern: Pattern, ours: Side, rival: Side) -> float:
    return run(pattern, rival).seconds / run(pattern, ours).seconds


def one_key(pattern: Pattern, count: int) -> tuple[Side, Side]:
    one, many = (rows_of(pattern, count, keys) for keys in (1, KEYS))
    return Side(one, count), Side(many, count)


def linear(pattern: Pattern, count: int) -> tuple[Side, Side]:
    rows, block = rows_of(pattern, count, 1), count // 100
    return Side(rows, block), Side(rows[: count // 10], block, 10)


def rows_of(pattern: Pattern, count: int, keys: int) -> pl.DataFrame:
    """The rows of a pattern: the same, whatever the number of keys."""
    values = np.ones(count, dtype=np.int64)
    if pattern.ends:
        values[np.random.default_rng(7).integers(0, pattern.ends, count) == 0] = -1
    ts = pl.Series("ts", START + STEP * np.arange(count)).cast(pl.Datetime("us"))
    return pl.DataFrame({"k": np.arange(count) % keys, "v": values, "ts": ts})


def run(pattern: Pattern, side: Side) -> Timed:
    """What is wrong, if anything, and the seconds that it took."""
    engine = LocalEngine(max_results=side.rows.height)
    engine.sql(STREAM)
    query = engine.sql(
        "SELECT t, n FROM s MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts "
        f"MEASURES LAST(ts) AS t, count(*) AS n {pattern.clause})"
    )
    began = perf_counter()
    for start in range(0, side.rows.height, side.block):
        engine.push("s", side.rows[start : start + side.block])
    engine.finish()
    seconds = perf_counter() - began
    wanted = matches(pattern, side.rows)
    if query.status.rows != wanted:
        raise AssertionError(f"{pattern.name}: {query.status.rows} matches, not {wanted}")
    return Timed(None, side.factor * seconds)


def matches(pattern: Pattern, rows: pl.DataFrame) -> int:
    """How many matches there must be."""
    if isinstance(pattern.expected, int):
        return pattern.expected * rows.height
    letters = np.where(rows["v"].to_numpy() < 0, b"c", b"a")
    keys: npt.NDArray[np.int64] = rows["k"].to_numpy()
    order = np.argsort(keys, kind="stable")
    parts = np.split(letters[order], np.flatnonzero(np.diff(keys[order])) + 1)
    found = (re.findall(pattern.expected, part.tobytes().decode()) for part in parts)
    return sum(map(len, found))
