"""Random queries against DuckDB: two texts that mean the same, written side by side.

Neither our parser nor our plans nor the reference evaluator has a part in what DuckDB is asked, so
this finds what all of these have wrong alike. Streams have NULLs, rows that come twice, and rows
out of order by no more than their slack; they are pushed in blocks of 1 to 1,000 rows.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import isclose
from typing import Any

import duckdb
import polars as pl
import pytest

from penstock import LocalEngine
from penstock.model.timestamps import SECOND
from tests.engine.draw import seeds

#: Cases of one seed.
CASES = 10
START = 1_767_225_600 * SECOND  # 2026-01-01
SLACK = 4
SCHEMA = {"k": pl.String(), "v": pl.Int32(), "d": pl.Float64(), "ts": pl.Int64()}

Draw = random.Random


@dataclass(frozen=True)
class Asked:
    """One question in both languages."""

    ours: str
    theirs: str


def rows_of(draw: Draw) -> pl.DataFrame:
    """Rows in the order of arrival."""
    now, rows = START + draw.randrange(60) * SECOND, []
    step = draw.choice([100_000, SECOND, 3 * SECOND])
    for _ in range(draw.choice([3, 20, 120])):
        now += draw.randrange(step)
        row = {
            "k": draw.choice(["x", "y", "z", None]),
            "v": draw.choice([None, *range(-3, 9)]),
            "d": draw.choice([None, *(n / 4 for n in range(-4, 8))]),
            "ts": now - draw.choice([0, 0, draw.randrange(SLACK * SECOND)]),
        }
        rows += [row] * draw.choice([1, 1, 1, 2])
    return pl.DataFrame(rows, schema=SCHEMA)


# -- questions ------------------------------------------------------------------------------------

AGGREGATES = {
    "count(*)": "count(*)",
    "count(v)": "count(v)",
    "sum(v)": "sum(v)::BIGINT",
    "sum(d)": "sum(d)",
    "min(d)": "min(d)",
    "max(v)": "max(v)",
    "min(k)": "min(k)",
    "avg(v)": "avg(v)",
    "stddev_pop(d)": "stddev_pop(d)",
    "count(DISTINCT v)": "count(DISTINCT v)",
    "sum(v) FILTER (WHERE d > 0)": "(sum(v) FILTER (WHERE d > 0))::BIGINT",
    "max(CASE WHEN v > 2 THEN k END)": "max(CASE WHEN v > 2 THEN k END)",
}
CONDITIONS = ("v > 1", "k = 'x' OR v < 3", "k IS NOT NULL AND d >= -0.5", "NOT (k = 'y')")


def aggregates(draw: Draw) -> tuple[str, str]:
    names = draw.sample(sorted(AGGREGATES), draw.randint(1, 4))
    return (
        ", ".join(f"{name} AS c{n}" for n, name in enumerate(names)),
        ", ".join(f"{AGGREGATES[name]} AS c{n}" for n, name in enumerate(names)),
    )


def source(draw: Draw) -> str:
    """What rows are read of; the same in both languages."""
    union = "SELECT k, v, d, ts FROM a UNION ALL SELECT k, v, d, ts FROM b"
    return draw.choice(
        ["a", "a", f"(SELECT * FROM a WHERE {draw.choice(CONDITIONS)})", f"({union})"]
    )


def grouped(draw: Draw) -> tuple[str, str, str]:
    """A key in front of aggregates, in GROUP BY alone, and in front of other keys of GROUP BY."""
    if draw.random() < 0.3:
        return "", "", ""
    key = draw.choice(["k", "k", "v % 3"])
    return f"{key} AS g, ", f" GROUP BY {key}", f"{key}, "


def ends(slide: int, on: str, rows: str) -> str:
    """All ends of windows that a row may lie in."""
    low, high = (f"(SELECT {which}({on}) FROM {rows}) // {slide}" for which in ("min", "max"))
    return f"(SELECT unnest(generate_series({low}, {high} + 60)) * {slide} AS e)"


def sliding(draw: Draw) -> Asked:
    ours, theirs = aggregates(draw)
    rows, (key, by, keys) = source(draw), grouped(draw)
    slide = draw.choice([1, 2, 5, 7])
    length = draw.choice([slide, slide * 2, slide * 3, 12, 1])
    window = draw.choice(
        [f"[RANGE {length} SECONDS SLIDE {slide} SECONDS]"]
        + ([f"[RANGE TUMBLING {length} SECONDS]"] if length == slide else [])
    )
    r, s = length * SECOND, slide * SECOND
    return Asked(
        f"SELECT {key}{ours} FROM {rows} {window}{by}",
        f"SELECT {key}{theirs}, e - {r}, e FROM {rows}, {ends(s, 'ts', rows)} "
        f"WHERE ts >= e - {r} AND ts < e GROUP BY {keys}e",
    )


def counting_rows(draw: Draw) -> Asked:
    ours, theirs = aggregates(draw)
    slide = draw.choice([1, 3, 10])
    length = draw.choice([slide, slide + 1, slide * 4])
    return Asked(
        f"SELECT {ours} FROM a [RANGE {length} ROWS SLIDE {slide} ROWS]",
        # A window ends with every n-th row; the last SLIDE of each has a row.
        f"SELECT {theirs}, e + 1 - {length}, e + 1 FROM a, {ends(slide, 'n', 'a')} "
        f"WHERE n > e - {length} AND n <= e AND e - {slide} < (SELECT max(n) FROM a) GROUP BY e",
    )


def from_the_beginning(draw: Draw) -> Asked:
    """Landmark windows: results for each slide in which rows have come, of all groups so far."""
    ours, theirs = aggregates(draw)
    step = draw.choice([1, 3, 10])
    s = step * SECOND
    came = f"(SELECT DISTINCT (ts // {s} + 1) * {s} AS e FROM a)"
    key, by, keys = grouped(draw)
    return Asked(
        f"SELECT {key}{ours} FROM a [RANGE ALL, SLIDE {step} SECONDS]{by}",
        f"SELECT {key}{theirs}, NULL, e FROM a, {came} WHERE ts < e GROUP BY {keys}e",
    )


def cumulating(draw: Draw) -> Asked:
    ours, theirs = aggregates(draw)
    key, _, keys = grouped(draw)
    step, times = draw.choice([1, 4]), draw.choice([1, 3, 10])
    size, s = step * times * SECOND, step * SECOND
    begins = f"(e - 1) // {size} * {size}"
    return Asked(
        f"SELECT {key}{ours}, window_start, window_end FROM CUMULATE(TABLE a, DESCRIPTOR(ts), "
        f"INTERVAL '{step}' SECOND, INTERVAL '{step * times}' SECOND) "
        f"GROUP BY {keys}window_start, window_end",
        f"SELECT {key}{theirs}, {begins}, e FROM a, {ends(s, 'ts', 'a')} "
        f"WHERE ts >= {begins} AND ts < e GROUP BY {keys}e",
    )


def sessions(draw: Draw) -> Asked:
    ours, theirs = aggregates(draw)
    gap = draw.choice([1, 2, 6])
    g = gap * SECOND
    return Asked(
        f"SELECT k AS g, {ours}, window_start, window_end FROM SESSION(TABLE a PARTITION BY k, "
        f"DESCRIPTOR(ts), INTERVAL '{gap}' SECONDS) GROUP BY k, window_start, window_end",
        f"SELECT k AS g, {theirs}, min(ts), max(ts) + {g} FROM (SELECT *, sum(begins) OVER "
        "(PARTITION BY k ORDER BY ts) AS session FROM (SELECT *, "
        f"(ts - lag(ts) OVER (PARTITION BY k ORDER BY ts) > {g})::INT AS begins FROM a)) "
        "GROUP BY k, coalesce(session, 0)",
    )


def by_minute(draw: Draw) -> Asked:
    ours, theirs = aggregates(draw)
    minute = 60 * SECOND
    return Asked(
        f"SELECT date_trunc('minute', ts) AS m, k, {ours} FROM a GROUP BY m, k",
        f"SELECT ts // {minute} * {minute} AS m, k, {theirs} FROM a GROUP BY m, k",
    )


def nested(draw: Draw) -> Asked:
    slide, length = draw.choice([1, 2]), draw.choice([1, 2, 6])
    outer = draw.choice([6, 10])
    s, r, o = slide * SECOND, length * SECOND, outer * SECOND
    inner = (
        f"(SELECT k, count(*) AS c, sum(v)::BIGINT AS t, e AS w FROM a, {ends(s, 'ts', 'a')} "
        f"WHERE ts >= e - {r} AND ts < e GROUP BY k, e)"
    )
    return Asked(
        f"SELECT max(c) AS c0, sum(t) AS c1 FROM (SELECT k, count(*) AS c, sum(v) AS t FROM a "
        f"[RANGE {length} SECONDS SLIDE {slide} SECONDS] GROUP BY k) "
        f"[RANGE TUMBLING {outer} SECONDS, WA window_end]",
        f"SELECT max(c), sum(t)::BIGINT, w // {o} * {o} AS ws, w // {o} * {o} + {o} AS we "
        f"FROM {inner} GROUP BY ws, we",
    )


def joined(draw: Draw) -> Asked:
    kind = draw.choice(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "SEMI JOIN", "ANTI JOIN"])
    low, high = draw.choice([0, 1, 3]), draw.choice([0, 2, 5])
    more = draw.choice(["", " AND a.v <= b.v"])
    columns = "a.k AS x, a.v AS y, a.ts AS t"
    if kind not in ("SEMI JOIN", "ANTI JOIN"):
        columns += ", b.v AS z, b.ts AS u"
    band = "a.ts BETWEEN b.ts - {} AND b.ts + {}"
    between = band.format(*(f"INTERVAL '{n}' SECOND" for n in (low, high)))
    ours_kind = kind.replace("SEMI", "LEFT SEMI").replace("ANTI", "LEFT ANTI")
    return Asked(
        f"SELECT {columns} FROM a {ours_kind} b ON a.k = b.k AND {between}{more}",
        f"SELECT {columns} FROM a {kind} b ON a.k = b.k AND "
        f"{band.format(low * SECOND, high * SECOND)}{more}",
    )


def aggregate_of_join(draw: Draw) -> Asked:
    near, length = draw.choice([0, 2]), draw.choice([2, 9])
    n, o = near * SECOND, length * SECOND
    columns = "a.k AS k, a.v AS v, b.d AS d, a.ts AS t"
    band = "a.ts BETWEEN b.ts - {0} AND b.ts + {0}"
    of = f"SELECT {columns} FROM a JOIN b ON a.k = b.k AND {band}"
    width = f"INTERVAL '{near}' SECOND"
    return Asked(
        f"SELECT k, count(*) AS c0, sum(v) AS c1, max(d) AS c2 FROM ({of.format(width)}) "
        f"[RANGE TUMBLING {length} SECONDS, WA t] GROUP BY k",
        f"SELECT k, count(*), sum(v)::BIGINT, max(d), t // {o} * {o} AS ws, t // {o} * {o} + {o} "
        f"AS we FROM ({of.format(n)}) GROUP BY k, ws, we",
    )


def rows_alone(draw: Draw) -> Asked:
    columns = "upper(k) AS x, v * 2 - 1 AS y, d / 4 AS z, coalesce(v, 7) AS w, ts AS t"
    text = f"SELECT {columns} FROM {source(draw)} WHERE {draw.choice(CONDITIONS)}"
    return Asked(text, text)


KINDS: Sequence[Callable[[Draw], Asked]] = (
    *(sliding, sliding, counting_rows, from_the_beginning, cumulating, sessions, by_minute, nested),
    *(joined, joined, aggregate_of_join, rows_alone),
)


# -- answers --------------------------------------------------------------------------------------


def ours(draw: Draw, tables: dict[str, pl.DataFrame], text: str) -> list[tuple[Any, ...]]:
    engine = LocalEngine()
    engine.sql(f"SET aggregation = {draw.choice(['auto', 'auto', 'wid', 'paned'])}")
    for name in tables:
        engine.sql(
            f"CREATE STREAM {name} (k STRING, v INT, d DOUBLE, ts TIMESTAMP) "
            f"TIMESTAMP BY ts SLACK {SLACK} SECONDS"
        )
    query = engine.sql(text)
    blocks = [(name, block) for name, rows in tables.items() for block in cut(draw, rows)]
    order = [name for name, _ in blocks]
    draw.shuffle(order)  # of streams; blocks of one stay in their order
    left = {name: iter([block for whose, block in blocks if whose == name]) for name in tables}
    for name in order:
        engine.push(name, next(left[name]))
    engine.finish()
    assert not any(engine.counts(name).late for name in tables)
    results = query.results()
    times = [name for name, of in results.schema.items() if isinstance(of, pl.Datetime)]
    return results.with_columns(pl.col(times).cast(pl.Int64())).rows()


def cut(draw: Draw, rows: pl.DataFrame) -> Iterable[pl.DataFrame]:
    most, start = draw.choice([1, 10, 1000]), 0
    rows = rows.with_columns(pl.col("ts").cast(pl.Datetime("us")))
    while start < rows.height:
        size = draw.randint(1, most)
        yield rows.slice(start, size)
        start += size


def theirs(tables: dict[str, pl.DataFrame], text: str) -> list[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        for name, rows in tables.items():
            numbered = rows.with_row_index("n", 1).with_columns(pl.col("n").cast(pl.Int64()))
            connection.register(f"{name}_rows", numbered.to_arrow())
            connection.execute(f"CREATE VIEW {name} AS SELECT * FROM {name}_rows")
        return connection.execute(text).fetchall()


def same(left: list[tuple[Any, ...]], right: list[tuple[Any, ...]]) -> bool:
    def key(row: tuple[Any, ...]) -> tuple[str, ...]:
        return tuple(f"{each:.6f}" if isinstance(each, float) else str(each) for each in row)

    if Counter(map(len, left)) != Counter(map(len, right)):
        return False
    pairs = zip(sorted(left, key=key), sorted(right, key=key), strict=True)
    return all(
        isclose(one, other, abs_tol=1e-9)
        if isinstance(one, float) and other is not None
        else one == other
        for mine, their in pairs
        for one, other in zip(mine, their, strict=True)
    )


def check(seed: int) -> None:
    draw = random.Random(seed)
    tables = {name: rows_of(draw) for name in "ab"}
    asked = draw.choice(KINDS)(draw)
    found, wanted = ours(draw, tables, asked.ours), theirs(tables, asked.theirs)
    answers = [f"ours:   {sorted(found, key=str)}", f"DuckDB: {sorted(wanted, key=str)}"]
    assert same(found, wanted), "\n".join([f"seed {seed}", asked.ours, asked.theirs, *answers])


@pytest.mark.parametrize("seed", seeds(6, slow=200))
def test_random_queries_give_what_duckdb_gives(seed: int) -> None:
    for case in range(CASES):
        check(seed * CASES + case)
