"""What controllers know of plans, as JSON and back, and what one makes of it that begins later."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest

from penstock.optimizer.adaptation.controller import Controller, Look
from penstock.optimizer.adaptation.plan_memory import (
    PlanMemory,
    plans_as_json,
    plans_from_json,
)
from penstock.optimizer.cost.joins import JoinUnits
from penstock.optimizer.joins.join_graph import JoinGraph
from penstock.optimizer.joins.join_tree import (
    Branch,
    JoinTree,
    left_deep,
    tree_as_json,
    tree_from_json,
)
from penstock.optimizer.joins.join_windows import JoinWindows
from penstock.optimizer.joins.pareto import Limits
from tests.engine.draw import Seeded
from tests.optimizer.joins.graphs import random_graph, with_cycles
from tests.optimizer.joins.trees import any_tree, with_orders

UNITS = JoinUnits(insert=1.0, delete=1.0, pair=1.0)
OTHER = Branch((0, Branch((1, 2))))


def any_graph(seed: int) -> JoinGraph:
    rng = random.Random(seed)
    count = rng.randint(3, 8)
    found = random_graph(with_cycles(count, rng), rng)
    bands = {(0, j): (-rng.random(), rng.random()) for j in range(1, count)}
    windows = rng.choice(
        [found.windows, JoinWindows(count, bands, None, True), JoinWindows.in_the_same(count, 3.5)]
    )
    return replace(
        found,
        windows=windows,
        widths=tuple(rng.uniform(8, 100) for _ in range(count)) if rng.random() < 0.5 else (),
        classes=(0b111,) if rng.random() < 0.5 else (),
        keyed=frozenset(pair for pair in found.selectivities if rng.random() < 0.5),
        blocks=tuple(rng.random() for _ in range(count)) if rng.random() < 0.5 else (),
    )


def over_json(memory: PlanMemory) -> PlanMemory:
    text = json.dumps(plans_as_json({"q": {"key": memory}}, 64))
    return plans_from_json(json.loads(text))["q"]["key"]


@pytest.mark.parametrize("seed", range(40))
def test_graphs_and_trees_come_back_from_json_as_they_were(seed: int) -> None:
    draw, graph = Seeded(seed), any_graph(seed)
    assert JoinGraph.from_json(json.loads(json.dumps(graph.as_json()))) == graph
    tree = any_tree(draw, range(graph.count))
    for each in (tree, with_orders(draw, tree)):
        assert tree_from_json(json.loads(json.dumps(tree_as_json(each))), graph.count) == each
    memory = PlanMemory(tree, graph, ((graph, tree),), (1.5, 2.5), Limits(2, 1 << 30))
    assert over_json(memory) == memory
    assert over_json(replace(memory, chosen_for=None)).chosen_for is None


@pytest.mark.parametrize(
    "damaged",
    [
        {"inputs": [0, 1]},
        {"inputs": [0, {"inputs": [1, 1]}]},
        {"inputs": [0, 1, 3]},
        {"inputs": [0, 1, 2], "orders": [[1], [0], [0]]},
        {"inputs": [2]},
        {"inputs": "abc"},
        [0, 1, 2],
        1,
    ],
)
def test_what_is_no_tree_over_the_inputs_is_refused(damaged: object) -> None:
    with pytest.raises((ValueError, AssertionError, TypeError, AttributeError)):
        tree_from_json(damaged, 3)


def graph(first: float, second: float, window: float = 5.0) -> JoinGraph:
    return JoinGraph.within((100.0,) * 3, {(0, 1): first, (1, 2): second}, window)


EASY, SWAPPED = graph(0.001, 0.2), graph(0.2, 0.001)


def no_search(of: JoinGraph) -> JoinTree:
    raise AssertionError("a plan was searched")


def restarted(memory: PlanMemory, now: JoinGraph, runs: JoinTree) -> Controller:
    """A controller that knows what another one has left, from JSON."""
    found = Controller(runs, now, no_search, UNITS, is_chosen=False)
    found.recall(over_json(memory))
    return found


def known() -> PlanMemory:
    """Of a controller that has seen both loads."""
    before = Controller(left_deep(3), EASY, lambda of: OTHER, UNITS)
    before.history.note(EASY, left_deep(3))
    for at in (10.0, 20.0):
        look = Look(at, SWAPPED)
        proposal = before.look(look)
        if proposal is not None:
            before.changed(proposal, look)
    assert before.tree == OTHER and len(before.memory.plans) == 2
    return before.memory


def test_a_load_that_comes_back_after_a_restart_gets_its_plan_back_without_a_search() -> None:
    later = restarted(known(), graph(0.0011, 0.2), OTHER)
    looks = [Look(10.0 * n, graph(0.0011, 0.2)) for n in range(5, 8)]
    proposals = [each for each in map(later.look, looks) if each is not None]
    assert [each.tree for each in proposals][:1] == [left_deep(3)]
    assert proposals[0].reason.startswith("rates or selectivities have changed by a factor of")


def test_a_plan_that_was_chosen_by_measurement_is_still_after_a_restart() -> None:
    later = restarted(known(), graph(0.21, 0.001), OTHER)
    assert later.is_chosen and later.chosen_for == SWAPPED
    assert [later.look(Look(10.0 * n, graph(0.21, 0.001))) for n in range(5, 9)] == [None] * 4
    assert later.memory == known()


def test_a_plan_that_another_one_runs_instead_of_was_not_chosen() -> None:
    later = restarted(known(), SWAPPED, left_deep(3))
    assert not later.is_chosen and len(later.history.plans) == 2


@pytest.mark.parametrize(
    "now",
    [
        JoinGraph.within((100.0,) * 4, {(0, 1): 0.2, (1, 2): 0.001, (2, 3): 0.1}, 5.0),
        graph(0.2, 0.001, window=6.0),
        JoinGraph.within((100.0,) * 3, {(0, 1): 0.2, (0, 2): 0.001}, 5.0),
        replace(SWAPPED, keyed=frozenset({(0, 1)})),
        replace(SWAPPED, classes=(0b111,)),
    ],
)
def test_a_join_that_is_another_one_now_does_not_get_its_plans(now: JoinGraph) -> None:
    later = restarted(known(), now, OTHER)
    assert (later.history.plans, later.is_chosen, later._changes) == ([], False, [])


def test_plans_that_were_chosen_within_other_limits_are_not_used() -> None:
    later = Controller(OTHER, SWAPPED, no_search, UNITS, limits=Limits(2, 1000), is_chosen=False)
    later.recall(known())
    assert not later.history.plans and not later.is_chosen


def test_changes_of_load_in_rows_that_are_read_again_do_not_count_twice() -> None:
    later = restarted(replace(known(), changes=(100.0, 200.0)), EASY, OTHER)
    for at in (150.0, 160.0):
        look = Look(at, EASY)
        proposal = later.look(look)
        if proposal is not None:
            later.changed(proposal, look)
    assert later._changes == [100.0, 160.0] and later.lasts(EASY) == 60.0


def test_all_joins_together_keep_few_plans_the_latest_of_each() -> None:
    plans = tuple((graph(0.001, 2.0**-n), OTHER) for n in range(10))
    memory = PlanMemory(OTHER, EASY, plans)
    queries = {"q": {"one": memory, "two": memory}, "other": {"one": memory}}
    kept = plans_from_json(plans_as_json(queries, 6))
    assert {name: [*joins] for name, joins in kept.items()} == {
        "q": ["one", "two"],
        "other": ["one"],
    }
    assert all(each.plans == plans[-2:] for joins in kept.values() for each in joins.values())
    few = plans_from_json(plans_as_json(queries, 2))
    assert {name: [*joins] for name, joins in few.items()} == {"q": ["two"], "other": ["one"]}
