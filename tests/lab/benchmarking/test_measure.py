"""How a case is run: in turn, repeatedly, with every pair of answers compared."""

from __future__ import annotations

import time
from itertools import count
from typing import Any

import pytest

from penstock.lab.benchmarking import Case, Timed
from penstock.lab.benchmarking.measure import measure


def case(**changes: Any) -> Case:
    usual: dict[str, Any] = {
        "name": "x",
        "ours": lambda: 1,
        "rival": lambda: 1,
        "rival_name": "other",
        "repeats": 3,
    }
    return Case(**{**usual, **changes})


def seconds(*values: float) -> Any:
    """Work that says it took these times, one after the other."""
    left = iter(values)
    return lambda: Timed(1, next(left))


def test_ours_and_the_rival_run_in_turn() -> None:
    order: list[str] = []
    measure(case(ours=lambda: order.append("ours"), rival=lambda: order.append("rival")))
    assert order == ["ours", "rival"] * 4  # one to warm up


def test_times_are_medians_without_the_warm_up() -> None:
    result = measure(case(ours=seconds(99, 1, 5, 2), rival=seconds(99, 8, 4, 6)))
    assert (result.ours_s, result.rival_s, result.ratio) == (2, 6, 3)
    assert result.ours_runs == (1, 5, 2)


def test_a_case_can_have_its_own_ratio() -> None:
    inverse = case(
        ours=seconds(2), rival=seconds(8), repeats=1, warm_up=0, ratio=lambda ours, rival: ours
    )
    assert measure(inverse).ratio == 2


def test_work_is_timed_from_outside_unless_it_says_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ticks = count()
    monkeypatch.setattr(time, "perf_counter", lambda: next(ticks))
    result = measure(case(rival=lambda: next(ticks) and 1))
    assert (result.ours_s, result.rival_s) == (1, 2)


def test_a_difference_in_any_run_counts() -> None:
    answers = iter([1, 1, 2, 1])
    result = measure(case(ours=lambda: next(answers)))
    assert result.difference == "2, the rival's 1"
    assert result.as_json()["equal"] is False


def test_extra_columns_are_part_of_the_result() -> None:
    assert measure(case(extra={"rows": 7})).as_json()["rows"] == 7


def test_every_pair_of_runs_is_announced() -> None:
    heard: list[tuple[int, int]] = []
    measure(case(repeats=2), lambda run, of: heard.append((run, of)))
    assert heard == [(1, 3), (2, 3), (3, 3)]


def test_a_case_must_run_at_least_once() -> None:
    with pytest.raises(ValueError, match="repeats must be at least 1"):
        case(repeats=0)


def test_a_rival_that_takes_long_runs_once() -> None:
    answers = iter([1, 1, 2])
    result = measure(case(ours=lambda: next(answers), rival=seconds(61), warm_up=0, once_above=60))
    assert (len(result.ours_runs), result.rival_runs) == (3, (61,))
    assert result.difference == "2, the rival's 1"  # every answer of ours is compared with it


def test_a_rival_that_takes_long_is_warmed_up_all_the_same() -> None:
    result = measure(case(rival=seconds(99, 61), once_above=60))
    assert result.rival_runs == (61,)


def test_a_rival_that_is_slow_only_later_runs_on() -> None:
    result = measure(case(rival=seconds(50, 61, 62), warm_up=0, once_above=60))
    assert result.rival_runs == (50, 61, 62)


def test_how_both_sides_read_and_write_is_part_of_the_result() -> None:
    found = measure(case(ours_io="memory", rival_io="parquet → parquet")).as_json()
    assert (found["ours_io"], found["rival_io"]) == ("memory", "parquet → parquet")


def test_a_case_may_say_so_among_its_extra_columns() -> None:
    assert measure(case(extra={"ours_io": "memory"})).as_json()["ours_io"] == "memory"


def test_runs_that_there_is_no_time_for_are_left_out_but_for_one() -> None:
    assert len(measure(case(), seconds=0).ours_runs) == 1
    assert len(measure(case(warm_up=0), seconds=0).ours_runs) == 1
    assert len(measure(case(), seconds=1000).ours_runs) == 3
