"""When a join gets another plan, and when it does not."""

from __future__ import annotations

from penstock.optimizer.adaptation.controller import Controller, Look, Proposal, shown
from penstock.optimizer.adaptation.plan_history import PlanHistory, drift
from penstock.optimizer.adaptation.triggers import Triggers
from penstock.optimizer.cost.joins import JoinUnits
from penstock.optimizer.joins.join_graph import JoinGraph
from penstock.optimizer.joins.join_tree import Branch, JoinTree, left_deep
from penstock.optimizer.joins.ordered_trees import OrderedTrees
from penstock.optimizer.joins.pareto import Limits
from penstock.optimizer.joins.strategy import choose_shape

UNITS = JoinUnits(insert=1.0, delete=1.0, pair=1.0)


def graph(first: float, second: float, rate: float = 100.0) -> JoinGraph:
    return JoinGraph.within((rate,) * 3, {(0, 1): first, (1, 2): second}, 5.0)


def search(of: JoinGraph) -> JoinTree:
    trees = OrderedTrees(of, UNITS)
    return trees.tree(choose_shape(trees, Limits()).plan.shape)


def controller(of: JoinGraph, **others: object) -> Controller:
    return Controller(search(of), of, search, UNITS, **others)  # type: ignore[arg-type]


def run(watching: Controller, looks: list[Look]) -> list[Proposal]:
    """All proposals, which are carried out."""
    found = []
    for look in looks:
        proposal = watching.look(look)
        if proposal is not None:
            watching.changed(proposal, look)
            found.append(proposal)
    return found


EASY, SWAPPED = graph(0.001, 0.2), graph(0.2, 0.001)


def test_a_load_that_stays_changes_nothing():
    assert run(controller(EASY), [Look(10.0 * n, EASY) for n in range(1, 50)]) == []


def test_selectivities_that_swap_bring_another_plan_at_the_second_look():
    looks = [Look(10.0 * n, EASY if n < 5 else SWAPPED) for n in range(1, 20)]
    watching = controller(EASY)
    [proposal] = run(watching, looks)
    assert proposal.tree == search(SWAPPED) == watching.tree
    assert proposal.gain > 2
    assert proposal.reason == "rates or selectivities have changed by a factor of 200"
    text = shown(proposal, ["a", "b", "c"])
    assert text.startswith("(a, (b, c)): rates or selectivities have changed")
    assert "by Moving State" in text


def test_small_changes_to_and_fro_change_nothing():
    one, other = graph(0.010, 0.013), graph(0.013, 0.010)
    looks = [Look(10.0 * n, one if n % 2 else other) for n in range(1, 50)]
    assert run(controller(one), looks) == []


def test_a_load_that_changes_faster_than_a_migration_pays_changes_no_plan():
    watching = controller(EASY)
    watching._changes = [0.0, 0.001]  # loads have lasted a millisecond so far
    assert run(watching, [Look(10.0 * n, SWAPPED) for n in range(1, 10)]) == []


def test_a_plan_that_was_guessed_is_looked_at_when_anything_is_measured():
    watching = Controller(left_deep(3), EASY, search, UNITS, is_chosen=False)
    looks = [Look(10.0 * n, SWAPPED) for n in range(1, 10)]
    [proposal] = run(watching, looks)
    assert proposal.reason == "it was chosen before anything was measured"


def test_memory_near_its_limit_brings_a_smaller_plan_at_once():
    few = graph(0.2, 0.2)
    small = Branch((0, 1, 2))
    watching = Controller(
        left_deep(3), few, lambda of: small, UNITS, Triggers(memory=1000.0), is_chosen=True
    )
    [proposal] = run(watching, [Look(1.0, few, memory=980.0)])
    assert proposal.tree == small
    assert proposal.then.memory < proposal.now.memory


def test_memory_near_its_limit_has_a_plan_searched_though_this_one_served_such_loads():
    small = Branch((0, 1, 2))
    watching = Controller(
        left_deep(3), graph(0.2, 0.2), lambda of: small, UNITS, Triggers(memory=1000.0)
    )
    creeping = [graph(0.2 * 1.1**step, 0.2) for step in range(4)]
    looks = [
        Look(10.0 * step, load, memory=memory, in_doubt=False)
        for step, (load, memory) in enumerate(zip(creeping, (500, 700, 880, 950), strict=True))
    ]
    watching.history.note(creeping[2], left_deep(3))
    [proposal] = run(watching, looks)
    assert proposal.tree == small
    assert proposal.reason == "what is stored takes 95% of its limit"


def test_a_load_that_comes_back_gets_its_plan_back_without_a_search():
    asked = []

    def counted(of: JoinGraph) -> JoinTree:
        asked.append(of)
        return search(of)

    watching = Controller(search(EASY), EASY, counted, UNITS)
    watching.history.note(EASY, search(EASY))
    days = [EASY if n // 10 % 2 == 0 else SWAPPED for n in range(80)]
    proposals = run(watching, [Look(100.0 * n, of) for n, of in enumerate(days)])
    assert [each.tree for each in proposals] == [search(SWAPPED), search(EASY)] * 3 + [
        search(SWAPPED)
    ]
    assert len(asked) == 2  # the first swap, at two looks


def test_the_history_finds_the_nearest_load_and_keeps_one_plan_for_each():
    history = PlanHistory()
    history.note(EASY, left_deep(3))
    history.note(SWAPPED, Branch((0, Branch((1, 2)))))
    assert history.nearest(graph(0.0011, 0.2)) == left_deep(3)
    assert history.nearest(graph(0.01, 0.01)) is None
    history.note(graph(0.0011, 0.2), Branch((0, 1, 2)))
    assert len(history.plans) == 2
    assert drift(EASY, graph(0.001, 0.2, rate=400.0)) == 2.0
