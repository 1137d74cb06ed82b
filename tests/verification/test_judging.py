"""What is compared, how closely, and what is not."""

from __future__ import annotations

from penstock.oracle.evaluate import apart
from penstock.verification.judging import TOLERANCE, difference, judged_in_part, not_judged
from penstock.verification.script import Planned, Script

STREAM = "CREATE STREAM s (k STRING, v INT, ts TIMESTAMP) TIMESTAMP BY ts;"
WINDOW = "[RANGE 10 SECONDS]"


def planned(query: str) -> Planned:
    [found] = Script.of(f"{STREAM} {query}").declared()
    return found


def test_rows_are_compared_with_how_often_they_come() -> None:
    one, other = {"v": 1}, {"v": 2}
    assert apart([one, one, other], [other, one], TOLERANCE) == ([one], [])
    assert apart([one], [one, one], TOLERANCE) == ([], [one])


def test_numbers_may_differ_in_their_last_digits_and_types_may_not() -> None:
    assert apart([{"v": 0.1 + 0.2}], [{"v": 0.3}], TOLERANCE) == ([], [])
    assert apart([{"v": 1}], [{"v": 1.0}], TOLERANCE) == ([{"v": 1}], [{"v": 1.0}])
    assert apart([{"v": 1}], [{"v": True}], TOLERANCE) == ([{"v": 1}], [{"v": True}])
    assert apart([{"v": None}], [{"v": 0}], TOLERANCE) == ([{"v": None}], [{"v": 0}])


def test_an_approximate_count_must_be_near() -> None:
    query = planned(f"SELECT k, approx_count_distinct(v) AS n FROM s {WINDOW} GROUP BY k")
    assert not_judged(query.plan) is None
    assert "n: approximate" in str(judged_in_part(query.plan))
    expected = [{"k": "x", "n": 100, "window_start": 0, "window_end": 1}]
    assert difference(query, expected, [{**expected[0], "n": 93}]) is None
    wrong = difference(query, expected, [{**expected[0], "n": 50}])
    assert wrong is not None and wrong.missing == expected


def test_what_follows_from_an_approximate_count_is_not_judged() -> None:
    having = planned(f"SELECT approx_count_distinct(v) AS n FROM s {WINDOW} HAVING n > 3")
    assert "approximate" in str(not_judged(having.plan))
    computed = planned(f"SELECT approx_count_distinct(v) + 1 AS n FROM s {WINDOW}")
    assert "approximate" in str(not_judged(computed.plan))


def test_of_early_results_the_final_ones_are_judged() -> None:
    query = planned(f"SELECT count(*) AS n FROM s {WINDOW} EMIT CHANGES")
    assert "only final rows" in str(judged_in_part(query.plan))
    final = {"n": 2, "window_start": 0, "window_end": 1, "is_final": True}
    assert difference(query, [final], [{**final, "n": 1, "is_final": False}, final]) is None
    assert difference(query, [final], [{**final, "is_final": False}]) is not None
    wrong = difference(query, [final], [final, {**final, "is_final": False}])
    assert wrong is not None and wrong.problem == "a row follows the final one of its window"


def test_an_order_is_kept() -> None:
    query = planned("SELECT v, ts FROM s ORDER BY ts")
    rows = [{"v": 1, "ts": 2}, {"v": 1, "ts": 1}]
    wrong = difference(query, rows, rows)
    assert wrong is not None and wrong.problem == "not in the order of ts"
    assert difference(query, rows, rows[::-1]) is None
