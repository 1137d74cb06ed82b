"""LateWarnings: a stream is warned of with its first late rows, and when many are late."""

from __future__ import annotations

import logging
from collections.abc import Iterable

import pytest

from penstock import LocalEngine
from penstock.model.timestamps import SECOND
from tests.ticks import push_ticks


def push(engine: LocalEngine, seconds: Iterable[float]) -> None:
    push_ticks(engine, "s", [{"ts": int(second * SECOND)} for second in seconds])


def engine_with(more: str = "") -> LocalEngine:
    engine = LocalEngine()
    engine.sql(f"{more}CREATE STREAM s (ts TIMESTAMP) TIMESTAMP BY ts")
    return engine


WINDOWED = "SELECT count(*) AS n FROM s [RANGE 1 MINUTE]"


def test_a_stream_is_warned_of_twice_with_the_slack_that_would_have_helped(
    caplog: pytest.LogCaptureFixture,
) -> None:
    engine = engine_with()
    engine.sql(WINDOWED)
    with caplog.at_level(logging.WARNING, "penstock"):
        push(engine, [100, 97.5])
        push(engine, [98])  # one more is no news
        assert caplog.messages == [
            "1 of 2 rows of stream `s` is late and was rejected: "
            "SLACK 5 SECONDS would have accepted all"
        ]
        caplog.clear()
        push(engine, [100 + n for n in range(1000)])
        assert not caplog.messages
        push(engine, [1099 - n % 5 for n in range(1, 50)] + [500])
        push(engine, [10] * 100)
        assert caplog.messages == [
            "43 of 1,053 rows of stream `s` are late and were rejected: SLACK 5 SECONDS would have "
            "accepted 99.9 %, SLACK 10 MINUTES would have accepted all"
        ]


def test_rows_that_pass_although_they_are_late_are_no_reason_for_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    engine = engine_with()
    engine.sql("SELECT ts FROM s")
    with caplog.at_level(logging.WARNING, "penstock"):
        push(engine, [100, 10])
    assert engine.counts("s").passed == 1 and not caplog.messages


def test_no_slack_is_offered_for_rows_that_punctuation_made_late(
    caplog: pytest.LogCaptureFixture,
) -> None:
    engine = engine_with()
    engine.sql(WINDOWED)
    with caplog.at_level(logging.WARNING, "penstock"):
        engine.punctuate("s", 50 * SECOND)
        push(engine, [10])
    assert caplog.messages == ["1 of 1 row of stream `s` is late and was rejected"]
