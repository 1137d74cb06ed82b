"""The rules by which rows are late, worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from penstock.model.schema import Column
from penstock.model.streams import Stream, TimestampKind, Timing
from penstock.model.types import Type
from penstock.oracle.lateness import StreamStep, Verdict, judge, taken_in

COLUMNS = (Column("k", Type.STRING), Column("m", Type.BOOLEAN), Column("ts", Type.BIGINT))
SLACK = Stream("s", COLUMNS, TimestampKind.EXTERNAL, "ts", 3)
BY_PLACE = replace(SLACK, slack=None, timing=Timing(rows_late=1))
MARKED = replace(SLACK, slack=None, timing=Timing(marker="m"))


def row(ts: int | None, k: str | None = "x", m: bool = False) -> dict[str, Any]:
    return {"k": k, "m": m, "ts": ts}


def late(stream: Stream, *steps: StreamStep, by_batch: bool) -> list[int | None]:
    judged = judge(stream, steps, by_batch=by_batch)
    return [row["ts"] for step in judged for verdict, row in step if verdict is Verdict.LATE]


@pytest.mark.parametrize(("by_batch", "expected"), [(False, [4, 6]), (True, [6])])
def test_slack_is_judged_by_row_here_and_by_batch_on_spark(by_batch, expected) -> None:
    steps = [StreamStep([row(5), row(9), row(6), row(4)]), StreamStep([row(10), row(6)])]
    assert late(SLACK, *steps, by_batch=by_batch) == ([4, 6] if not by_batch else [])
    steps.append(StreamStep([row(6)]))
    assert late(SLACK, *steps, by_batch=by_batch)[-1] == expected[-1]


def test_a_row_at_the_bound_is_on_time() -> None:
    assert late(SLACK, StreamStep([row(9)]), StreamStep([row(6)]), by_batch=True) == []
    assert late(SLACK, StreamStep([row(9), row(6)]), by_batch=False) == []


def test_a_bound_from_outside_holds_from_the_next_batch_on() -> None:
    steps = (StreamStep([row(5), row(4)], bound=20), StreamStep([row(19), row(20)]))
    assert late(SLACK, *steps, by_batch=False) == late(SLACK, *steps, by_batch=True) == [19]


def test_slack_in_rows_counts_places_here_and_the_foremost_on_spark() -> None:
    assert late(BY_PLACE, StreamStep([row(5), row(9), row(4)]), by_batch=False) == [4]
    assert late(
        BY_PLACE, StreamStep([row(5), row(9)]), StreamStep([row(4), row(5)]), by_batch=True
    ) == [4]


def test_marked_rows_are_bounds_on_what_they_name() -> None:
    steps = [
        StreamStep([row(9, "x", m=True), row(5, "x"), row(5, "y")]),
        StreamStep([row(6), row(6, "y")]),
    ]
    assert late(MARKED, *steps, by_batch=False) == [5, 6]
    assert late(MARKED, *steps, by_batch=True) == [6]
    everyone = [StreamStep([row(9, None, m=True)]), StreamStep([row(5, "x"), row(5, "y"), row(9)])]
    assert late(MARKED, *everyone, by_batch=True) == [5, 5]


def test_rows_without_a_time_are_in_no_order() -> None:
    judged = judge(SLACK, [StreamStep([row(5), row(None), row(6)])], by_batch=False)
    assert [verdict for verdict, _ in judged[0]][1] is Verdict.TIMELESS
    assert taken_in(judged) == [row(5), row(6)]


def test_an_ordered_stream_is_numbered_by_time_within_a_batch() -> None:
    ordered = replace(SLACK, slack=0)
    judged = judge(ordered, [StreamStep([row(6), row(5)]), StreamStep([row(7)])], by_batch=True)
    assert [row["ts"] for row in taken_in(judged)] == [5, 6, 7]


@pytest.mark.parametrize("kind", [TimestampKind.LATENT, TimestampKind.INTERNAL])
def test_nothing_is_late_without_a_time_of_its_own(kind: TimestampKind) -> None:
    stream = Stream("s", COLUMNS, kind, "ts" if kind is TimestampKind.INTERNAL else None)
    assert late(stream, StreamStep([row(5), row(1)]), StreamStep([row(0)]), by_batch=True) == []
