"""A broken operator is found, and shown with a handful of rows.

Each test breaks one thing the way a slip would, and lets `verify` look for it; none of the ways is
told where. What is shown must be small enough to be understood by reading it.
"""

from __future__ import annotations

from typing import Any

import pytest

from penstock.kernel.segments import Segment
from penstock.verification.report import lines
from penstock.verification.verify import Found, Verification
from penstock.windows import Sliding

STREAMS = """
    CREATE STREAM a (k STRING, v INT, ts TIMESTAMP) TIMESTAMP BY ts SLACK 5 SECONDS;
    CREATE STREAM b (k STRING, v INT, ts TIMESTAMP) TIMESTAMP BY ts SLACK 5 SECONDS;
"""
COUNTED = STREAMS + "SELECT k, count(*) AS n FROM a [RANGE 10 SECONDS SLIDE 5 SECONDS] GROUP BY k"
JOINED = STREAMS + "SELECT l.v, r.v AS w FROM a AS l JOIN b AS r ON l.k = r.k WITHIN 2 SECONDS"


def found_in(text: str, seeds: int = 30) -> tuple[Verification, Found]:
    done = Verification(text, rows=30)
    for _ in done.run(range(seeds)):
        pass
    assert done.outcome.found is not None, "nothing was found"
    return done, done.outcome.found


def test_a_row_in_the_wrong_window_is_shown_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Sliding.wid_range

    def off_by_one(window: Sliding, value: Any) -> Any:
        return right(window, value - 1)  # a row at the very beginning belongs to the one before

    monkeypatch.setattr(Sliding, "wid_range", off_by_one)
    done, found = found_in(COUNTED)
    assert found.case.size == 1
    [batch] = found.case.batches
    [row] = batch.rows["a"]
    assert row["ts"] % 5_000_000 == 0
    text = "\n".join(lines(done))
    assert "query_1: DIFFERS" in text
    assert f"--seed {found.seed}" in text


def test_a_row_lost_at_a_restart_is_shown_with_few_others(monkeypatch: pytest.MonkeyPatch) -> None:
    from penstock.spark.state.spark_state_store import SparkStateStore

    right = SparkStateStore._segment

    def forgetful(kept: SparkStateStore, *which: Any) -> Segment:
        segment = right(kept, *which)
        return Segment(segment.whole.head(segment.whole.height - 1), segment.id, segment.purged)

    monkeypatch.setattr(SparkStateStore, "_segment", forgetful)
    done, found = found_in(COUNTED)
    assert found.way.host == "groups" and found.way.loses_workers
    assert found.case.size <= 3
    text = "\n".join(lines(done))
    assert "lost workers" in text
    assert "expected" in text


def test_a_partner_forgotten_too_early_is_shown_with_few_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from penstock.kernel.joins import purge, reach

    right = purge.keep_from
    monkeypatch.setattr(reach, "keep_from", lambda *which: right(*which) + 1)
    done, found = found_in(JOINED)
    assert found.case.size <= 6  # a pair, and what lets the bound pass one of them
    assert found.difference.missing and not found.difference.unexpected
    assert "batch 1" in "\n".join(lines(done))


def test_a_crash_is_a_difference_too(monkeypatch: pytest.MonkeyPatch) -> None:
    from penstock.kernel.aggregation.wid.bucket import Bucket

    right = Bucket.on_batch

    def fragile(operator: Bucket, port: int, batch: Any, out: Any) -> None:
        if None in batch.rows.get_column("k").to_list():
            raise ValueError("no key")
        right(operator, port, batch, out)

    monkeypatch.setattr(Bucket, "on_batch", fragile)
    _, found = found_in(COUNTED)
    assert found.case.size == 1
    assert found.difference.problem == "ValueError: no key"
