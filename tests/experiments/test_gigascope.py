"""A ring of packets in front of the low level of a two-level aggregate."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from penstock.kernel.aggregation.two_level.flush import IN_ORDER, LAZY, Flush

FOLDER = Path(__file__).parent.parent.parent / "experiments"


@pytest.fixture
def gigascope(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module("_gigascope")


def work(gigascope: Any, *took: float) -> Any:
    """Blocks of ten packets that take so many seconds."""
    return gigascope.Work(np.array(took), np.zeros(len(took), dtype=np.int64), 10)


def test_a_packet_is_lost_when_the_ring_holds_no_place_for_it(gigascope: Any) -> None:
    # Ten packets a second. The second block comes at 2 s and is done at 4.5 s, when 45 packets have
    # come and 10 are gone.
    surge = work(gigascope, 0.5, 2.5, 0.5, 0.5, 0.5, 0.5)
    assert gigascope.is_lossless(surge, ring=35, rate=10)
    assert not gigascope.is_lossless(surge, ring=34, rate=10)


def test_a_ring_does_not_help_who_is_too_slow_for_good(gigascope: Any) -> None:
    slow = work(gigascope, *[1.1] * 6)
    assert slow.busy(5) == pytest.approx(0.55)
    assert gigascope.is_lossless(slow, ring=1000, rate=9)
    assert not gigascope.is_lossless(slow, ring=1000, rate=10)


def test_the_highest_rate_is_the_last_one_without_loss(gigascope: Any) -> None:
    evenly = work(gigascope, *[0.0001] * 50)  # 100,000 packets a second
    assert gigascope.highest_rate(evenly, ring=1000) == 95_000
    one_surge = work(gigascope, *[0.0001] * 20, 0.01, *[0.0001] * 29)
    rate = gigascope.highest_rate(one_surge, ring=200)
    assert gigascope.is_lossless(one_surge, 200, rate)
    assert not gigascope.is_lossless(one_surge, 200, rate + gigascope.STEP)
    assert 10_000 <= rate <= 20_000  # the surge alone lets 200 packets come in 10 ms


def test_only_in_order_all_groups_of_a_window_leave_at_once(gigascope: Any) -> None:
    policies = {policy: Flush(policy) for policy in (IN_ORDER, LAZY)}
    work = gigascope.measure(policies, 40_000, 80_000, scale=16, seed=1, repeats=1)
    most = {policy: found.put_out.max() for policy, found in work.items()}
    assert most[IN_ORDER] > 1500  # of 2500 groups, those that still had a slot
    assert most[LAZY] < 600  # as many as a block has packets
