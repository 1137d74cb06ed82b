"""MATCH_RECOGNIZE as Flink's documentation shows it, with the answers that it gives there."""

from __future__ import annotations

from typing import Any

from penstock import LocalEngine

TICKER = (
    "CREATE STREAM Ticker (symbol STRING, rowtime BIGINT, price BIGINT, tax BIGINT) "
    "TIMESTAMP BY rowtime"
)


def answers(clauses: str, prices: list[int]) -> list[tuple[Any, ...]]:
    engine = LocalEngine()
    engine.sql(TICKER)
    query = engine.sql(f"SELECT * FROM Ticker MATCH_RECOGNIZE ({clauses}) MR")
    rows = [
        {"symbol": "ACME", "rowtime": second, "price": price, "tax": 1}
        for second, price in enumerate(prices)
    ]
    engine.push("Ticker", rows)
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
