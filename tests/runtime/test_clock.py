"""Clocks: one that never goes back, and one that moves only when told."""

from __future__ import annotations

import time

import pytest

from penstock.errors import PenstockBug
from penstock.runtime.clock import RealClock, VirtualClock


def test_a_real_clock_counts_microseconds_since_1970() -> None:
    before = time.time_ns() // 1000
    now = RealClock().now()
    assert before <= now <= time.time_ns() // 1000


def test_a_real_clock_never_goes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = RealClock()
    readings = iter([5_000, 9_000, 7_000, 10_000])
    monkeypatch.setattr(time, "time_ns", lambda: next(readings))
    assert [clock.now() for _ in range(4)] == [5, 9, 9, 10]


def test_declared_costs_do_not_move_a_real_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = RealClock()
    monkeypatch.setattr(time, "time_ns", lambda: 5_000)
    clock.spend(1_000_000)
    assert clock.now() == 5


def test_a_virtual_clock_moves_by_costs_and_waits() -> None:
    clock = VirtualClock(10)
    clock.spend(5)
    assert clock.now() == 15
    clock.wait_until(100)
    assert clock.now() == 100
    clock.wait_until(50)
    assert clock.now() == 100


def test_nothing_costs_less_than_no_time() -> None:
    with pytest.raises(PenstockBug, match="cannot go backwards by 1 ticks"):
        VirtualClock().spend(-1)
