"""Functions of users in expressions, and what happens when code of users fails."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import polars as pl
import pytest

from penstock import LocalEngine
from penstock.errors import SyntaxFault, TypeMismatch, UnknownName, UserCodeError
from penstock.oracle.evaluate import evaluate
from tests.engine.user_aggregates import Sum

STREAM = "CREATE STREAM s (k STRING, v INT, ts BIGINT) TIMESTAMP BY ts"


def engine_of() -> LocalEngine:
    engine = LocalEngine()
    engine.sql(STREAM)
    return engine


def test_they_are_used_wherever_an_expression_stands() -> None:
    engine = engine_of()

    def shout(text: str) -> str:
        return text.upper() + "!"

    engine.function("shout", shout)
    engine.function("half", lambda x: x // 2, arguments="x BIGINT", returns="BIGINT")
    engine.function("odd", lambda x: x % 2 == 1, returns="BOOLEAN", vectorised=True)
    engine.sql("CREATE STREAM t (k STRING, ts BIGINT) TIMESTAMP BY ts")
    engine.sql("CREATE QUERY a AS SELECT shout(k) AS x, half(v) + 1 AS y, ts FROM s WHERE odd(v)")
    engine.sql("CREATE QUERY b AS SELECT half(v) AS h, count(*) AS n FROM s [RANGE 10] GROUP BY h")
    engine.sql(
        "CREATE QUERY c AS SELECT s.v, t.ts FROM s [RANGE 5] JOIN t [RANGE 5] "
        "ON shout(s.k) = shout(t.k)"
    )
    rows = [("a", 1, 1), ("b", 2, 2), (None, 3, 3), ("a", None, 4)]
    engine.push("s", [dict(zip(("k", "v", "ts"), row, strict=True)) for row in rows])
    engine.push("t", [{"k": "a", "ts": 3}])
    engine.finish()
    a, b, c = (engine.query(name).results() for name in "abc")
    assert a.rows() == [("A!", 1, 1), (None, 2, 3)]
    assert sorted(b.select("h", "n").rows(), key=str) == [(0, 1), (1, 2), (None, 1)]
    assert sorted(c.rows(), key=str) == [(1, 3), (None, 3)]


def test_times_are_pythons() -> None:
    engine = LocalEngine()
    engine.sql("CREATE STREAM s (d DATE, ts TIMESTAMP) TIMESTAMP BY ts")
    engine.function(
        "later",
        lambda at, day: at + timedelta(days=day.day),
        arguments="at TIMESTAMP, day DATE",
        returns="TIMESTAMP",
    )
    q = engine.sql("SELECT later(ts, d) AS x, ts FROM s")
    engine.push("s", [{"d": datetime(2026, 1, 2).date(), "ts": datetime(2026, 1, 1, 5)}])
    assert q.results()["x"].to_list() == [datetime(2026, 1, 3, 5)]


def test_nulls_are_left_out_unless_asked_for() -> None:
    engine = engine_of()
    engine.function("plus", lambda a, b: a + b, returns="INT")
    engine.function("either", lambda a, b: a if b is None else b, returns="INT", nulls=True)
    q = engine.sql("SELECT plus(v, 1) AS p, either(7, v) AS e, plus(2, 3) AS five, ts FROM s")
    engine.push("s", [{"k": "a", "v": v, "ts": 1} for v in (None, 4)])
    assert q.results().select("p", "e", "five").rows() == [(None, 7, 5), (5, 4, 5)]


@pytest.mark.parametrize("vectorised", [True, False])
def test_a_function_that_fails_names_the_row(vectorised: bool) -> None:
    engine = engine_of()

    def careful(v: Any) -> Any:
        if (vectorised and (v == 13).any()) or (not vectorised and v == 13):
            raise ValueError("unlucky")
        return v

    engine.function("careful", careful, returns="INT", vectorised=vectorised)
    q = engine.sql("SELECT careful(v) AS v, ts FROM s")
    with pytest.raises(
        UserCodeError, match=r"function `careful` failed on the row v = 13: ValueError: unlucky"
    ):
        engine.push("s", [{"k": "a", "v": v, "ts": v} for v in range(1, 30)])
    engine.push("s", [{"k": "a", "v": v, "ts": v} for v in range(1, 12)])
    assert q.results()["v"].to_list() == list(range(1, 12))


def test_what_it_gives_must_be_what_it_declares() -> None:
    engine = engine_of()
    engine.function("words", lambda v: "many", arguments="v INT", returns="INT")
    engine.sql("SELECT words(v) AS v, ts FROM s")
    with pytest.raises(UserCodeError, match=r"function `words` gave what is not INT: .*many"):
        engine.push("s", [{"k": "a", "v": 1, "ts": 1}])


class Fussy(Sum):
    """Cannot add 13, merge beyond 1000 or tell of 500."""

    def add(self, state: Any, x: int) -> Any:
        if x == 13:
            raise ZeroDivisionError("no 13")
        return super().add(state, x)

    def merge(self, state: Any, other: Any) -> Any:
        if state + other > 1000:
            raise ValueError("too much")
        return super().merge(state, other)

    def result(self, state: Any) -> Any:
        if state == 500:
            raise ValueError("no 500")
        return state


@pytest.mark.parametrize("how", ["wid", "paned", "two_level"])
def test_a_batch_that_fails_leaves_everything_as_it_was(how: str) -> None:
    engine, other = engine_of(), engine_of()
    for each, code in ((engine, Fussy), (other, Sum)):
        each.aggregate("total", code, arguments="x BIGINT", returns="BIGINT")
        each.sql(f"SET aggregation = {how}")
        each.sql(
            "CREATE QUERY q AS SELECT k, total(v) AS t, count(*) AS n FROM s [RANGE 10, SLIDE 5] "
            "GROUP BY k; CREATE QUERY p AS SELECT k, ts FROM s"
        )
    good = [[{"k": "a", "v": 7 * n, "ts": 4 * n}] for n in range(2, 9)]
    bad = [{"k": "a", "v": 1, "ts": 40}, {"k": "b", "v": 13, "ts": 40}]
    for number, rows in enumerate(good):
        if number == 3:
            with pytest.raises(UserCodeError, match="aggregate `total` failed in `add` on the row"):
                engine.push("s", bad)
        if number == 4:
            with pytest.raises(UserCodeError):
                engine.push("s", [{"k": "z", "v": 500, "ts": 500}, {"k": "z", "v": 0, "ts": 600}])
                engine.push("s", [{"k": "z", "v": 0, "ts": 700}])
        for each in (engine, other):
            each.push("s", rows)
    for each in (engine, other):
        each.finish()
    for name in "qp":
        one, two = (each.query(name).results() for each in (engine, other))
        assert one.sort(one.columns).equals(two.sort(two.columns)), name


def test_a_function_that_is_mended_goes_on_with_what_was_kept() -> None:
    engine = engine_of()
    engine.aggregate("total", Fussy, arguments="x BIGINT", returns="BIGINT")
    engine.function("careful", lambda x: 1 // (x - 3) * 0 + x, returns="INT")
    q = engine.sql("SELECT total(careful(v)) AS t FROM s [RANGE 10]")
    engine.push("s", [{"k": "a", "v": 5, "ts": 1}])
    for rows in ([{"k": "a", "v": 13, "ts": 2}], [{"k": "a", "v": 3, "ts": 2}]):
        with pytest.raises(UserCodeError):
            engine.push("s", rows)
    engine.aggregate("total", Sum, arguments="x BIGINT", returns="BIGINT", replace=True)
    engine.function("careful", lambda x: x, returns="INT", replace=True)
    engine.push("s", [{"k": "a", "v": v, "ts": 2} for v in (13, 3)])
    engine.finish()
    assert q.results()["t"].to_list() == [21]


def test_what_cannot_be_called_is_said() -> None:
    engine = engine_of()
    with pytest.raises(SyntaxFault, match="does not say what it gives"):
        engine.function("f", lambda x: x)
    with pytest.raises(SyntaxFault, match="how many values"):
        engine.function("f", lambda *x: x, returns="INT")
    engine.function("f", lambda x: x, arguments="x STRING", returns="STRING")
    with pytest.raises(TypeMismatch, match="`f` cannot take INT"):
        engine.sql("SELECT f(v) AS x, ts FROM s")
    engine.sql("DROP FUNCTION f")
    with pytest.raises(UnknownName, match="no function `f`"):
        engine.sql("SELECT f(k) AS x, ts FROM s")


def test_they_are_used_in_matches() -> None:
    engine = engine_of()
    engine.function("twice", lambda x: 2 * x, arguments="x INT", returns="INT")
    engine.aggregate("total", Sum, arguments="x BIGINT", returns="BIGINT")
    q = engine.sql(
        "SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts "
        "MEASURES LAST(twice(B.v)) AS x, total(B.v) AS y, A.ts AS t "
        "ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (A B+) "
        "DEFINE A AS twice(v) > 2, B AS twice(v) > twice(A.v))"
    )
    rows = [{"k": "a", "v": v, "ts": n} for n, v in enumerate((1, 2, 3, 4, 1, 5, 6, 0))]
    engine.push("s", rows)
    engine.finish()
    assert q.results().rows() == [("a", 8, 7, 1), ("a", 12, 6, 5)]
    right = evaluate(engine.catalog.queries[0].plan, {"s": rows})
    assert [tuple(row.values()) for row in right] == q.results().rows()


def test_columns_are_polars() -> None:
    engine = engine_of()

    def clipped(v: pl.Series) -> pl.Series:
        return v.clip(0, 5)

    engine.function("clipped", clipped, arguments="v INT", returns="INT", vectorised=True)
    q = engine.sql("SELECT clipped(v) AS v, ts FROM s")
    engine.push("s", [{"k": "a", "v": v, "ts": 1} for v in (-3, 3, None, 9)])
    assert q.results()["v"].to_list() == [0, 3, None, 5]


def test_an_error_of_a_function_has_nothing_of_polars_behind_it() -> None:
    engine = LocalEngine()
    engine.function("bad", lambda k: 1 // 0, arguments="k BIGINT", returns="BIGINT")
    engine.sql("CREATE STREAM s (k BIGINT); CREATE QUERY q AS SELECT bad(k) AS b FROM s")
    with pytest.raises(UserCodeError) as caught:
        engine.push("s", [{"k": 1}])
    assert caught.value.message.endswith(
        "k = 1: ZeroDivisionError: integer division or modulo by zero"
    )
    assert str(caught.value).splitlines()[1:] == [f"  {caught.value.hint}"]
