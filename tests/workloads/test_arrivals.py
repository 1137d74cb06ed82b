"""Arrivals: the rate, the Poisson shape, lulls, bursts, and counting them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import BadSetting
from penstock.model.timestamps import DAY, HOUR, MILLISECOND, MINUTE, SECOND
from penstock.workloads.arrivals import START, ArrivalPattern
from penstock.workloads.draws import Draws

DRAWS = Draws(seed=1, owner="test")

arrivals = st.builds(
    ArrivalPattern,
    rate=st.sampled_from([0.01, 0.5, 3.7, 1000.0, 99_999.0, 10_000_000.0]),
    start=st.integers(-DAY, DAY),
    lull=st.integers(0, 59 * SECOND),
    burst=st.sampled_from([1, 2, 7, 1000]),
    chunk=st.sampled_from([1000, 8192]),
)


@given(arrivals, st.integers(0, 10**7), st.integers(0, 3000), st.integers(0, 3000))
def test_any_cut_gives_the_same_times(arrivals, first, left, right):
    whole = arrivals.times(DRAWS, first, left + right)
    parts = [arrivals.times(DRAWS, first, left), arrivals.times(DRAWS, first + left, right)]
    assert (whole == np.concatenate(parts)).all()


@given(arrivals, st.integers(0, 10**7))
def test_times_never_fall(arrivals, first):
    times = arrivals.times(DRAWS, first, 20_000)
    assert len(times) == 20_000
    assert (np.diff(times) >= 0).all()
    assert times[0] >= arrivals.start


@given(arrivals, st.integers(0, 10**6))
def test_before_counts_the_rows_that_times_puts_there(arrivals, row):
    (tick,) = arrivals.times(DRAWS, row, 1).tolist()
    for at in (tick, tick + 1):
        count = arrivals.before(DRAWS, at)
        last, following = arrivals.times(DRAWS, max(0, count - 1), 2).tolist()
        assert count == 0 or last < at
        assert (following if count else last) >= at


def test_nothing_comes_before_the_start():
    assert ArrivalPattern().before(DRAWS, START) == 0
    assert ArrivalPattern().before(DRAWS, START - DAY) == 0


@pytest.mark.parametrize("rate", [0.05, 50.0, 4000.0, 1_000_000.0])
def test_rows_come_at_the_rate_asked_for(rate):
    times = ArrivalPattern(rate=rate).times(DRAWS, 0, 100_000)
    seconds = (times[-1] - START) / SECOND
    assert 100_000 / seconds == pytest.approx(rate, rel=0.01)


def test_gaps_are_those_of_a_poisson_stream():
    gaps = np.diff(ArrivalPattern(rate=1000).times(DRAWS, 0, 200_000)) / MILLISECOND
    assert gaps.mean() == pytest.approx(1.0, abs=0.01)
    assert gaps.std() == pytest.approx(1.0, abs=0.02)
    for length in (0.5, 1.0, 2.0, 4.0):
        assert (gaps > length).mean() == pytest.approx(np.exp(-length), abs=0.005)


def test_counts_of_a_poisson_stream_vary_as_much_as_they_are_large():
    times = ArrivalPattern(rate=1000).times(DRAWS, 0, 400_000)
    counts = np.bincount((times - START) // (20 * MILLISECOND))[:-1]
    assert counts.var() / counts.mean() == pytest.approx(1.0, abs=0.05)


def test_a_lull_is_silent_and_the_rest_of_the_period_keeps_the_rate():
    arrivals = ArrivalPattern(rate=100, lull=10 * SECOND, every=MINUTE)
    since = arrivals.times(DRAWS, 0, 100_000) - START
    assert (since % MINUTE).max() < 50 * SECOND
    periods = np.bincount(since // MINUTE)[:-1]
    assert len(periods) > 15
    assert periods.mean() == pytest.approx(100 * 50, rel=0.02)
    assert arrivals.before(DRAWS, START + 50 * SECOND) == arrivals.before(DRAWS, START + MINUTE)


def test_a_burst_comes_at_one_moment_and_the_rate_stays():
    since = ArrivalPattern(rate=1000, burst=20).times(DRAWS, 0, 200_000) - START
    bursts = since.reshape(-1, 20)
    assert (bursts == bursts[:, :1]).all()
    assert len(np.unique(bursts[:, 0])) > 9_900
    assert 200_000 / (since[-1] / SECOND) == pytest.approx(1000, rel=0.05)


@pytest.mark.parametrize(
    "wrong",
    [
        {"rate": 0.0},
        {"rate": -5.0},
        {"rate": float("nan")},
        {"rate": float("inf")},
        {"burst": 0},
        {"lull": -1},
        {"lull": MINUTE},
        {"lull": HOUR},
        {"chunk": 1},
    ],
)
def test_arrivals_that_make_no_sense_cannot_be_built(wrong):
    with pytest.raises(BadSetting):
        ArrivalPattern(**wrong)
