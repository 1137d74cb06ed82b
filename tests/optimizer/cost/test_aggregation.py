"""The model against what was measured: it knows where panes pay, and where they do not."""

from __future__ import annotations

import pytest

from penstock.model.aggregates import Aggregate
from penstock.model.expressions import Ref
from penstock.model.types import Type
from penstock.optimizer.cost.aggregation import (
    BLOCKS,
    DIFFERENCES,
    GRID,
    MERGE,
    Estimate,
    Load,
    estimate,
    way_of_panes,
)
from penstock.optimizer.cost.costs import REFERENCE
from penstock.windows import Sliding

V = Ref("v", Type.BIGINT)
COUNT, MAX, STDDEV = Aggregate("count"), Aggregate("max", V), Aggregate("stddev_samp", V)


def estimated(
    aggregate: Aggregate, panes: int, groups: int, sharers: int = 1, rate: int = 20_000
) -> Estimate:
    """Of a window of a minute, with a block of rows a second."""
    window = Sliding("ts", 60_000_000, 60_000_000 // panes)
    load = Load(rate * 60 / panes, rate, groups, seen=True)
    return estimate(window, ("k",), [aggregate], load, REFERENCE, sharers)


@pytest.mark.parametrize(
    ("aggregate", "panes", "groups", "rate", "ratio"),
    [
        (COUNT, 2, 10_000, 20_000, 1.67),
        (COUNT, 20, 10_000, 20_000, 3.1),
        (MAX, 60, 10_000, 20_000, 4.37),
        (STDDEV, 600, 100, 20_000, 0.15),
        (STDDEV, 60, 10_000, 20_000, 0.69),
        (MAX, 600, 10_000, 2_000, 0.15),
    ],
)
def test_the_model_knows_which_is_better_where_that_makes_a_difference(
    aggregate: Aggregate, panes: int, groups: int, rate: int, ratio: float
) -> None:
    found = estimated(aggregate, panes, groups, rate=rate)
    assert (found.wid > found.paned) == (ratio > 1)


def test_panes_that_many_share_cost_each_of_them_less() -> None:
    alone, shared = (estimated(COUNT, 5, 1, sharers=n) for n in (1, 100))
    assert shared.paned < alone.paned
    assert shared.wid == alone.wid


def test_how_panes_are_put_together_follows_from_functions_and_density() -> None:
    window = Sliding("ts", 60, 1)
    assert way_of_panes(window, [COUNT], 1000, 10) == GRID
    assert way_of_panes(window, [COUNT], 10, 10_000) == DIFFERENCES
    assert way_of_panes(window, [MAX, COUNT], 1000, 10) == BLOCKS
    assert way_of_panes(window, [MAX], 10, 10_000) == MERGE
    assert way_of_panes(window, [STDDEV], 1000, 10) == MERGE


def test_it_is_said_from_what_a_cost_is_estimated() -> None:
    assumed = estimate(Sliding("ts", 60, 1), ("k",), [COUNT], Load(), REFERENCE)
    assert "assumed: 1,000 rows per slide in blocks of 1,000, 1 to 10,000 groups" in str(assumed)
    assert "costs of a reference machine" in str(assumed)
    assert "seen: 20,000 rows per slide in blocks of 20,000, 100 groups" in str(
        estimated(COUNT, 60, 100)
    )
