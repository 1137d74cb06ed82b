"""MATCH_RECOGNIZE as Flink's documentation shows it, with the answers that it gives there."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from penstock import LocalEngine

TICKER = (
    "CREATE STREAM Ticker (symbol STRING, rowtime BIGINT, price BIGINT, tax BIGINT) "
    "TIMESTAMP BY rowtime"
)


def row(second: int, price: int) -> dict[str, Any]:
    return {"symbol": "ACME", "rowtime": second, "price": price, "tax": 1}


def answers(clauses: str, prices: list[int]) -> list[tuple[Any, ...]]:
    engine = LocalEngine()
    engine.sql(TICKER)
    query = engine.sql(f"SELECT * FROM Ticker MATCH_RECOGNIZE ({clauses}) MR")
    engine.push("Ticker", [row(second, price) for second, price in enumerate(prices)])
    engine.finish()
    return query.results().rows()


def test_a_price_that_falls_and_rises() -> None:
    clauses = """
        PARTITION BY symbol
        ORDER BY rowtime
        MEASURES
            START_ROW.rowtime AS start_tstamp,
            LAST(PRICE_DOWN.rowtime) AS bottom_tstamp,
            LAST(PRICE_UP.rowtime) AS end_tstamp
        ONE ROW PER MATCH
        AFTER MATCH SKIP TO LAST PRICE_UP
        PATTERN (START_ROW PRICE_DOWN+ PRICE_UP)
        DEFINE
            PRICE_DOWN AS
                (LAST(PRICE_DOWN.price, 1) IS NULL AND PRICE_DOWN.price < START_ROW.price) OR
                    PRICE_DOWN.price < LAST(PRICE_DOWN.price, 1),
            PRICE_UP AS
                PRICE_UP.price > LAST(PRICE_DOWN.price, 1)
    """
    prices = [12, 17, 19, 21, 25, 18, 15, 14, 24, 25, 19]
    assert answers(clauses, prices) == [("ACME", 4, 7, 8)]


def test_the_longest_time_that_an_average_stays_low() -> None:
    clauses = """
        PARTITION BY symbol
        ORDER BY rowtime
        MEASURES
            FIRST(A.rowtime) AS start_tstamp,
            LAST(A.rowtime) AS end_tstamp,
            AVG(A.price) AS avgPrice
        ONE ROW PER MATCH
        AFTER MATCH SKIP PAST LAST ROW
        PATTERN (A+ B)
        DEFINE
            A AS AVG(A.price) < 15
    """
    prices = [12, 17, 13, 16, 25, 2, 4, 10, 15, 25, 25, 30]
    assert answers(clauses, prices) == [("ACME", 0, 3, 14.5), ("ACME", 5, 10, 13.5)]


GREEDY = (
    "PARTITION BY symbol ORDER BY rowtime MEASURES FIRST(A.rowtime) AS b, LAST(rowtime) AS e, "
    "count(B.*) AS n ONE ROW PER MATCH AFTER MATCH SKIP {} PATTERN (A B{} C) "
    "DEFINE A AS price > 10, B AS price < 15, C AS price > 12"
)


def test_repetitions_are_as_long_or_as_short_as_they_can_be() -> None:
    prices = [11, 12, 13, 14, 16]
    assert answers(GREEDY.format("PAST LAST ROW", "*"), prices) == [("ACME", 0, 4, 3)]
    assert answers(GREEDY.format("PAST LAST ROW", "*?"), prices) == [
        ("ACME", 0, 2, 1),
        ("ACME", 3, 4, 0),
    ]


def test_the_search_goes_on_where_skip_says() -> None:
    prices = [11, 12, 13, 14, 16]
    assert answers(GREEDY.format("TO NEXT ROW", "*"), prices) == [
        ("ACME", 0, 4, 3),
        ("ACME", 1, 4, 2),
        ("ACME", 2, 4, 1),
        ("ACME", 3, 4, 0),
    ]
    assert answers(GREEDY.format("TO FIRST C", "*"), prices) == [("ACME", 0, 4, 3)]
    assert answers(GREEDY.format("TO LAST B", "*"), prices) == [
        ("ACME", 0, 4, 3),
        ("ACME", 3, 4, 0),
    ]
    # Without a B, and with A as its first row, it goes on at the next row.
    assert answers(GREEDY.format("TO FIRST B", "{0,1}"), prices) == [
        ("ACME", 0, 2, 1),
        ("ACME", 1, 3, 1),
        ("ACME", 2, 4, 1),
        ("ACME", 3, 4, 0),
    ]


RISING = (
    "SELECT * FROM Ticker MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY rowtime "
    "MEASURES count(*) AS n PATTERN (A+ C) DEFINE A AS A.price >= FIRST(price), C AS price < 0)"
)


def test_an_attempt_that_depends_on_the_match_takes_match_rows_at_most(
    caplog: pytest.LogCaptureFixture,
) -> None:
    engine = LocalEngine()
    engine.sql(TICKER)
    engine.sql("SET match_rows = 100")
    query = engine.sql(RISING)
    assert "at most 100 rows of a match (match_rows)" in str(engine.sql(f"EXPLAIN {RISING}"))
    with caplog.at_level(logging.WARNING, logger="penstock"):
        for second in range(0, 1_000, 10):
            engine.push("Ticker", [row(second + n, 7) for n in range(10)])
    assert len([each for each in caplog.messages if "match_rows" in each]) == 1
    assert query.status.ended_attempts == engine.status().operators[0].ended_attempts == 900
    assert query.status.state_rows == 100
    engine.push("Ticker", [row(1_000, -1)])
    engine.finish()
    assert query.results().rows() == [("ACME", 100)]


def test_nothing_ends_attempts_whose_conditions_look_at_rows() -> None:
    engine = LocalEngine()
    engine.sql(TICKER)
    engine.sql("SET match_rows = 100")
    query = engine.sql(RISING.replace("FIRST(price)", "0"))
    prices = [1] * 20_000 + [-1]
    engine.push("Ticker", [row(second, price) for second, price in enumerate(prices)])
    engine.finish()
    assert query.results().rows() == [("ACME", 20_001)]
    assert query.status.ended_attempts == 0
