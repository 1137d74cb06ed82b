"""Random numbers are looked up, spread evenly, and stay the same for ever."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.workloads.draws import Draws

DRAWS = Draws(seed=7, owner="test")


@given(first=st.integers(0, 10**15), skip=st.integers(0, 50), count=st.integers(0, 50))
def test_a_stretch_of_a_lane_is_part_of_any_longer_one(first, skip, count):
    whole = DRAWS.uniform("x", first, skip + count)
    assert (whole[skip:] == DRAWS.uniform("x", first + skip, count)).all()


def test_the_numbers_of_a_lane_never_change():
    assert DRAWS.below(1000, "x", 0, 8).tolist() == [227, 274, 498, 115, 117, 156, 36, 574]
    assert DRAWS.numbered("x", np.arange(3)).tolist() == [
        2715692240123970436,
        7486785892461520887,
        8010793621491334770,
    ]


def test_lanes_owners_and_seeds_do_not_share_numbers():
    stretches = [
        draws.uniform(lane, 0, 100)
        for draws in (DRAWS, Draws(8, "test"), Draws(7, "other"))
        for lane in ("x", "y")
    ]
    assert len({float(stretch[0]) for stretch in stretches}) == len(stretches)
    assert np.abs(np.corrcoef(stretches) - np.eye(len(stretches))).max() < 0.3


def test_numbers_are_even():
    numbers = DRAWS.below(10, "x", 0, 100_000)
    assert numbers.min() == 0
    assert numbers.max() == 9
    assert np.abs(np.bincount(numbers) - 10_000).max() < 400  # four standard deviations


def test_a_numbered_thing_keeps_its_word_wherever_it_is_mentioned():
    words = DRAWS.numbered("x", np.array([5, 3, 5]))
    assert words[0] == words[2] == DRAWS.numbered("x", np.array([5]))[0]
    assert words[0] != words[1]
    assert (
        len(set((DRAWS.numbered("x", np.arange(10_000)) % np.uint64(1 << 40)).tolist())) == 10_000
    )
