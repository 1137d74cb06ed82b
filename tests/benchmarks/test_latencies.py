"""When results could be known, and how late they were: `benchmarks/_latencies.py`."""

from __future__ import annotations

import polars as pl
import pytest

from benchmarks._latencies import latency, pairs, windows

S = 1_000_000


def rows(*times: tuple[int, int, float, float]) -> pl.DataFrame:
    """Rows of key, value, time and arrival, the last two in seconds."""
    return pl.DataFrame(
        [(k, v, round(ts * S), round(at * S)) for k, v, ts, at in times],
        schema=dict.fromkeys(("k", "v", "ts", "arrived"), pl.Int64),
        orient="row",
    )


def got(*results: tuple[int, int, float]) -> pl.DataFrame:
    """Pairs, and the second at which they came."""
    return pl.DataFrame(
        [(a, b, round(at * S)) for a, b, at in results],
        schema=dict.fromkeys(("a", "b", "at"), pl.Int64),
        orient="row",
    )


PAIRS = pl.DataFrame({"a": [1, 2, 3], "b": [1, 2, 3], "known": [1 * S, 2 * S, 3 * S]})


def test_a_window_is_known_when_a_row_a_slack_beyond_its_end_arrives() -> None:
    stream = rows((7, 10, 0.5, 0.6), (7, 5, 1.2, 1.3), (8, 1, 1.15, 1.3), (7, 1, 2.0, 2.1))
    found = windows(stream, 1 * S, 1 * S, slack=S // 5)
    assert found.rows() == [(7, 10, 1, 1 * S, round(1.3 * S))]


def test_a_row_is_in_every_sliding_window_over_its_time() -> None:
    stream = rows((7, 10, 0.5, 0.5), (7, 5, 1.5, 1.5), (7, 0, 9.0, 9.0))
    found = windows(stream, 2 * S, 1 * S, slack=0).sort("window_end")
    assert found.select("total", "n", "window_end").rows() == [
        (10, 1, 1 * S),
        (15, 2, 2 * S),
        (5, 1, 3 * S),
    ]
    assert found["known"].to_list() == [round(1.5 * S), 9 * S, 9 * S]


def test_a_pair_is_known_when_its_later_row_arrives() -> None:
    a, b = rows((7, 0, 1.0, 1.1), (8, 1, 1.0, 1.1)), rows((7, 0, 6.0, 6.1), (8, 1, 6.1, 6.2))
    assert pairs(a, b, 5 * S).rows() == [(0, 0, round(6.1 * S))]


def test_only_what_could_be_known_in_the_time_that_counts_has_a_latency() -> None:
    found = latency(PAIRS, got((1, 1, 9), (2, 2, 2.5), (3, 3, 4)), (2 * S, 3 * S), 9 * S, True)
    assert (found.results, found.missing, found.wrong) == (2, 0, None)
    assert (found.p50, found.p99) == pytest.approx((0.75, 0.995))


def test_what_is_not_there_in_the_end_has_waited_until_then() -> None:
    found = latency(PAIRS, got((1, 1, 1), (2, 2, 2)), (3 * S, 3 * S), 9 * S, is_over=False)
    assert (found.p99, found.missing, found.wrong) == (6.0, 1, None)


@pytest.mark.parametrize(
    ("results", "wrong"),
    [
        (got((1, 1, 1), (2, 2, 2)), "1 of 3 results are missing"),
        (got((1, 1, 1), (2, 2, 2), (3, 4, 3)), "1 results too many, or with other values"),
        (got((1, 1, 1), (2, 2, 2), (3, 3, 3), (3, 3, 3)), "1 results too many"),
    ],
)
def test_an_answer_that_is_not_what_the_rows_give_is_wrong(
    results: pl.DataFrame, wrong: str
) -> None:
    found = latency(PAIRS, results, (0, 9 * S), 9 * S, is_over=True)
    assert (found.wrong or "").startswith(wrong)
