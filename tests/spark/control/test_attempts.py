"""A query whose Python worker is slow to start is started again, and only then."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql.streaming.query import StreamingQuery

from penstock.spark.control import attempts
from penstock.spark.control.attempts import RETRIES, Attempts
from penstock.spark.failures import failure

SLOW = "[STREAM_FAILED] Query [id = 1] terminated with exception: " + (
    "Python worker failed to connect back. SQLSTATE: XXKST"
)


class FakeQuery:
    """A query that runs until it is told what it failed with."""

    def __init__(self, cause: str | None = None) -> None:
        self.cause = cause

    @property
    def isActive(self) -> bool:
        return self.cause is None

    def exception(self) -> Exception | None:
        return None if self.cause is None else StreamingQueryException(self.cause)

    def awaitTermination(self, timeout: int | None) -> bool:
        if self.cause is not None:
            raise StreamingQueryException(self.cause)
        assert timeout == 1  # a second that has begun counts as one
        return False


def started(*queries: FakeQuery) -> tuple[Attempts, Callable[[], int]]:
    """Attempts that start these queries, one after the other; and how many were started."""
    waiting, number = list(queries), []

    def start() -> Any:
        number.append(1)
        return waiting.pop(0)

    made = Attempts("q", start)
    made.begin()
    return made, lambda: len(number)


def replaces(made: Attempts, query: FakeQuery) -> bool:
    return made.replaces(cast(StreamingQuery, query))


def test_a_query_is_started_again_while_its_worker_is_slow(
    caplog: pytest.LogCaptureFixture,
) -> None:
    first, second, third = FakeQuery(SLOW), FakeQuery(SLOW), FakeQuery()
    made, number = started(first, second, third)
    assert replaces(made, first) and replaces(made, second)
    assert number() == 3 and made.query.isActive
    assert "more than 10 s to start" in caplog.text
    made.settle()


def test_a_query_that_has_put_out_a_batch_is_not_started_again() -> None:
    first = FakeQuery()
    made, number = started(first)
    made.settle()
    first.cause = SLOW
    assert not replaces(made, first) and number() == 1


def test_whoever_waits_for_a_query_waits_for_the_one_that_replaces_it() -> None:
    made, number = started(FakeQuery(SLOW), FakeQuery())
    assert made.await_termination(1) is False and number() == 2
    assert made.exception() is None
    made.settle()
    broken, _ = started(FakeQuery("ValueError: bad"))
    with pytest.raises(StreamingQueryException, match="bad"):
        broken.await_termination(1)
    assert "bad" in str(broken.exception())


@pytest.mark.parametrize("cause", ["No space left on device", "ValueError: bad"])
def test_a_query_that_fails_for_another_reason_is_not_started_again(cause: str) -> None:
    first = FakeQuery(cause)
    made, number = started(first)
    assert not replaces(made, first) and number() == 1


def test_at_some_time_it_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "POLL", 0.001)
    queries = [FakeQuery(SLOW) for _ in range(RETRIES + 1)]
    made, number = started(*queries)
    made._thread.join(10)
    assert not replaces(made, queries[-1]) and number() == RETRIES + 1
    error = failure(Exception(SLOW))
    assert "took more than 10 s to start" in error.message and "busy" in str(error.hint)


def test_nobody_waits_for_an_attempt_that_could_not_be_made(
    caplog: pytest.LogCaptureFixture,
) -> None:
    first = FakeQuery(SLOW)
    waiting: list[Any] = [first]

    def start() -> Any:
        if not waiting:
            raise PermissionError("the checkpoint cannot be read")
        return waiting.pop()

    made = Attempts("q", start)
    made.begin()
    made._thread.join(10)
    assert made._settled.is_set() and not replaces(made, first)
    assert "worker" in str(made.exception()) and "cannot be read" in caplog.text
