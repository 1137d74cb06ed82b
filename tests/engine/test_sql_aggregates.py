"""Aggregates written in SQL: what they give, and which of them merge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from penstock import LocalEngine
from penstock.errors import DuplicateName, PenstockError, SyntaxFault, UnknownName
from penstock.model.user_defined import UserAggregate
from penstock.oracle.evaluate import evaluate
from tests.engine.baselines import BaselineEngine
from tests.engine.running import AGGREGATIONS
from tests.engine.test_user_aggregates import WINDOWS, rows_of

STREAM = "CREATE STREAM s (k STRING, v INT, ts BIGINT) TIMESTAMP BY ts SLACK 5"

AVG = """
CREATE AGGREGATE s_avg(next INT) RETURNS DOUBLE {
    TABLE state (total BIGINT, n BIGINT);
    INITIALIZE: { INSERT INTO state VALUES (next, 1); }
    ITERATE: { UPDATE state SET total = total + next, n = n + 1; }
    TERMINATE: { INSERT INTO RETURN SELECT total / n FROM state; }
    EXPIRE: { UPDATE state SET total = total - next, n = n - 1; }
};
"""
OTHERS = """
CREATE AGGREGATE s_min(next INT) RETURNS INT {
    TABLE state (low INT);
    INITIALIZE: INSERT INTO state VALUES (next);
    ITERATE: UPDATE state SET low = CASE WHEN next < low THEN next ELSE low END;
    TERMINATE: INSERT INTO RETURN SELECT low FROM state
};
CREATE AGGREGATE s_sum(next INT) RETURNS BIGINT {
    TABLE state (total BIGINT);
    INITIALIZE: INSERT INTO state VALUES (0); UPDATE state SET total = next;
    ITERATE: UPDATE state SET total = total + next;
    TERMINATE: INSERT INTO RETURN SELECT total FROM state;
};
CREATE AGGREGATE s_distinct(next INT) RETURNS BIGINT {
    TABLE seen (x INT, n BIGINT);
    TABLE known (c BIGINT);
    INITIALIZE: INSERT INTO seen VALUES (next, 1);
    ITERATE: {
        DELETE FROM known;
        INSERT INTO known SELECT count(*) FROM seen WHERE x = next;
        UPDATE seen SET n = n + 1 WHERE x = next;
        INSERT INTO seen SELECT next, 1 FROM known WHERE c = 0;
    }
    TERMINATE: INSERT INTO RETURN SELECT count(*) FROM seen WHERE n > 0;
};
"""
SAME_AS = {
    "s_avg": "avg(v)",
    "s_min": "min(v)",
    "s_sum": "sum(v)",
    "s_distinct": "nullif(count(DISTINCT v), 0)",
}


def query(window: str, names: Sequence[str] = tuple(SAME_AS)) -> str:
    pairs = ", ".join(f"{n}(v) AS {n}, {SAME_AS[n]} AS b_{n}" for n in names)
    ends = ", window_start, window_end" if "TABLE" in window else ""
    return f"SELECT k, {pairs} FROM {window} GROUP BY k{ends}"


def declared(engine: LocalEngine, name: str) -> UserAggregate:
    found = engine.catalog.function(name)
    assert isinstance(found, UserAggregate)
    return found


@pytest.mark.parametrize("window", WINDOWS)
def test_they_give_what_is_built_in_by_every_algorithm(window: str) -> None:
    engine = BaselineEngine()
    engine.sql(STREAM + ";" + AVG + OTHERS)
    hows = AGGREGATIONS if window in WINDOWS[:1] else ("auto",)
    for number, how in enumerate(hows):
        engine.choose(how)
        engine.sql(f"CREATE QUERY all_{number} AS {query(window)}")
        engine.sql(f"CREATE QUERY avg_{number} AS {query(window, ['s_avg'])}")
    for rows in rows_of(len(window), batches=3):
        engine.push("s", rows)
    engine.finish()
    for each in engine.catalog.queries:
        answers = engine.query(each.name).results()
        assert answers.height
        for name in SAME_AS:
            if name in answers.columns:
                assert answers[name].to_list() == answers[f"b_{name}"].to_list(), name


def test_the_oracle_runs_them_row_by_row() -> None:
    engine = LocalEngine()
    engine.sql(STREAM + ";" + AVG + OTHERS)
    q = engine.sql(query(WINDOWS[0]))
    rows = [row for part in rows_of(2, batches=2) for row in part]
    rows.sort(key=lambda row: row["ts"])
    engine.push("s", rows)
    engine.finish()
    entry = engine.catalog.queries[0]
    right = evaluate(entry.plan, {"s": rows})
    found: list[dict[str, Any]] = q.results().to_dicts()
    assert sorted(map(str, found)) == sorted(map(str, right))


def test_what_adds_up_is_folded() -> None:
    engine = LocalEngine()
    engine.sql(AVG + OTHERS)
    found = [declared(engine, name) for name in SAME_AS]
    assert {each.name: (each.merges, each.subtracts) for each in found} == {
        "s_avg": (True, True),
        "s_min": (True, False),
        "s_sum": (False, False),
        "s_distinct": (False, False),
    }
    assert "in SQL, merges and subtracts" in engine.sql("SHOW FUNCTIONS")
    text = engine.sql("DESCRIBE s_avg")
    assert "keeps  total BIGINT, n BIGINT" in text
    assert "CREATE AGGREGATE s_avg(next INT) RETURNS DOUBLE {" in text


@pytest.mark.parametrize(
    ("initialize", "iterate"),
    [
        ("VALUES (0)", "total = total + next"),  # leaves the first row out
        ("VALUES (next)", "total = total - next"),
        ("VALUES (next)", "total = total + 1"),
        ("VALUES (next / 2)", "total = total + next / 2"),  # rounded at every step
        ("VALUES (next)", "total = total + next WHERE next > 3"),
    ],
)
def test_what_does_not_add_up_is_run_as_it_is_written(initialize: str, iterate: str) -> None:
    engine = LocalEngine()
    engine.sql(
        "CREATE AGGREGATE a(next INT) RETURNS BIGINT { TABLE t (total BIGINT);"
        f"INITIALIZE: INSERT INTO t {initialize}; ITERATE: UPDATE t SET {iterate};"
        "TERMINATE: INSERT INTO RETURN SELECT total FROM t }"
    )
    assert not declared(engine, "a").merges


@pytest.mark.parametrize(
    ("body", "error", "message"),
    [
        ("ITERATE: DELETE FROM t", SyntaxFault, "has no INITIALIZE"),
        ("INITIALIZE: DROP t", SyntaxFault, "expected INSERT INTO or UPDATE or DELETE FROM"),
        (
            "INITIALIZE: DELETE FROM u; ITERATE: DELETE FROM t; TERMINATE: DELETE FROM t",
            UnknownName,
            "no local table `u`",
        ),
        (
            "INITIALIZE: DELETE FROM t; ITERATE: UPDATE t SET y = 1; TERMINATE: DELETE FROM t",
            UnknownName,
            "no column `y` in table `t`",
        ),
        (
            "INITIALIZE: DELETE FROM t; ITERATE: DELETE FROM t; TERMINATE: DELETE FROM t",
            SyntaxFault,
            "gives no result",
        ),
        (
            "INITIALIZE: INSERT INTO t VALUES (1, 2); ITERATE: DELETE FROM t; "
            "TERMINATE: DELETE FROM t",
            SyntaxFault,
            "has 2 values for 1 columns",
        ),
    ],
)
def test_what_cannot_be_understood_is_said(
    body: str, error: type[PenstockError], message: str
) -> None:
    engine = LocalEngine()
    with pytest.raises(error, match=message):
        engine.sql(f"CREATE AGGREGATE a(next INT) RETURNS INT {{ TABLE t (x INT); {body} }}")


def test_a_name_means_one_thing() -> None:
    engine = LocalEngine()
    with pytest.raises(DuplicateName, match="`next` is an argument of `a` already"):
        engine.sql(
            "CREATE AGGREGATE a(next INT) RETURNS INT { TABLE t (next INT); INITIALIZE: DELETE "
            "FROM t; ITERATE: DELETE FROM t; TERMINATE: DELETE FROM t }"
        )
    engine.sql(AVG)
    with pytest.raises(DuplicateName, match="`s_avg` exists already"):
        engine.sql(AVG)
    engine.sql(AVG.replace("CREATE", "CREATE OR REPLACE"))


def test_a_query_that_runs_gets_statements_that_are_replaced() -> None:
    engine = LocalEngine()
    engine.sql(STREAM + ";" + AVG)
    q = engine.sql("SELECT s_avg(v) AS a FROM s [RANGE 10]")
    engine.push("s", [{"k": "a", "v": 4, "ts": 1}])
    engine.sql(AVG.replace("CREATE", "CREATE OR REPLACE").replace("total / n", "total / n + 1000"))
    engine.push("s", [{"k": "a", "v": 6, "ts": 2}])
    engine.finish()
    assert q.results()["a"].to_list() == [1005.0]
