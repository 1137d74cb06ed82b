"""Queries that hints print instead of others give the others' answers, as DuckDB computes them."""

from __future__ import annotations

import duckdb
import polars as pl
import pytest

from penstock import LocalEngine
from penstock.errors import QueryError
from penstock.model.timestamps import SECOND
from tests.ticks import push_ticks

STREAM = "CREATE STREAM {} (k STRING, v INT, ts TIMESTAMP) TIMESTAMP BY ts;"
ROWS = {
    # Rows of `b` come twice and three times, and all lie within ten minutes.
    "a": [("x", 1, 1), ("y", 2, 2), ("x", 3, 5), ("z", 4, 9), ("y", 5, 12)],
    "b": [("x", 3, 1), ("x", 1, 3), ("y", 7, 4), ("x", 1, 8), ("y", 0, 11)],
}
WAYS = (
    "SELECT k, v FROM a WHERE k IN (SELECT k FROM b)",
    "SELECT k, v FROM a WHERE k IN (SELECT k FROM b WHERE v > 1 OR v < 1) AND v < 5",
    "SELECT k, v FROM a WHERE v BETWEEN 1 AND 4 AND k NOT IN (SELECT k FROM b WHERE b.v = a.v)",
    "SELECT k, v FROM a WHERE NOT (k IN (SELECT k FROM b))",
    "SELECT v FROM a AS o WHERE EXISTS (SELECT 1 FROM b AS i WHERE i.k = o.k AND i.v = o.v)",
    "SELECT v FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k AND b.v > a.v)",
    "SELECT k, v FROM a WHERE (k, v) IN (SELECT k, v FROM b)",
    "SELECT k, v FROM a WHERE k IN (SELECT k FROM b) AND v NOT IN (SELECT v FROM b)",
    "SELECT DISTINCT k FROM b",
    "SELECT DISTINCT k, v % 2 AS odd FROM b WHERE v > 0",
    "SELECT k, v - LAG(v) OVER (PARTITION BY k ORDER BY ts) AS d FROM a",
    "SELECT k, v, LAG(v, 2) OVER (ORDER BY ts) AS d FROM a WHERE v <> 2",
    "SELECT v, ROW_NUMBER() OVER (ORDER BY ts) AS n FROM a",
    "SELECT a.v AS v, b.v AS w FROM a ASOF JOIN b ON a.k = b.k AND a.ts >= b.ts",
    "SELECT a.v AS v, b.v AS w FROM a ASOF JOIN b ON a.k = b.k AND a.ts >= b.ts WHERE a.v > 2",
)


@pytest.mark.parametrize("text", WAYS)
def test_a_query_that_a_hint_prints_gives_the_same_rows(text: str) -> None:
    engine = LocalEngine()
    engine.sql("".join(map(STREAM.format, ROWS)))
    with pytest.raises(QueryError) as refused:
        engine.sql(text)
    [instead] = refused.value.instead
    assert refused.value.hint is not None and refused.value.hint.endswith(instead)
    query = engine.sql(instead)
    for name, rows in ROWS.items():
        push_ticks(engine, name, [{"k": k, "v": v, "ts": s * SECOND} for k, v, s in rows])
    engine.finish()
    with duckdb.connect() as connection:
        for name, rows in ROWS.items():
            frame = pl.DataFrame(rows, schema=["k", "v", "ts"], orient="row")
            connection.register(name, frame.to_arrow())
        found = connection.execute(text)
        columns = [column[0] for column in found.description]
        expected = found.fetchall()
    assert sorted(query.results().select(columns).rows(), key=str) == sorted(expected, key=str)
