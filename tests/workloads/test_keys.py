"""KeyDistribution are used evenly, or as Zipf's law says."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.errors import BadSetting
from penstock.workloads.draws import Draws
from penstock.workloads.keys import KeyDistribution

DRAWS = Draws(seed=1, owner="test")


def shares(keys: KeyDistribution, rows: int = 200_000) -> np.ndarray:
    return np.bincount(keys.draw(DRAWS, "key", 0, rows), minlength=keys.count) / rows


def test_without_skew_all_keys_are_used_alike():
    assert shares(KeyDistribution(10)) == pytest.approx(np.full(10, 0.1), abs=0.005)


@pytest.mark.parametrize("skew", [0.5, 1.0, 2.0])
def test_with_skew_the_share_of_a_key_falls_with_a_power_of_its_number(skew):
    expected = np.arange(1, 51) ** -skew
    assert shares(KeyDistribution(50, skew)) == pytest.approx(expected / expected.sum(), abs=0.005)


def test_every_key_is_in_range():
    assert set(KeyDistribution(1, 1.0).draw(DRAWS, "key", 0, 1000).tolist()) == {0}
    drawn = KeyDistribution(3, 0.1).draw(DRAWS, "key", 0, 100_000)
    assert set(drawn.tolist()) == {0, 1, 2}


@pytest.mark.parametrize("wrong", [{"count": 0}, {"count": 10**9}, {"count": 5, "skew": -1.0}])
def test_keys_that_make_no_sense_cannot_be_built(wrong):
    with pytest.raises(BadSetting):
        KeyDistribution(**wrong)
