"""Grids, and what rolling a bound down to them keeps."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel.progress.grain import UNUSED, Grid, both, grain_before, grain_of, rolled
from penstock.model.monotone import monotone
from penstock.model.timestamps import BEGINNING, DAY, END, MINUTE, WEEK
from penstock.windows import Cumulating, Landmark, Sliding
from tests.model.monotone_cases import MONOTONE

bounds = st.integers(-(10**15), 10**15)
steps = st.integers(1, 50)
origins = st.integers(-60, 60)
grids = st.builds(Grid, steps, origins)


@given(bounds, steps, origins, st.sampled_from(["sliding", "landmark", "cumulating"]))
def test_a_window_closes_the_same_extents_by_a_rolled_bound(bound, step, origin, kind):
    window = {
        "sliding": Sliding("ts", 7, step, origin),
        "landmark": Landmark("ts", step, origin),
        "cumulating": Cumulating("ts", step, 3 * step, origin),
    }[kind]
    roll = rolled(bound, grain_of(window.grid))
    assert roll <= bound
    assert window.closed_below(roll) == window.closed_below(bound)


@given(bounds, st.frozensets(grids, max_size=3), st.frozensets(grids, max_size=3))
def test_what_serves_both_serves_each(bound, one, other):
    together = rolled(bound, both(one, other))
    assert together == max(rolled(bound, one), rolled(bound, other))
    assert rolled(bound, both(None, one)) == bound


@given(st.lists(bounds, min_size=1, max_size=4), st.frozensets(grids, min_size=1, max_size=3))
def test_the_least_of_rolled_bounds_is_the_rolled_least(bounds, grain):
    """So a Meld may hear rolled bounds of its inputs."""
    assert min(rolled(bound, grain) for bound in bounds) == rolled(min(bounds), grain)


def test_the_ends_of_time_are_on_every_grid() -> None:
    for bound in (BEGINNING, END):
        assert rolled(bound, frozenset([Grid(60)])) == bound
    assert rolled(5, UNUSED) == BEGINNING


@pytest.mark.parametrize("expression", MONOTONE, ids=str)
@pytest.mark.parametrize("behind", [None, [Grid(7, 3)], [Grid(MINUTE), Grid(10, 1)], [Grid(WEEK)]])
def test_what_is_rolled_before_it_is_computed_is_the_same_behind(expression, behind) -> None:
    rng = random.Random(11)
    found = monotone(expression)
    assert found is not None
    [name] = found.columns
    grain = None if behind is None else frozenset(behind)
    for _ in range(300):
        bound = rng.choice((rng.randint(-99, 99), rng.randint(-99 * DAY, 99 * DAY)))
        early = rolled(bound, grain_before(found, grain))
        assert early <= bound
        ours, whole = (rolled(found.bound({name: b}), grain) for b in (early, bound))
        assert ours == whole or early <= BEGINNING
