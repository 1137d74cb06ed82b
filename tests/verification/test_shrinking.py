"""Smaller and smaller cases, as long as they go wrong."""

from __future__ import annotations

from penstock.model.schema import Column
from penstock.model.streams import Stream, TimestampKind
from penstock.model.types import Type
from penstock.verification.case import Batch, Row, VerificationCase
from penstock.verification.shrinking import Shrinking
from penstock.verification.ways import Way

STREAMS = {
    name: Stream(
        name,
        (Column("v", Type.INT), Column("ts", Type.BIGINT)),
        TimestampKind.EXTERNAL,
        "ts",
        5,
    )
    for name in ("a", "b")
}


def rows(*times: int) -> tuple[Row, ...]:
    return tuple({"v": time % 7, "ts": time} for time in times)


CASE = VerificationCase(
    (
        Batch({"a": rows(1, 9, 4), "b": rows(3)}, {"a": 2}),
        Batch({}, {}),
        Batch({"a": rows(*range(10, 50)), "b": rows(*range(5, 30))}),
    )
)


def all_rows(case: VerificationCase, stream: str) -> list[Row]:
    return [row for batch in case.batches for row in batch.rows.get(stream, ())]


def test_what_does_not_matter_is_left_out() -> None:
    def fails(way: Way, case: VerificationCase) -> bool:
        return any(r["ts"] == 42 for r in all_rows(case, "a")) and bool(all_rows(case, "b"))

    way, case = Shrinking(fails, STREAMS, 500).smallest(Way("groups", groups=3), CASE)
    assert way == Way("groups")
    assert case.size == 2 and len(case.batches) == 1
    assert case.batches[0].bounds == {}


def test_what_matters_stays() -> None:
    def fails(way: Way, case: VerificationCase) -> bool:
        # One row of each, in different batches, in the wrong order, with lost workers.
        times = [[r["ts"] for r in batch.rows.get("a", ())] for batch in case.batches]
        return way.loses_workers and len(times) > 1 and any(t[-2:] == [9, 4] for t in times)

    start = Way("groups", groups=3, loses_workers=True, settings={"join": "oa"})
    way, case = Shrinking(fails, STREAMS, 500).smallest(start, CASE)
    assert way == Way("groups", loses_workers=True)
    assert [r["ts"] for r in all_rows(case, "a")] == [9, 4]
    assert len(case.batches) == 2


def test_it_stops_when_tries_are_used_up() -> None:
    tried = []

    def fails(way: Way, case: VerificationCase) -> bool:
        tried.append(case)
        return True

    Shrinking(fails, STREAMS, 5).smallest(Way("here"), CASE)
    assert len(tried) == 5
