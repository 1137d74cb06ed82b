"""Sets of inputs that are joined already count as vertices."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.optimizer.cost.joins import JoinUnits, OperatorLoad
from penstock.optimizer.joins.inputs import inputs_of
from penstock.optimizer.joins.join_graph import JoinGraph

TRIANGLE = JoinGraph.within((2.0, 3.0, 5.0, 7.0), {(0, 1): 0.1, (1, 2): 0.2, (0, 2): 0.3}, 4.0)
AB, C, D = inputs_of([0, 1]), inputs_of([2]), inputs_of([3])


def test_predicates_between_sets_are_those_between_their_members() -> None:
    assert TRIANGLE.selectivity(AB, C) == pytest.approx(0.2 * 0.3)
    assert TRIANGLE.selectivity(AB, D) == 1
    assert (TRIANGLE.are_linked(AB, C), TRIANGLE.are_linked(AB, D)) == (True, False)


def test_rates_and_sizes_of_sets() -> None:
    assert TRIANGLE.product(AB) == pytest.approx(2 * 3 * 0.1)
    assert TRIANGLE.rate(AB) == pytest.approx(2 * 0.6 * 4)
    assert TRIANGLE.size(AB) == pytest.approx(0.6 * 4**2)
    assert TRIANGLE.rate(C) == 5
    assert TRIANGLE.size(C) == 20


def test_a_wide_operator_stores_rows_once_for_each_key_it_is_asked_by() -> None:
    windows = TRIANGLE.windows
    chain = {(0, 1): 0.1, (1, 2): 0.2, (2, 3): 0.3}
    graph = JoinGraph((1.0,) * 4, chain, windows, keyed=frozenset(chain))
    assert graph.copies([1, 2, 4, 8]) == [1, 2, 2, 1]
    assert graph.copies([0b0011, 0b0100, 0b1000]) == [1, 2, 1]
    by_one_key = JoinGraph((1.0,) * 4, chain, windows, (), (0b1111,), frozenset(chain))
    assert by_one_key.copies([1, 2, 4, 8]) == [1, 1, 1, 1]


def test_what_never_matched_so_far_costs_something_all_the_same() -> None:
    never = JoinGraph.within((2.0, 3.0), {(0, 1): 0.0}, 1.0)
    assert 0 < never.size(AB) < 1e-9


def test_stored_rows_are_as_wide_as_what_they_are_made_of() -> None:
    wide = JoinGraph((1.0, 1.0), {}, JoinGraph.within((1.0, 1.0), {}, 1.0).windows, (10.0, 30.0))
    assert wide.width(AB) == 40
    assert TRIANGLE.width(AB) == 1


def test_on_one_key_a_further_input_matches_all_or_none() -> None:
    """Keys of 100 values each: every input but the first has one of 100."""
    pairs = {(0, 1): 0.01, (1, 2): 0.01, (0, 2): 0.01, (2, 3): 0.5}
    windows = JoinGraph.within((1.0,) * 4, {}, 1.0).windows
    graph = JoinGraph((1.0,) * 4, pairs, windows, classes=(inputs_of([0, 1, 2]),))
    assert graph.product(inputs_of([0, 2])) == pytest.approx(0.01)
    assert graph.product(inputs_of([0, 1, 2])) == pytest.approx(0.01**2)
    assert graph.product(inputs_of([0, 1, 2, 3])) == pytest.approx(0.01**2 * 0.5)
    assert graph.selectivity(AB, inputs_of([2])) == pytest.approx(0.01)
    load = OperatorLoad.of(graph, [AB, inputs_of([2]), inputs_of([3])])
    assert load.selectivities[0, 1] == pytest.approx(0.01)
    single = OperatorLoad.of(graph, [1, 2, 4, 8])
    [work] = single.work(np.array([[0, 2, 1, 3]]), JoinUnits())
    assert work == pytest.approx(0.01 + 0.01**2 + 0.01**2 * 0.5)
