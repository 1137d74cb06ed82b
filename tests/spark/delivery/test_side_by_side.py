"""What is done side by side is all done, and what fails is told when nothing runs any more."""

from __future__ import annotations

import threading
from functools import partial

import pytest

from penstock.spark.delivery.side_by_side import FEW, side_by_side


@pytest.mark.parametrize("count", [0, 1, FEW - 1, FEW, 10 * FEW])
def test_everything_is_done_once(count: int) -> None:
    done: list[int] = []
    side_by_side([partial(done.append, number) for number in range(count)])
    assert sorted(done) == list(range(count))


def test_a_few_are_done_here_in_their_order() -> None:
    threads = []
    side_by_side([lambda: threads.append(threading.current_thread())] * (FEW - 1))
    assert set(threads) == {threading.current_thread()}


def fail() -> None:
    raise OSError("full")


def test_of_a_few_those_behind_what_fails_are_left_out() -> None:
    done: list[int] = []
    with pytest.raises(OSError, match="full"):
        side_by_side([partial(done.append, 1), fail, partial(done.append, 2)])
    assert done == [1]


def test_what_fails_is_told_when_nothing_runs_any_more() -> None:
    with pytest.raises(OSError, match="full"):
        side_by_side([lambda: None, fail] * FEW)
    assert not [each for each in threading.enumerate() if "write results" in each.name]
