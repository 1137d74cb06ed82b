"""Which shape a join of a query gets, and what it is told about it."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from penstock.catalog.catalog import Catalog
from penstock.kernel.statistics.measured_join import MeasuredJoin
from penstock.optimizer.join_statistics import InputFigures, JoinStatistics, PairFigures
from penstock.optimizer.joins.alternatives import (
    choices_of,
    explain_alternatives,
    marks_of,
)
from penstock.optimizer.joins.choose_tree import TreeChoice, choose_tree
from penstock.optimizer.joins.flat_join import flat_join
from penstock.optimizer.joins.named_tree import named_tree, tree_text
from penstock.optimizer.measured_joins import measured_join
from penstock.optimizer.options import Options
from penstock.optimizer.statistics import Statistics
from penstock.plan import nodes
from penstock.plan.graph import walk
from penstock.runtime.declarations import apply
from penstock.sql.parse.parser import parse

STREAMS = "".join(
    f"CREATE STREAM {name} (k BIGINT, x BIGINT, y BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;"
    for name in "abcdef"
)
CHAIN = "a.k = b.k AND b.x = c.x"


def query(where: str, names: str = "abc") -> nodes.Node:
    catalog = Catalog()
    inputs = ", ".join(f"{name} [RANGE 10 SECONDS]" for name in names)
    for statement in parse(f"{STREAMS}CREATE QUERY q AS SELECT a.y FROM {inputs} WHERE {where}"):
        apply(statement, catalog)
    [entry] = catalog.queries
    return entry.plan


def join_of(where: str, names: str = "abc") -> nodes.Join:
    [join] = [node for node in walk(query(where, names)) if isinstance(node, nodes.Join)]
    return join


def known(
    of: MeasuredJoin, rates: dict[str, float], shares: dict[tuple[int, int], float]
) -> JoinStatistics:
    """What would have been measured of a join: rows a second, and which share of pairs match."""
    second = 1_000_000
    inputs = {
        each.key: InputFigures(each.title, rates[each.title], second, 40 * rates[each.title], 1000)
        for each in of.inputs
    }
    pairs = {
        pair.key: {of.width.bit_length(): PairFigures("", shares[pair.ends], 1.0, 0.0, 1000)}
        for pair in of.pairs
    }
    return JoinStatistics(inputs, pairs)


def chosen(
    join: nodes.Join,
    rates: dict[str, float] | None = None,
    shares: dict[tuple[int, int], float] | None = None,
    options: Options | None = None,
) -> TreeChoice:
    statistics = Statistics()
    if rates is not None and shares is not None:
        joins = known(measured_join(flat_join(join)), rates, shares)
        statistics = replace(statistics, joins=joins)
    choice = choose_tree(join, options or Options(), statistics)
    assert choice is not None
    return choice


def test_where_nothing_is_known_the_written_order_is_kept_and_that_is_said() -> None:
    choice = chosen(join_of(CHAIN))
    assert choice.is_written
    assert "by guessed rates and selectivities" in choice.reason
    assert "in the written order, since nothing is known yet" in choice.reason


def test_that_other_plans_are_no_better_is_said_only_if_it_is_so() -> None:
    """By what is guessed all inputs at once take less, and the written order is kept."""
    choice = chosen(join_of(CHAIN))
    at_once = choice.trees.cost(choice.trees.at_once)
    assert at_once.processor < choice.taken.cost.processor
    assert "no other" not in choice.reason
    rates = dict.fromkeys("abc", 100.0)
    best = chosen(join_of(CHAIN), rates, {(0, 1): 1e-5, (1, 2): 0.5})
    assert "in the written order: no other is better" in best.reason
    near = chosen(join_of(CHAIN), rates, {(0, 1): 1.05e-4, (1, 2): 1e-4})
    assert "in the written order: the best other, (a, (b, c)), takes " in near.reason


def test_but_not_if_it_pairs_rows_that_have_nothing_in_common() -> None:
    choice = chosen(join_of("a.k = c.k AND b.x = c.x"))
    assert not choice.is_written
    assert choice.taken.cost.processor < choice.written.cost.processor / 5
    assert "the written order takes" in choice.reason


def test_measured_selectivities_decide() -> None:
    rates = dict.fromkeys("abc", 100.0)
    choice = chosen(join_of(CHAIN), rates, {(0, 1): 0.5, (1, 2): 1e-5})
    assert tree_text(choice.taken.shape, choice.names) == "(a, (b, c))"
    assert "by measured rates and selectivities; the written order takes" in choice.reason
    as_written = chosen(join_of(CHAIN), rates, {(0, 1): 1e-5, (1, 2): 0.5})
    assert as_written.is_written


def test_measured_rates_decide() -> None:
    choice = chosen(join_of(CHAIN), {"a": 1000.0, "b": 1.0, "c": 1.0}, {(0, 1): 0.1, (1, 2): 0.1})
    assert tree_text(choice.taken.shape, choice.names) == "(a, (b, c))"


def test_a_limit_of_memory_makes_all_inputs_meet_at_once() -> None:
    join, rates = join_of(CHAIN), dict.fromkeys("abc", 1000.0)
    shares = {(0, 1): 0.02, (1, 2): 2e-5}
    ample = chosen(join, rates, shares, Options(memory_limit="100 GB", cpu_limit=1e6))
    scarce = chosen(join, rates, shares, Options(memory_limit="2 MB", cpu_limit=1e6))
    assert ample.taken.cost.memory > 2 << 20
    assert tree_text(scarce.taken.shape, scarce.names) == "(a, b, c)"
    assert "memory is scarcer (all inputs at once take " in scarce.reason


def test_where_memory_is_scarcer_less_memory_is_better_than_the_written_order() -> None:
    """Both are within the limits, and all inputs at once take more processor time."""
    join, rates = join_of(CHAIN), dict.fromkeys("abc", 100.0)
    shares = {(0, 1): 1e-3, (1, 2): 1e-3}
    ample = chosen(join, rates, shares)
    at_once = ample.trees.cost(ample.trees.at_once)
    assert ample.is_written
    assert at_once.memory < 0.9 * ample.written.cost.memory
    assert at_once.processor > ample.written.cost.processor
    limit = f"{ample.written.cost.memory * 1.5:.0f} B"
    scarce = chosen(join, rates, shares, Options(memory_limit=limit))
    assert scarce.limits.allow(scarce.written.cost)
    assert tree_text(scarce.taken.shape, scarce.names) == "(a, b, c)"
    assert "so that least memory counts" in scarce.reason


def test_what_no_plan_satisfies_is_told() -> None:
    rates, shares = dict.fromkeys("abc", 100.0), {(0, 1): 0.5, (1, 2): 1e-5}
    choice = chosen(join_of(CHAIN), rates, shares, Options(memory_limit="1 KB", cpu_limit=0.5))
    told = "no plan that was compared is within the limits, 0.5 cores and 1 KB: this one is above"
    assert f"{told} and exceeds them least" in choice.reason


def test_that_the_written_order_is_above_a_limit_which_others_keep_is_told() -> None:
    choice = chosen(join_of(CHAIN), options=Options(memory_limit="1 MB"))
    assert choice.is_written
    assert "; above the limits, 2 cores and 1 MB; " in choice.reason


def test_figures_that_are_guessed_beside_measured_ones_are_told() -> None:
    join = join_of(CHAIN)
    of = measured_join(flat_join(join))
    joins = known(of, dict.fromkeys("abc", 100.0), {(0, 1): 0.5, (1, 2): 1e-5})
    some = {key: each for key, each in joins.inputs.items() if each.title != "b"}
    statistics = replace(Statistics(), joins=replace(joins, inputs=some))
    choice = choose_tree(join, Options(), statistics)
    assert choice is not None
    assert "by measured rates and selectivities, some of them guessed" in choice.reason


@pytest.mark.parametrize(
    ("options", "set_by", "shape"),
    [
        (Options(join="mjoin"), "join = mjoin", "(a, b, c)"),
        (Options(mode="iop"), "mode = iop", "(a, b, c)"),
        (Options(join_order="written"), "join_order = written", "((a, b), c)"),
        (Options(join_order="(c, (b, a))"), "join_order = '(c, (b, a))'", "((a, b), c)"),
    ],
)
def test_a_setting_that_leaves_no_choice_is_the_reason(
    options: Options, set_by: str, shape: str
) -> None:
    plan = query(CHAIN)
    [join] = [node for node in walk(plan) if isinstance(node, nodes.Join)]
    joins = known(
        measured_join(flat_join(join)), dict.fromkeys("abc", 9.0), {(0, 1): 0.5, (1, 2): 1e-5}
    )
    statistics = replace(Statistics(), joins=joins)
    [choice] = choices_of(plan, options, statistics)
    assert tree_text(choice.taken.shape, choice.names) == shape
    assert f"; as {set_by} asks for; the best other, (a, (b, c)), takes " in choice.reason
    marks = {tree_text(of, choice.names): told for of, told in marks_of(choice).items()}
    assert marks[shape][0] == "set"
    assert marks["(a, (b, c))"] == ("best",)
    assert len(choice.plans) == 4


def test_a_join_of_two_has_no_alternatives() -> None:
    plan = query("a.k = b.k", "ab")
    assert choices_of(plan, Options(), Statistics()) == []
    assert explain_alternatives(plan, Options(), Statistics()).startswith("No alternatives")


def test_alternatives_are_shown_with_what_they_are_to_take() -> None:
    text = explain_alternatives(query(CHAIN), Options(), Statistics())
    assert "All 4 plans were compared (exhaustive); limits: 2 cores and 4 GB" in text
    for line in ("((a, b), c) ", "(a, b, c) ", "((a, c), b) ", "(a, (b, c)) "):
        assert line in text
    assert "chosen, as written" in text
    assert "all at once" in text
    assert "results/s" in text
    assert "e+0" not in text


def test_of_many_inputs_all_at_once_is_shown_as_well() -> None:
    names = "abcdef"
    where = " AND ".join(f"{one}.k = {other}.x" for one, other in pairwise(names))
    text = explain_alternatives(query(where, names), Options(), Statistics())
    assert " plans were compared, of many more (bjtree-init" in text
    assert "(a, b, c, d, e, f) " in text


def test_the_trees_of_a_join_are_those_that_join_order_takes() -> None:
    """An input that is itself a join goes by its first name, and others in backquotes."""
    odd = "odd, (name)"
    script = STREAMS + (
        f"CREATE STREAM `{odd}` (k BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;"
        "CREATE QUERY q AS SELECT a.y FROM a LEFT JOIN d ON a.x = d.x WITHIN 9 SECONDS "
        f"JOIN b ON a.k = b.k WITHIN 9 SECONDS JOIN `{odd}` AS `{odd}` ON b.k = `{odd}`.k "
        "WITHIN 9 SECONDS"
    )
    catalog = Catalog()
    for statement in parse(script):
        apply(statement, catalog)
    [entry] = catalog.queries
    [choice] = choices_of(entry.plan, Options(), Statistics())
    assert choice.title == f"a (with d), b, {odd}"
    assert choice.trees.graph.count == 3
    for plan in choice.plans:
        order = tree_text(plan.shape, choice.names)
        assert tree_text(named_tree(order)) == order
        [set_so] = choices_of(entry.plan, Options(join_order=order), Statistics())
        assert set_so.taken.shape == plan.shape


def test_by_one_key_every_input_counts_once() -> None:
    choice = chosen(join_of("a.k = b.k AND b.k = c.k"))
    assert choice.graph.classes == (0b111,)
    assert choice.graph.product(0b111) == pytest.approx(100.0**3 * 0.01**2)
