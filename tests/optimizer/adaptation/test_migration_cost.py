"""What migrations take, as the formulas of the specification have it."""

from __future__ import annotations

import pytest

from penstock.optimizer.adaptation.migration_cost import (
    cheapest,
    moving_state,
    parallel_track,
    recomputed_in,
    stored_in,
)
from penstock.optimizer.cost.joins import JoinUnits, tree_cost
from penstock.optimizer.joins.join_graph import JoinGraph
from penstock.optimizer.joins.join_tree import Branch, at_once, left_deep

RIGHT_DEEP = Branch((0, Branch((1, Branch((2, 3))))))
#: A ⋈ ((B ⋈ C) ⋈ D), as in the published example.
PUBLISHED = Branch((0, Branch((Branch((1, 2)), 3))))
NESTED_LOOP = JoinUnits(insert=2.0, delete=0.0, pair=1.0, mode="probe")


def chain(window: float) -> JoinGraph:
    selectivities = {(0, 1): 0.1, (1, 2): 0.05, (2, 3): 0.02}
    return JoinGraph.within((10.0, 20.0, 30.0, 40.0), selectivities, window)


def test_states_that_both_plans_have_are_not_computed_again():
    assert [str(each) for each in recomputed_in(left_deep(4), PUBLISHED)] == [
        "(1, 2)",
        "((1, 2), 3)",
    ]
    assert list(recomputed_in(left_deep(4), left_deep(4))) == []
    assert list(recomputed_in(left_deep(4), at_once(4))) == []
    assert stored_in(left_deep(3)) == {0b1, 0b10, 0b11, 0b100}


def test_moving_state_takes_what_the_published_formula_says():
    """(16.1) with |S_BC| = λλσW², as in (4.5); the text has it twice as large (8.1, 2)."""
    window = 3.0
    b, c, d = 20.0, 30.0, 40.0
    pairs = b * c * window**2
    triples = b * c * 0.05 * window**2 * d * window
    expected = pairs * (1 + 2 * 0.05) + triples * (1 + 2 * 0.02)
    found = moving_state(chain(window), left_deep(4), PUBLISHED, NESTED_LOOP)
    assert found.processor == pytest.approx(expected)
    assert found.pause == found.processor


def test_moving_state_is_polynomial_in_the_window_and_parallel_track_takes_one_window():
    one, two = (moving_state(chain(w), left_deep(4), PUBLISHED, NESTED_LOOP) for w in (10, 20))
    assert two.processor > 4 * one.processor
    track = parallel_track(chain(10), PUBLISHED, NESTED_LOOP)
    assert track.processor == 10 * tree_cost(chain(10), PUBLISHED, NESTED_LOOP).processor
    assert track.pause == 0


def test_a_query_that_may_not_pause_gets_parallel_track():
    graph = chain(3.0)
    assert cheapest(graph, left_deep(4), RIGHT_DEEP, NESTED_LOOP).method == "ms"
    assert cheapest(graph, left_deep(4), RIGHT_DEEP, NESTED_LOOP, longest_pause=1).method == "pt"
