"""Disorder happens, and never exceeds the slack that it declares."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import BadSetting
from penstock.model.timestamps import MINUTE, SECOND
from penstock.workloads.arrivals import ArrivalPattern
from penstock.workloads.disorder import Disorder
from penstock.workloads.draws import Draws

DRAWS = Draws(seed=1, owner="test")
ARRIVALS = ArrivalPattern(rate=1000).times(DRAWS, 0, 100_000)


def lateness(times):
    """How far each row is below the newest one before it."""
    return np.maximum.accumulate(times) - times


lengths = st.integers(0, 100 * SECOND)
disorders = st.one_of(
    st.builds(Disorder, band=lengths, lag=lengths),
    st.builds(Disorder, block=lengths, lag=lengths),
)


@given(disorders, st.integers(0, 90_000), st.integers(0, 10_000))
def test_no_row_is_later_than_the_slack_or_comes_from_the_future(disorder, first, count):
    arrivals = ARRIVALS[first : first + count]
    times = disorder.event_times(DRAWS, first, arrivals)
    assert (lateness(times) <= max(0, disorder.slack)).all()
    assert (times <= arrivals - disorder.lag).all()


def test_without_disorder_a_row_has_the_time_of_its_arrival():
    assert Disorder().slack == 0
    assert (Disorder().event_times(DRAWS, 0, ARRIVALS) == ARRIVALS).all()


def test_a_band_is_used_up_to_its_edge():
    disorder = Disorder(band=5 * SECOND)
    times = disorder.event_times(DRAWS, 0, ARRIVALS)
    assert disorder.slack == 5 * SECOND
    assert (lateness(times) > 0).mean() > 0.9
    assert lateness(times).max() > 4.9 * SECOND
    delays = ARRIVALS - times
    assert delays.mean() == pytest.approx(2.5 * SECOND, rel=0.02)


def test_blocks_are_disjoint_and_shuffled_inside():
    disorder = Disorder(block=10 * SECOND)
    times = disorder.event_times(DRAWS, 0, ARRIVALS)
    blocks = times // (10 * SECOND)
    assert (np.diff(blocks) >= 0).all()
    assert (blocks == ARRIVALS // (10 * SECOND) - 1).all()
    inside = times[blocks == blocks[50_000]]
    assert (np.diff(inside) < 0).mean() == pytest.approx(0.5, abs=0.05)
    assert lateness(times).max() > 0.99 * disorder.slack


def test_a_lag_shifts_the_stream_and_keeps_its_order():
    disorder = Disorder(lag=3 * SECOND)
    assert disorder.slack == 0
    assert (disorder.event_times(DRAWS, 0, ARRIVALS) == ARRIVALS - 3 * SECOND).all()


@pytest.mark.parametrize("wrong", [{"band": -1}, {"lag": -1}, {"band": 1, "block": MINUTE}])
def test_disorder_that_makes_no_sense_cannot_be_built(wrong):
    with pytest.raises(BadSetting):
        Disorder(**wrong)
