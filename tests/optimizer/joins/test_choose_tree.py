"""Which shape a join of a query gets, and what it is told about it."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from penstock.catalog.catalog import Catalog
from penstock.kernel.statistics.measured_join import MeasuredJoin
from penstock.optimizer.join_statistics import InputFigures, JoinStatistics, PairFigures
from penstock.optimizer.joins.alternatives import choices_of, explain_alternatives
from penstock.optimizer.joins.choose_tree import TreeChoice, choose_tree
from penstock.optimizer.joins.flat_join import flat_join
from penstock.optimizer.joins.named_tree import tree_text
from penstock.optimizer.joins.scatter import scatter_svg
from penstock.optimizer.measured_joins import measured_join
from penstock.optimizer.options import Options
from penstock.optimizer.statistics import Statistics
from penstock.plan import nodes
from penstock.plan.graph import walk
from penstock.sql.parse.parser import parse

STREAMS = "".join(
    f"CREATE STREAM {name} (k BIGINT, x BIGINT, y BIGINT, ts TIMESTAMP) TIMESTAMP BY ts;"
    for name in "abcd"
)
CHAIN = "a.k = b.k AND b.x = c.x"


def query(where: str, names: str = "abc") -> nodes.Node:
    catalog = Catalog()
    inputs = ", ".join(f"{name} [RANGE 10 SECONDS]" for name in names)
    for statement in parse(f"{STREAMS}CREATE QUERY q AS SELECT a.y FROM {inputs} WHERE {where}"):
        catalog.apply(statement)
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
    assert "in the written order" in choice.reason


def test_but_not_if_it_pairs_rows_that_have_nothing_in_common() -> None:
    choice = chosen(join_of("a.k = c.k AND b.x = c.x"))
    assert not choice.is_written
    assert choice.taken.cost.processor < choice.written.cost.processor / 5
    assert "the written order takes" in choice.reason


def test_measured_selectivities_decide() -> None:
    rates = dict.fromkeys("abc", 100.0)
    choice = chosen(join_of(CHAIN), rates, {(0, 1): 0.5, (1, 2): 1e-5})
    assert tree_text(choice.taken.shape, choice.names) == "(a, (b, c))"
    assert "measured; the written order takes" in choice.reason
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
    assert "memory is scarcer" in scarce.reason


def test_what_no_plan_satisfies_is_told() -> None:
    choice = chosen(join_of(CHAIN), options=Options(memory_limit="1 KB"))
    assert ", above the limit" in choice.reason


def test_a_join_of_two_has_no_alternatives() -> None:
    plan = query("a.k = b.k", "ab")
    assert choices_of(plan, Options(), Statistics()) == []
    assert explain_alternatives(plan, Options(), Statistics()).startswith("No alternatives")


def test_alternatives_are_shown_with_what_they_are_to_take() -> None:
    text = explain_alternatives(query(CHAIN), Options(), Statistics())
    assert "4 plans were compared (exhaustive), limits 2 cores, 4 GB" in text
    for line in ("((a, b), c) ", "(a, b, c) ", "((a, c), b) ", "(a, (b, c)) "):
        assert line in text
    assert "chosen, as written" in text
    assert "all at once" in text
    assert "results a second" in text


@pytest.mark.parametrize("options", [Options(), Options(memory_limit="1 MB", cpu_limit=0.005)])
def test_the_picture_has_a_point_for_each_plan(options: Options) -> None:
    [choice] = choices_of(query(CHAIN), options, Statistics())
    picture = ET.fromstring(scatter_svg(choice))
    circles = [each for each in picture.iter() if each.tag.endswith("circle")]
    assert len(circles) == 4
    limits = [each for each in picture.iter() if each.get("class") == "limit"]
    assert len(limits) == (0 if options == Options() else 2)


def test_by_one_key_every_input_counts_once() -> None:
    choice = chosen(join_of("a.k = b.k AND b.k = c.k"))
    assert choice.graph.classes == (0b111,)
    assert choice.graph.product(0b111) == pytest.approx(100.0**3 * 0.01**2)
