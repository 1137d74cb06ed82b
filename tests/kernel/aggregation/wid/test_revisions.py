"""Early results: every revision is what the rows so far come to, and final results are the answer.

The oracle knows no revisions; but it can be asked at any time, about the rows that have come. What
somebody who keeps the newest row for each group and window then holds must be what it says.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest

from penstock.kernel import segments
from penstock.kernel.aggregation.wid.bucket import Bucket
from penstock.kernel.aggregation.wid.revisions import PeriodBucket, RevisingLandmark, RevisingWid
from penstock.kernel.operator import Operator
from penstock.model.aggregates import Aggregate
from penstock.model.emit import Emit
from penstock.model.schema import IS_FINAL, WINDOW_END, WINDOW_START
from penstock.model.timestamps import END
from penstock.oracle.aggregates import call_of
from penstock.oracle.evaluate import evaluate_window_aggregate, same_rows
from penstock.windows import Cumulating, Landmark, Sliding
from penstock.windows.tagged import Tagged
from tests.engine.draw import Draw, check_seeds
from tests.kernel.aggregation.chains import GROUPS, Chain, D, Results, V, check, runs
from tests.kernel.moving import move

RESULTS: Results = {
    "rows": Aggregate("count"),
    "s": Aggregate("sum", V),
    "most": Aggregate("max", D),
    "middle": Aggregate("percentile", V, parameters=(0.5,)),
}


def build(
    groups: Sequence[str], results: Sequence[tuple[str, Aggregate]], window: Any, emit: Emit
) -> Sequence[Operator]:
    bucket = Bucket(window) if emit.every is None else PeriodBucket(window, emit.every)
    kind = RevisingLandmark if isinstance(window, Landmark) else RevisingWid
    return (bucket, kind(groups, results, window, emit))


def some_window(draw: Draw) -> Tagged:
    origin = draw.between(-3, 3)
    return draw.choose(
        [
            Sliding("ts", draw.between(1, 12), draw.between(1, 6), origin),
            Cumulating("ts", draw.choose([1, 2, 3, 4, 6]), 12, origin),
            Landmark("ts", draw.between(1, 6), origin),
        ]
    )


class Keeper:
    """Keeps the newest row for each group and window, and sees to it that none follows a final."""

    def __init__(self, groups: Sequence[str]) -> None:
        self._groups = groups
        self.newest: dict[tuple[Any, ...], dict[str, Any]] = {}

    def take(self, rows: Sequence[dict[str, Any]]) -> None:
        for row in rows:
            key = self.key(row)
            assert not self.newest.get(key, {IS_FINAL: False})[IS_FINAL], f"after the final: {row}"
            self.newest[key] = row

    def key(self, row: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(row[name] for name in (*self._groups, WINDOW_START, WINDOW_END))

    def final(self) -> list[dict[str, Any]]:
        return [_plain(row) for row in self.newest.values() if row[IS_FINAL]]


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != IS_FINAL}


def what_is_kept_is_what_the_rows_so_far_come_to(draw: Draw) -> None:
    groups, window = draw.choose(GROUPS), some_window(draw)
    emit = Emit(draw.choose([None, 1, 5, 20]), is_time=False)
    run = runs(draw, far=False)
    calls = {name: call_of(each) for name, each in RESULTS.items()}
    came: list[dict[str, Any]] = []
    items: list[Any] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segments, "MANY", draw.choose([2, 3, 8]))
        chain = Chain(build(groups, tuple(RESULTS.items()), window, emit), "ts")
        keeper = Keeper(groups)
        period: int | None = None
        for item in [*run, END]:
            if isinstance(item, int):
                out = chain.punctuate(item)
            else:
                came += item
                out = chain.rows(item)
            items += out
            rows = [row for part in out if isinstance(part, list) for row in part]
            keeper.take(rows)
            expected = evaluate_window_aggregate(window, came, groups, calls)
            # What comes is right, whenever it comes.
            index = {keeper.key(row): row for row in expected}
            for row in rows:
                assert same_rows([_plain(row)], [index[keeper.key(row)]]), (row, expected)
            # And nothing that should have come is missing.
            if emit.every is None:
                complete = not isinstance(item, int)
            else:
                now = item // emit.every if isinstance(item, int) and item < END else None
                complete = now is not None and (period is None or now > period)
                period = now if complete else period
            if complete:
                _nothing_is_missing(keeper, expected, window)
    check(items)
    assert same_rows(keeper.final(), expected)
    assert all(row[IS_FINAL] for row in keeper.newest.values())
    assert chain.kept == {}


def _nothing_is_missing(keeper: Keeper, expected: list[dict[str, Any]], window: Tagged) -> None:
    for row in expected:
        kept = keeper.newest.get(keeper.key(row))
        if kept is None and isinstance(window, Landmark):
            continue  # a step that is there because of another group's rows has no news of this one
        assert kept is not None and same_rows([_plain(kept)], [row]), (kept, row)


def test_what_is_kept_is_what_the_rows_so_far_come_to() -> None:
    check_seeds(12, what_is_kept_is_what_the_rows_so_far_come_to)


@pytest.mark.slow
def test_what_is_kept_is_what_the_rows_so_far_come_to_over_thousands_of_cases() -> None:
    check_seeds(4000, what_is_kept_is_what_the_rows_so_far_come_to)


def row(ts: int, a: int = 0) -> dict[str, Any]:
    return {"ts": ts, "n": ts, "a": a, "b": "x", "v": 1, "d": 1.0}


def shown(items: Sequence[Any]) -> list[tuple[Any, ...]]:
    rows = [row for part in items if isinstance(part, list) for row in part]
    return [(row["a"], row[WINDOW_END], row["n"], row[IS_FINAL]) for row in rows]


COUNT = (("n", Aggregate("count")),)
chain_of = partial(build, ("a",), COUNT)


def test_only_groups_and_windows_that_got_rows_are_revised() -> None:
    chain = Chain(chain_of(Sliding("ts", 10, 10), Emit()), "ts")
    assert shown(chain.rows([row(1, a=1), row(2, a=2)])) == [(1, 10, 1, False), (2, 10, 1, False)]
    assert shown(chain.rows([row(3, a=2), row(12, a=2)])) == [(2, 10, 2, False), (2, 20, 1, False)]
    assert shown(chain.punctuate(10)) == [(1, 10, 1, True), (2, 10, 2, True)]


def test_revisions_come_when_a_bound_passes_a_multiple() -> None:
    chain = Chain(chain_of(Sliding("ts", 100, 100), Emit(10, is_time=False)), "ts")
    assert shown(chain.rows([row(1), row(8)])) == []
    assert shown(chain.punctuate(1)) == [(0, 100, 2, False)]
    assert shown(chain.rows([row(12)])) == []
    assert shown(chain.punctuate(9)) == []
    assert shown(chain.punctuate(35)) == [(0, 100, 3, False)]
    assert shown(chain.punctuate(45)) == []  # nothing has changed


def test_state_that_was_restored_goes_on_with_its_round() -> None:
    one = chain_of(Sliding("ts", 10, 10), Emit())
    chain = Chain(one, "ts")
    chain.rows([row(1, a=1)])
    other = chain_of(Sliding("ts", 10, 10), Emit())
    for before, after in zip(one, other, strict=True):
        move(before.state, after.state)
    assert shown(Chain(other, "ts").rows([row(2, a=2)])) == [(2, 10, 1, False)]
