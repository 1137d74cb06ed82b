"""The cost of trees of joins: the published equations, and the published settings."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from penstock.optimizer.cost.joins import JoinUnits, costs_by_operator, operator_cost, tree_cost
from penstock.optimizer.joins.exhaustive import all_shapes
from penstock.optimizer.joins.inputs import inputs_of
from penstock.optimizer.joins.join_graph import OVERHEAD, JoinGraph
from penstock.optimizer.joins.join_tree import Branch, at_once
from penstock.optimizer.joins.join_windows import JoinWindows
from penstock.optimizer.joins.ordered_trees import OrderedTrees, Shape
from tests.optimizer.joins.graphs import PUBLISHED

MATCH, PROBE = JoinUnits(), JoinUnits(mode="probe")
#: A→B→C, B→A→C, C→B→A.
MJOIN = Branch((0, 1, 2), ((1, 2), (0, 2), (1, 0)))
BJTREE = Branch((Branch((0, 1)), 2))


@pytest.mark.parametrize("seed", range(20))
def test_the_published_equations_are_cases_of_the_general_form(seed: int) -> None:
    rng = random.Random(seed)
    a, b, c, w = (rng.uniform(0.1, 100) for _ in range(4))
    ab, bc = rng.random(), rng.random()
    units = JoinUnits(insert=rng.random(), delete=rng.random(), pair=rng.random())
    ci_cd, cj = units.insert + units.delete, units.pair
    graph = JoinGraph.within((a, b, c), {(0, 1): ab, (1, 2): bc}, w)
    abc = a * b * c * ab * bc

    mjoin, bjtree = tree_cost(graph, MJOIN, units), tree_cost(graph, BJTREE, units)
    # (4.2): (4.1) is what A adds to it, and B and C alike.
    of_a = a * ci_cd + (a * b * ab * w + abc * w**2) * cj
    of_b = b * ci_cd + (a * b * ab * w + abc * w**2) * cj
    of_c = c * ci_cd + (b * c * bc * w + abc * w**2) * cj
    assert mjoin.processor == pytest.approx(of_a + of_b + of_c)
    assert mjoin.processor == pytest.approx(
        (a + b + c) * ci_cd + b * c * bc * w * cj + 3 * abc * w**2 * cj + 2 * a * b * ab * w * cj
    )
    assert mjoin.memory == pytest.approx((a + b + c) * w)  # (4.3)
    assert bjtree.processor == pytest.approx(  # (4.4)
        (a + b + c) * ci_cd + 3 * abc * w**2 * cj + 2 * a * b * ab * w * (cj + ci_cd)
    )
    assert bjtree.memory == pytest.approx(mjoin.memory + a * b * ab * w**2)  # (4.5)
    recomputing, maintaining = b * c * bc * w * cj, 2 * a * b * ab * w * ci_cd
    assert (mjoin.processor > bjtree.processor) == (recomputing > maintaining)


#: State rows and probes a second; the last of several is the plan that was found to suit.
PLANS: list[tuple[int, Shape, float, float]] = [
    (1, (0, 1, 2), 300, 126_000),
    (1, ((0, 1), 2), 800, 34_000),
    (2, (0, 1, 2), 1_350, 2_457_000),
    (2, ((0, 1), 2), 3_150, 282_000),
    (3, (0, 1, 2, 3), 600, 2_121_000),
    (3, ((0, 1), (2, 3)), 5_100, 1_356_000),
    (3, (0, 1, (2, 3)), 2_850, 1_738_500),
    (4, (0, 1, 2, 3), 4_000, 445_880_000),
    (4, ((0, 1), (2, 3)), 74_000, 80_080_000),
    (4, ((0, 1), 2, 3), 24_000, 200_880_000),
]


@pytest.mark.parametrize(("number", "shape", "rows", "probes"), PLANS)
def test_the_published_settings(number: int, shape: Shape, rows: float, probes: float) -> None:
    trees = OrderedTrees(PUBLISHED[number], PROBE)
    cost = tree_cost(PUBLISHED[number], trees.tree(shape), PROBE)
    assert [cost.rows, cost.processor] == pytest.approx([rows, probes])
    assert trees.cost(shape).processor == pytest.approx(probes)


@pytest.mark.parametrize("number", PUBLISHED)
def test_in_the_published_settings_memory_buys_processor_time(number: int) -> None:
    plans = sorted((probes, rows) for of, _, rows, probes in PLANS if of == number)
    assert [rows for _, rows in plans] == sorted((rows for _, rows in plans), reverse=True)


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_the_published_trees_of_two_are_the_best_of_their_kind(number: int) -> None:
    trees = OrderedTrees(PUBLISHED[number], PROBE)
    of_two = [shape for shape in all_shapes(trees.graph.count) if _is_of_two(shape)]
    best = min(of_two, key=lambda shape: trees.cost(shape).processor)
    published = next(shape for of, shape, *_ in PLANS if of == number and _is_of_two(shape))
    assert trees.cost(best).processor == pytest.approx(trees.cost(published).processor)


def test_charging_matches_hides_what_nested_loops_take() -> None:
    graph = PUBLISHED[2]
    assert tree_cost(graph, MJOIN, MATCH).processor == pytest.approx(142_740)
    assert tree_cost(graph, BJTREE, MATCH).processor == pytest.approx(135_240)


def test_asking_a_state_costs_whether_or_not_it_has_partners() -> None:
    graph = JoinGraph.within((2.0, 3.0), {(0, 1): 1e-12}, 1.0)
    cost = tree_cost(graph, Branch((0, 1)), JoinUnits(lookup=7.0))
    assert cost.processor == pytest.approx(7 * 5)


def test_memory_counts_bytes_where_widths_are_known() -> None:
    windows = PUBLISHED[1].windows
    graph = JoinGraph((20, 20, 20), PUBLISHED[1].selectivities, windows, (10, 10, 10))
    cost = tree_cost(graph, BJTREE, MATCH)
    assert [cost.rows, cost.memory] == pytest.approx([800, 3000 + 500 * 20 + 800 * OVERHEAD])


def in_blocks(blocks: float, count: int = 3, window: float = 2.0) -> JoinGraph:
    """A chain whose rows come in so many blocks a second, as our operators see it."""
    bands = {(i, j): (-window, window) for j in range(count) for i in range(j)}
    windows = JoinWindows(count, bands, whole_runs=True)
    pairs = {(n, n + 1): 0.001 for n in range(count - 1)}
    rates, widths = (1000.0,) * count, (24.0,) * count
    return JoinGraph(rates, pairs, windows, widths, (), frozenset(pairs), (blocks,) * count)


def test_every_block_asks_every_other_input_of_an_operator() -> None:
    units = JoinUnits(pair=0.0, block=1.0)
    assert tree_cost(in_blocks(3.0), at_once(3), units).processor == pytest.approx(3 * 3 * 2)
    # Results come with every block of either input.
    assert tree_cost(in_blocks(3.0), BJTREE, units).processor == pytest.approx(3 * (2 + 3))


def test_a_block_for_which_nothing_is_found_asks_no_further_input() -> None:
    units, blocks = JoinUnits(pair=0.0, block=1.0), 3.0
    alone = replace(in_blocks(blocks), selectivities={(0, 1): 0.0, (1, 2): 0.0})
    orders = ((1, 2), (0, 2), (1, 0))
    at_once = tree_cost(alone, Branch((0, 1, 2), orders), units)
    assert at_once.processor == pytest.approx(3 * blocks, rel=1e-3)
    # a and b ask each other, and c asks what is found, of which nothing comes.
    assert tree_cost(alone, BJTREE, units).processor == pytest.approx(3 * blocks, rel=1e-3)


def test_results_come_in_no_more_blocks_than_there_are_of_them() -> None:
    few = replace(in_blocks(100.0), selectivities={(0, 1): 1e-7, (1, 2): 1e-7})
    assert few.blocks_of(0b011) == pytest.approx(few.rate(0b011), rel=0.01)
    assert in_blocks(100.0).blocks_of(0b011) == pytest.approx(200.0, rel=0.01)


def test_a_row_is_looked_up_in_every_run() -> None:
    units = JoinUnits(pair=0.0, lookup=1.0)
    two = Branch((0, 1))
    assert tree_cost(in_blocks(0.1, 2), two, units).processor == pytest.approx(2000)
    assert tree_cost(in_blocks(2.0, 2), two, units).processor == pytest.approx(4 * 2000)
    assert tree_cost(in_blocks(100.0, 2), two, units).processor == pytest.approx(5 * 2000)


def test_what_other_windows_forbid_is_tried_all_the_same() -> None:
    """By one band a row of c lies near one of a; whether it is near that of b is looked at then."""
    graph, units = in_blocks(1.0), JoinUnits(pair=64.0)
    both = operator_cost(graph, [0b011, 0b100], (), units).processor
    rows = graph.rate(0b011) * graph.rate(0b100) * 0.001 * 4.0
    assert both == pytest.approx(rows * (24 + 24 - 8 + 24))
    assert rows > 1.3 * graph.rate(0b111)


def test_an_operator_without_orders_asks_the_smallest_store_of_a_neighbour_next() -> None:
    """Others have no predicate with what is there, and it never goes to them."""
    graph = JoinGraph.within((9.0, 1.0, 5.0), {(0, 1): 0.5, (0, 2): 0.5}, 1.0)
    inputs = [inputs_of([each]) for each in range(3)]
    chosen = operator_cost(graph, inputs, (), MATCH)
    assert chosen == operator_cost(graph, inputs, ((1, 2), (0, 2), (0, 1)), MATCH)


def test_operators_add_up_to_their_tree() -> None:
    costs = costs_by_operator(PUBLISHED[1], BJTREE, PROBE)
    assert [str(branch) for branch, _ in costs] == ["(0, 1)", "((0, 1), 2)"]
    total = tree_cost(PUBLISHED[1], BJTREE, PROBE)
    assert sum(cost.processor for _, cost in costs) == pytest.approx(total.processor)


def _is_of_two(shape: Shape) -> bool:
    return isinstance(shape, int) or (len(shape) == 2 and all(map(_is_of_two, shape)))


def test_conditions_that_are_no_keys_are_tried_on_all_pairs_in_the_window() -> None:
    keyed = in_blocks(1.0, 2)
    graph = replace(keyed, keyed=frozenset())
    pairs = [
        tree_cost(each, Branch((0, 1)), JoinUnits(pair=1.0)).processor for each in (keyed, graph)
    ]
    assert pairs[1] == pytest.approx(1000 * pairs[0])


def test_partners_are_taken_out_of_each_run_that_has_some() -> None:
    units, two = JoinUnits(pair=0.0, run=1.0), at_once(2)
    # Two inputs of four blocks a second, whose blocks find thousands of pairs in each of eight.
    many = in_blocks(4.0, 2)
    [runs, _] = many.runs([1, 2], many.windows.stays([1, 2]))
    assert tree_cost(many, two, units).processor == pytest.approx(8 * runs, rel=0.01)
    few = replace(many, selectivities=dict.fromkeys(many.selectivities, 1e-9))
    assert tree_cost(few, two, units).processor < 0.1
    unknown = replace(many, blocks=())
    assert tree_cost(unknown, two, units).processor == 0
