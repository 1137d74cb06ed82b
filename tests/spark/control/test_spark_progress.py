"""Spark's reports: a look that found nothing is no batch."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.model.timestamps import SECOND
from penstock.spark.control.spark_progress import BatchTimes, times_of


def ran(batch: int) -> dict[str, Any]:
    return {"batchId": batch, "durationMs": {"latestOffset": 1, "addBatch": 7}}


def idle(batch: int) -> dict[str, Any]:
    """What Spark says when it has found nothing for a while: the number is the next batch's."""
    return {"batchId": batch, "durationMs": {"latestOffset": 1, "triggerExecution": 1}}


@pytest.mark.parametrize(("report", "batch"), [(ran(7), 7), (idle(7), 6), (idle(0), -1)])
def test_a_trigger_that_found_nothing_does_not_end_the_batch_to_come(
    report: dict[str, Any], batch: int
) -> None:
    # Rows of that batch came later: taken for its own, the time would make bounds too high.
    times = times_of({**report, "timestamp": "1970-01-01T00:00:05.000Z"})
    assert times == BatchTimes(batch, 5 * SECOND, 5 * SECOND + 1000)
