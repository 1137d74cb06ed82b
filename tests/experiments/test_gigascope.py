"""The printed flush policies, packet by packet, and the ring buffer in front of them."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

FOLDER = Path(__file__).parent.parent.parent / "experiments"


@pytest.fixture
def gigascope(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module("_gigascope")


def outputs(policy: Any, packets: list[int], per_window: int, size: int, **more: int) -> list[int]:
    return [out for out, _ in policy(packets, per_window, size, 1, **more)]


def test_in_one_slot_whoever_comes_throws_the_other_out(gigascope: Any) -> None:
    for policy in (gigascope.oop_lazy_flush, gigascope.oop_slow_flush, gigascope.iop_slow_flush):
        assert outputs(policy, [1, 1, 2, 2, 1], 10, 1) == [0, 0, 1, 0, 1]


def test_in_order_all_old_aggregates_go_before_a_new_one_and_out_of_order_none(
    gigascope: Any,
) -> None:
    # Forty groups in eight slots: whatever comes first in a window finds a new one before long.
    packets = list(range(40)) * 4
    in_order = outputs(gigascope.iop_slow_flush, packets, 80, 8)
    assert max(in_order[80:]) > 2
    assert max(outputs(gigascope.oop_lazy_flush, packets, 80, 8)) == 1


def test_what_is_overdue_goes_when_a_window_begins(gigascope: Any) -> None:
    packets = [1, 2, 3, *[9] * 47]  # windows of 10; the first three are not seen again
    lazy = outputs(gigascope.oop_lazy_flush, packets, 10, 1000, m=2)
    assert [number for number, out in enumerate(lazy) if out > 1] == [30]
    assert lazy[30] == 3 + 1  # and the resident of this packet's slot, of the window before
    slow = outputs(gigascope.oop_slow_flush, packets, 10, 1000, m=2, i=5)
    assert max(slow) <= 2


def test_every_aggregate_that_came_in_goes_out_once_or_is_still_there(gigascope: Any) -> None:
    draw = np.random.default_rng(3)
    packets = draw.integers(0, 30, 3000).tolist()
    for policy in (gigascope.oop_lazy_flush, gigascope.oop_slow_flush, gigascope.iop_slow_flush):
        groups = len({(n // 500, key) for n, key in enumerate(packets)})
        assert groups - 64 <= sum(outputs(policy, packets, 500, 64)) <= len(packets)


def test_a_packet_is_lost_when_the_ring_holds_no_place_for_it(gigascope: Any) -> None:
    arrivals = np.arange(8, dtype=np.float64)
    finished = gigascope.finish_times(arrivals, np.array([4.0, 0, 0, 0, 0, 0, 0, 0]))
    assert finished.tolist() == [4, 4, 4, 4, 4, 5, 6, 7]
    line = gigascope.Timeline(arrivals, finished, 0.5)
    assert not line.lossless(3)  # packets 1 to 3 wait behind the first
    assert line.lossless(4)
