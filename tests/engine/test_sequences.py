"""Sequences: what the specification tells of cases and products, and what is kept for it."""

from __future__ import annotations

import pytest

from penstock.errors import QueryError
from penstock.kernel.joins.sequences import earlier_rows
from penstock.local.engine import LocalEngine

STREAMS = """
    CREATE STREAM cases (tag STRING, line INT, ts BIGINT) TIMESTAMP BY ts SLACK 5;
    CREATE STREAM products (tag STRING, line INT, ts BIGINT) TIMESTAMP BY ts SLACK 5;
"""
PAIRS = "SELECT c.tag AS packed_in, p.tag AS product FROM SEQ(cases AS c, products AS p)"


def reading(tag: str, ts: int, line: int = 1) -> dict[str, object]:
    return {"tag": tag, "line": line, "ts": ts}


def stored(engine: LocalEngine, table: str) -> int:
    return sum(rows for _, name, rows, _ in engine.state() if name == table)


def test_a_product_is_in_the_latest_case_before_it_also_if_it_arrives_first() -> None:
    engine = LocalEngine()
    engine.sql(STREAMS)
    packed = engine.sql(f"{PAIRS} MODE RECENT")
    engine.push("cases", [reading("case-1", 10)])
    engine.push("products", [reading("lamp", 14), reading("book", 12)])
    assert packed.fetch().is_empty()
    blockers = packed.why()
    assert [(fact.stream, fact.holds, fact.needed) for fact in blockers.inputs] == [
        ("cases", True, "13"),
        ("products", False, ""),
    ]
    engine.push("cases", [reading("case-2", 13), reading("case-3", 18)])  # its case, and the next
    assert packed.fetch().rows() == [("case-1", "book")]
    engine.push("cases", [reading("case-4", 20)])
    assert packed.fetch().rows() == [("case-2", "lamp")]


def test_of_cases_that_are_passed_only_the_latest_of_each_line_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(earlier_rows, "LITTLE", 0)
    engine = LocalEngine()
    engine.sql(STREAMS)
    packed = engine.sql(f"{PAIRS} MODE RECENT PARTITION BY line")
    for number in range(200):
        now = [reading(f"case-{number}", 10 * number, number % 3)]
        engine.push("cases", now)
        engine.push("products", [reading(f"product-{number}", 10 * number + 1, number % 3)])
    assert stored(engine, "earlier") <= 2 * 3 + 4
    engine.finish()
    expected = [(f"case-{number}", f"product-{number}") for number in range(200)]
    assert packed.results().rows() == expected
    assert stored(engine, "earlier") == 0


def test_a_case_that_was_used_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(earlier_rows, "LITTLE", 0)
    engine = LocalEngine()
    engine.sql(STREAMS)
    gone = engine.sql(f"{PAIRS} MODE CHRONICLE PARTITION BY line")
    for number in range(100):
        engine.push("cases", [reading(f"case-{number}", 10 * number)])
        engine.push("products", [reading(f"product-{number}", 10 * number + 5)])
    assert stored(engine, "earlier") < 10
    assert stored(engine, "used") < 10
    engine.finish()
    assert gone.results().rows() == [(f"case-{n}", f"product-{n}") for n in range(100)]


def test_what_is_older_than_within_is_forgotten() -> None:
    engine = LocalEngine()
    engine.sql(STREAMS)
    engine.sql(f"{PAIRS} WITHIN 10")
    for number in range(50):
        for stream in ("cases", "products"):
            engine.push(stream, [reading("x", 10 * number)])
    assert stored(engine, "earlier") < 12


def test_rows_of_one_time_do_not_depend_on_the_order_in_which_they_came() -> None:
    cases = [reading("b", 10), reading("c", 10), reading("a", 10)]
    answers = set()
    for start in range(3):
        engine = LocalEngine()
        engine.sql(STREAMS)
        modes = [engine.sql(f"{PAIRS} MODE {mode}") for mode in ("RECENT", "CHRONICLE")]
        for case in cases[start:] + cases[:start]:
            engine.push("cases", [case])
        engine.push("products", [reading("y", 10), reading("x", 10)])
        engine.finish()
        answers.add(tuple(row for query in modes for row in query.results().rows()))
    [answer] = answers
    assert sorted(answer) == [("a", "x"), ("b", "y"), ("c", "x"), ("c", "y")]


def test_queries_share_the_sequence_that_both_ask_for() -> None:
    engine = LocalEngine()
    engine.sql(STREAMS)
    sequence = "SEQ(cases AS c, products AS p) MODE RECENT PARTITION BY line WITHIN 10"
    engine.sql(f"CREATE QUERY tags AS SELECT c.tag FROM {sequence}")
    engine.sql(f"CREATE QUERY counts AS SELECT count(*) AS n FROM {sequence} [RANGE 20, WA p.ts]")
    engine.sql(
        "CREATE QUERY three AS SELECT c.tag FROM "
        "SEQ(cases AS c, products AS p, cases AS d) MODE RECENT PARTITION BY line WITHIN 10"
    )
    names = [operator.name for operator in engine.status().operators]
    assert sum("RecentSequence" in name for name in names) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT * FROM SEQ(cases)", "two steps or more"),
        ("SELECT * FROM SEQ(cases, cases)", "two inputs"),
        ("SELECT * FROM SEQ(cases, products) AS s", "cannot be called `s`"),
        ("SELECT * FROM SEQ(cases, products), cases AS c", "cannot be joined"),
        ("SELECT * FROM SEQ(cases, products) WITHIN 5 SECONDS", "cannot measure"),
        ("SELECT * FROM SEQ(cases, products) PARTITION BY weight", "no column"),
        ("SELECT * FROM SEQ(cases, (SELECT tag FROM products) AS p)", "no time"),
        ("SELECT * FROM SEQ(cases, products [RANGE 5])", "cannot have a window"),
        ("SELECT * FROM SEQ(cases, products) MODE RECENT MODE RECENT", "twice"),
        (
            "SELECT count(*) FROM SEQ(cases, products) MODE RECENT [RANGE 5, WA cases.ts]",
            "does not progress",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(text: str, message: str) -> None:
    engine = LocalEngine()
    engine.sql(STREAMS)
    with pytest.raises(QueryError, match=message):
        engine.sql(text)
