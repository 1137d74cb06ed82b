"""A stream's way in: the same rows by row and by micro-batch, and what becomes of the others."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from penstock.errors import LateRow
from penstock.kernel.graph import Graph
from penstock.kernel.progress.late import LatePolicy
from penstock.kernel.rejected import Reason
from penstock.model.punctuation import Punctuation
from penstock.model.schema import Column
from penstock.model.streams import Stream, TimestampKind
from penstock.model.timestamps import BEGINNING, END
from penstock.model.types import Type
from penstock.runtime.arrivals import Arrivals
from penstock.runtime.counts import RejectedRows
from penstock.runtime.stream_input import StreamInput

COLUMNS = (Column("x", Type.INT), Column("ts", Type.BIGINT))


class Fed:
    """A stream with a slack of 5, its input, and what has come out of it."""

    def __init__(self, policy: LatePolicy = LatePolicy.KEEP, slack: int = 5, **how: bool) -> None:
        stream = Stream("s", COLUMNS, TimestampKind.EXTERNAL, "ts", slack)
        node = Graph().add_source("s")
        self.rejected: list[RejectedRows] = []
        self.out = node.output.reader()
        node.sinks["q"] = self.out
        self.input = StreamInput(stream, node, policy, self.rejected.append, **how)

    def batch(self, *times: int | None, bound: int = BEGINNING) -> list[Any]:
        """A micro-batch of a group that gets all rows of the stream."""
        schema = {"x": pl.Int32, "ts": pl.Int64}
        rows = pl.DataFrame({"x": [1] * len(times), "ts": times}, schema=schema)
        newest = max((time for time in times if time is not None), default=BEGINNING)
        arrived = Arrivals([rows] if times else [], newest, len(times), bound)
        self.input.open_batch(arrived)
        before = self.taken()
        self.input.close_batch(arrived)
        return before + self.taken()

    def push(self, *times: int | None) -> list[Any]:
        self.input.push([{"x": 1, "ts": time} for time in times], now=0)
        return self.taken()

    def taken(self) -> list[Any]:
        """Times of rows, and bounds on them, as they come out."""
        found: list[Any] = []
        while not self.out.empty:
            item = self.out.take()
            if isinstance(item, Punctuation):
                found += [f"<{item.bound}"] if item.on == "ts" else []
            else:
                found += item.rows["ts"].to_list()
        return found

    def aside(self) -> list[tuple[Reason, int]]:
        return [(each.reason, each.rows.height) for each in self.rejected]


def test_by_row_a_row_is_late_because_of_one_before_it() -> None:
    fed = Fed()
    assert fed.push(10, 4, 20, 15) == [10, 20, 15, "<15"]
    assert fed.aside() == [(Reason.LATE, 1)]
    assert (fed.input.tally.read, fed.input.tally.late, fed.input.tally.lateness) == (4, 1, 6)


def test_by_micro_batch_only_because_of_earlier_batches() -> None:
    fed = Fed(by_batch=True)
    assert fed.batch(10, 4, 20) == [10, 4, 20, "<15"]
    assert fed.batch(14, 15) == [15]  # the bound has not risen: it is not said again
    assert fed.aside() == [(Reason.LATE, 1)]
    assert (fed.input.tally.late, fed.input.tally.lateness) == (1, 6)
    assert fed.batch() == [] and fed.input.tally.late == 0  # counted of each batch
    assert fed.batch(bound=40) == ["<40"]


def test_rows_of_an_ordered_stream_are_put_in_order_where_tasks_bring_them_in_none() -> None:
    assert Fed(slack=0, by_batch=True).batch(3, 1, 2) == [1, 2, 3, "<3"]


@pytest.mark.parametrize("by_batch", [False, True])
def test_rows_without_a_time_are_malformed_by_row_and_by_micro_batch(by_batch: bool) -> None:
    fed = Fed(by_batch=by_batch)
    assert (fed.batch if by_batch else fed.push)(10, None) == [10, "<5"]
    assert fed.aside() == [(Reason.MALFORMED, 1)]
    assert sum(fed.input.tally.reasons.values()) == 1


@pytest.mark.parametrize(
    ("policy", "out", "aside", "passed"),
    [
        (LatePolicy.KEEP, [], [(Reason.LATE, 1)], 0),
        (LatePolicy.DROP, [], [], 0),
        (LatePolicy.GENEROUS, [3], [], 1),
    ],
)
@pytest.mark.parametrize("by_batch", [False, True])
def test_a_late_row_is_treated_as_the_policy_says(
    policy: LatePolicy, out: list[int], aside: list[Any], passed: int, by_batch: bool
) -> None:
    fed = Fed(policy, by_batch=by_batch)
    more = fed.batch if by_batch else fed.push
    more(20)
    assert more(3) == out
    assert fed.aside() == aside
    assert (fed.input.tally.late, fed.input.tally.passed) == (1 - passed, passed)


@pytest.mark.parametrize("by_batch", [False, True])
def test_a_late_row_is_an_error_where_the_policy_is_to_fail(by_batch: bool) -> None:
    fed = Fed(LatePolicy.FAIL, by_batch=by_batch)
    more = fed.batch if by_batch else fed.push
    more(20)
    with pytest.raises(LateRow):
        more(3)


@pytest.mark.parametrize("reopens", [False, True])
def test_what_an_ended_run_has_closed_is_told_apart_and_may_go_in(reopens: bool) -> None:
    fed = Fed(by_batch=True, reopens=reopens)
    fed.batch(20)
    fed.input.close(30, "ts")
    assert fed.taken() == ["<30"]
    assert fed.batch(25, 14) == ([25] if reopens else [])
    assert sorted(fed.aside()) == [(Reason.CLOSED, 1), (Reason.LATE, 1)]
    fed.input.end()
    assert fed.batch(100) == [f"<{END}"] and fed.aside()[-1] == (Reason.LATE, 1)
