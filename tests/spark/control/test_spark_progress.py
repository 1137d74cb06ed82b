"""Spark's reports: every batch is passed on once, and a look that found nothing is no batch."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.model.timestamps import SECOND
from penstock.spark.control.spark_progress import BatchTimes, reports_behind, times_of


def ran(batch: int) -> dict[str, Any]:
    return {"batchId": batch, "durationMs": {"latestOffset": 1, "addBatch": 7}}


def idle(batch: int) -> dict[str, Any]:
    """What Spark says when it has found nothing for a while: the number is the next batch's."""
    return {"batchId": batch, "durationMs": {"latestOffset": 1, "triggerExecution": 1}}


@pytest.mark.parametrize(
    ("known", "recent", "new"),
    [
        (-1, [ran(0)], [0]),
        (4, [ran(3), ran(4)], []),
        (4, [ran(4), ran(5), ran(6)], [5, 6]),
        (4, [ran(4), idle(5)], []),
        (4, [ran(4), idle(5), idle(5), ran(5)], [5]),
        (3, [ran(3), ran(4), idle(5)], [4]),
        (-1, [idle(0)], []),
        (-1, [idle(0), ran(0), idle(1)], [0]),
    ],
)
def test_each_batch_is_reported_when_it_has_run(
    known: int, recent: list[dict[str, Any]], new: list[int]
) -> None:
    found = reports_behind(known, recent[-1], lambda: recent)
    assert [progress["batchId"] for progress in found] == new
    assert all("addBatch" in progress["durationMs"] for progress in found)


def test_all_reports_are_asked_for_only_if_one_was_missed() -> None:
    def never() -> list[dict[str, Any]]:
        raise AssertionError("asked for everything")

    assert reports_behind(4, ran(5), never) == [ran(5)]
    assert reports_behind(4, idle(5), never) == []


@pytest.mark.parametrize(("report", "batch"), [(ran(7), 7), (idle(7), 6), (idle(0), -1)])
def test_a_trigger_that_found_nothing_does_not_end_the_batch_to_come(
    report: dict[str, Any], batch: int
) -> None:
    # Rows of that batch came later: taken for its own, the time would make bounds too high.
    times = times_of({**report, "timestamp": "1970-01-01T00:00:05.000Z"})
    assert times == BatchTimes(batch, 5 * SECOND, 5 * SECOND + 1000)
