"""Orders by ranks: the best there are among those that follow the join graph."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from penstock.optimizer.cost.joins import JoinUnits, OperatorLoad
from penstock.optimizer.joins.join_graph import JoinGraph
from penstock.optimizer.joins.mjoin_ordering import (
    Neighbours,
    mjoin_ordering,
    ordered,
    spanning_tree,
)
from tests.optimizer.joins.graphs import Edges, random_graph, tree, with_cycles

MATCH = JoinUnits()
UNITS = [MATCH, JoinUnits(mode="probe"), JoinUnits(lookup=3.0)]


def load_of(graph: JoinGraph) -> OperatorLoad:
    return OperatorLoad.of(graph, [1 << each for each in range(graph.count)])


def work(load: OperatorLoad, sequence: tuple[int, ...], units: JoinUnits) -> float:
    return float(load.work(np.array([sequence]), units)[0])


def neighbours(edges: Edges, count: int) -> Neighbours:
    near: Neighbours = [[] for _ in range(count)]
    for i, j in edges:
        near[i].append(j)
        near[j].append(i)
    return near


def least(load: OperatorLoad, near: Neighbours, root: int, units: JoinUnits) -> float:
    """The least work of all sequences in which every input comes behind a neighbour."""
    others = [each for each in range(len(near)) if each != root]
    sequences = [
        (root, *order)
        for order in itertools.permutations(others)
        if all({root, *order[:place]}.intersection(near[each]) for place, each in enumerate(order))
    ]
    return float(load.work(np.array(sequences), units).min())


def greedy(load: OperatorLoad, near: Neighbours, root: int) -> tuple[int, ...]:
    """Always the input that leaves fewest rows."""
    sequence = [root]
    while len(sequence) < len(near):
        reached = [
            (load.selectivities[at, each] * load.sizes[each], each)
            for at in sequence
            for each in near[at]
            if each not in sequence
        ]
        sequence.append(min(reached)[1])
    return tuple(sequence)


def suboptimal(seeds: range, units: JoinUnits) -> tuple[int, int]:
    """In how many random trees of 7 inputs the orders by ranks, and greedy ones, are not best."""
    missed = missed_by_greedy = 0
    for seed in seeds:
        rng = random.Random(seed)
        edges = tree(7, rng)
        load, near, root = load_of(random_graph(edges, rng, 0.1)), neighbours(edges, 7), seed % 7
        best = least(load, near, root, units)
        missed += work(load, ordered(load, near, units)[root], units) > best * (1 + 1e-9)
        missed_by_greedy += work(load, greedy(load, near, root), units) > best * (1 + 1e-9)
    return missed, missed_by_greedy


def test_orders_by_ranks_are_optimal_and_greedy_ones_often_not() -> None:
    missed, missed_by_greedy = suboptimal(range(60), MATCH)
    assert missed == 0
    assert missed_by_greedy > 5


@pytest.mark.parametrize("units", UNITS[1:])
def test_orders_are_optimal_whatever_is_charged(units: JoinUnits) -> None:
    assert suboptimal(range(100, 130), units)[0] == 0


@pytest.mark.slow
@pytest.mark.parametrize("units", UNITS)
def test_orders_are_optimal_in_2000_random_trees(units: JoinUnits) -> None:
    missed, missed_by_greedy = suboptimal(range(2000), units)
    assert missed == 0
    assert missed_by_greedy > 200


def test_a_pair_without_a_predicate_may_come_first() -> None:
    """B meets A and then C: 750; C, without a predicate, and then A: 550."""
    graph = JoinGraph.within((100.0, 1.0, 10.0), {(0, 1): 0.5, (0, 2): 0.04}, 5.0)
    load = load_of(graph)
    assert work(load, (1, 0, 2), MATCH) == pytest.approx(750)
    assert work(load, (1, 2, 0), MATCH) == pytest.approx(550)
    assert mjoin_ordering(load, MATCH).orders[1] == (2, 0)


def test_cartesian_edges_help_or_hurt_and_the_cheaper_is_kept() -> None:
    helped = hurt = 0
    for seed in range(100):
        load = load_of(random_graph(tree(5, rng := random.Random(seed)), rng))
        without = spanning_tree(load.weights, load.links)
        with_ = spanning_tree(load.weights)
        assert without is not None
        assert with_ is not None
        costs = [
            load.work(np.array(ordered(load, each, MATCH)), MATCH) for each in (without, with_)
        ]
        kept = mjoin_ordering(load, MATCH)
        assert kept.work == pytest.approx(np.minimum(*costs))
        helped += bool((costs[1] < costs[0] * 0.999).any())
        hurt += bool((costs[1] > costs[0] * 1.001).any())
    assert helped > 20
    assert hurt > 20


def test_in_a_cyclic_graph_the_lightest_edges_lead() -> None:
    graph = JoinGraph.within((1.0, 100.0, 10.0), {(0, 1): 0.9, (1, 2): 0.001, (0, 2): 0.5}, 1.0)
    assert spanning_tree(load_of(graph).weights, load_of(graph).links) == [[2], [2], [0, 1]]


@pytest.mark.parametrize("seed", range(20))
def test_every_order_has_every_other_input_once(seed: int) -> None:
    rng = random.Random(seed)
    count = rng.randint(2, 9)
    load = load_of(random_graph(with_cycles(count, rng), rng))
    ordering = mjoin_ordering(load, UNITS[seed % 3])
    for root, order in enumerate(ordering.orders):
        assert sorted((root, *order)) == [*range(count)]
        assert ordering.work[root] == pytest.approx(work(load, (root, *order), UNITS[seed % 3]))


def test_inputs_that_no_predicates_connect_are_ordered_all_the_same() -> None:
    graph = JoinGraph.within((3.0, 1.0, 2.0), {}, 1.0)
    assert mjoin_ordering(load_of(graph), MATCH).orders == ((1, 2), (2, 0), (1, 0))
