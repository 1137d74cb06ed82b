"""A left join comes last where that changes no row, and only there."""

from __future__ import annotations

import random

import pytest

from penstock.errors import NotExecutable
from penstock.model.joins import JoinKind
from penstock.model.timestamps import SECOND
from penstock.optimizer.join_statistics import InputFigures, JoinStatistics, PairFigures
from penstock.optimizer.joins.choose_outer_last import choose_outer_last
from penstock.optimizer.joins.flat_join import flat_join
from penstock.optimizer.joins.shape_of import shape_joins
from penstock.optimizer.measured_joins import joins_of, measured_join
from penstock.optimizer.options import Options
from penstock.optimizer.statistics import Statistics
from penstock.oracle.evaluate import evaluate, same_rows
from penstock.plan.graph import walk
from penstock.plan.nodes import Join, Node
from tests.optimizer.plans import plan

LEFT = "SELECT * FROM a LEFT JOIN b ON a.k = b.k AND a.v < b.v WITHIN 4 SECONDS "
AND_C = "JOIN slack s ON {0}.v = s.v AND s.ts BETWEEN {0}.ts AND {0}.ts + INTERVAL 5 SECONDS "
AND_D = "JOIN a AS d ON d.k = a.k AND d.ts BETWEEN s.ts AND s.ts + INTERVAL 3 SECONDS "


def rows(seed: int) -> dict[str, list[dict[str, object]]]:
    chance = random.Random(seed)
    return {
        stream: [
            {
                "k": chance.choice(["x", "y", None]),
                "v": chance.choice([0, 1, 2, None]),
                "ts": chance.randrange(12) * 1_000_000,
            }
            for _ in range(12)
        ]
        for stream in ("a", "b", "slack")
    }


def in_shape(node: Node, order: str) -> Node:
    return shape_joins({"q": node}, Options(join_order=order), Statistics())["q"]


@pytest.mark.parametrize(
    ("text", "order"),
    [
        (LEFT + AND_C.format("a"), "((a, s), b)"),
        (LEFT + AND_C.format("a"), "((s, a), b)"),
        (LEFT + AND_C.format("a") + AND_D, "((a, s, d), b)"),
        (LEFT + AND_C.format("a") + AND_D, "((a, (d, s)), b)"),
    ],
)
def test_a_left_join_that_nothing_is_asked_of_comes_last(text: str, order: str) -> None:
    asked = plan(text)
    made = in_shape(asked, order)
    assert made.schema == asked.schema
    top = next(node for node in reversed(walk(made)) if isinstance(node, Join))
    assert top.kind is JoinKind.LEFT
    for seed in range(5):
        assert same_rows(evaluate(made, rows(seed)), evaluate(asked, rows(seed)))


def test_one_that_something_is_asked_of_stays_below() -> None:
    with pytest.raises(NotExecutable, match="cannot join in the order"):
        in_shape(plan(LEFT + AND_C.format("b") + AND_D), "((a, s, d), b)")


def test_an_order_of_other_inputs_is_refused_with_those_that_there_are() -> None:
    text = "SELECT * FROM a [RANGE 1 SECOND], b [RANGE 1 SECOND], slack s [RANGE 1 SECOND]"
    with pytest.raises(NotExecutable, match="`x` is not an input of the join of `a`, `b`, `s`"):
        in_shape(plan(text), "((a, b), x)")
    with pytest.raises(NotExecutable, match="`s` is an input of the join, too"):
        in_shape(plan(text), "(a, b)")
    with pytest.raises(NotExecutable, match="only if all inputs are joined at once"):
        shape_joins(
            {"q": plan(text)},
            Options(join_order="((a, b), s)", join="filter_order"),
            Statistics(),
        )


# -- chosen by what is known ----------------------------------------------------------------------


def known(node: Node, rates: dict[str, float], shares: dict[str, float]) -> Statistics:
    """What would have been measured with the left join below; shares by text of the predicate."""
    inputs: dict[str, InputFigures] = {}
    pairs: dict[str, dict[int, PairFigures]] = {}
    for join in joins_of([node]):
        of = measured_join(flat_join(join))
        for each in of.inputs:
            if each.title in rates:
                rate = rates[each.title]
                inputs[each.key] = InputFigures(each.title, rate, SECOND, 24 * rate, 1000)
        predicates = [(each.key, each.title) for each in of.pairs]
        for key, title in [*predicates, *((each.key, each.title) for each in of.conditions)]:
            figures = PairFigures(title, shares.get(title, 0.5), 1.0, 0.0, 1000)
            pairs[key] = {of.width.bit_length(): figures}
    return Statistics(joins=JoinStatistics(inputs, pairs))


def chosen(node: Node, statistics: Statistics) -> Node:
    return shape_joins({"q": node}, Options(), statistics)["q"]


def kinds(node: Node) -> list[JoinKind]:
    """Of its joins, from below."""
    return [each.kind for each in walk(node) if isinstance(each, Join)]


RATES = {"a": 100.0, "b": 100.0, "slack": 100.0}
MANY = {"a.k = b.k": 0.5}


@pytest.mark.parametrize("further", ["", AND_D])
def test_a_left_join_of_many_partners_comes_last_behind_one_of_few(further: str) -> None:
    asked = plan(LEFT + AND_C.format("a") + further)
    made = chosen(asked, known(asked, RATES, {**MANY, "a.v = s.v": 1e-5}))
    assert kinds(made)[-1] is JoinKind.LEFT
    top = next(node for node in reversed(walk(made)) if isinstance(node, Join))
    assert "the left join comes last: estimated" in top.note
    assert made.schema == asked.schema
    for seed in range(5):
        assert same_rows(evaluate(made, rows(seed)), evaluate(asked, rows(seed)))


def test_a_left_join_of_few_partners_stays_below_one_of_many() -> None:
    asked = plan(LEFT + AND_C.format("a"))
    known_before = known(asked, RATES, {"a.k = b.k": 1e-5, "a.v = s.v": 0.5})
    assert kinds(chosen(asked, known_before))[-1] is JoinKind.INNER
    [join] = [
        node for node in walk(asked) if isinstance(node, Join) and node.kind is JoinKind.INNER
    ]
    found = choose_outer_last(join, Options(), known_before)
    assert found is not None
    assert "the left join stays below" in found.reason


def test_nothing_is_chosen_where_nothing_is_known_or_something_is_asked_of_it() -> None:
    asked = plan(LEFT + AND_C.format("a"))
    assert kinds(chosen(asked, Statistics()))[-1] is JoinKind.INNER
    of_b = plan(LEFT + AND_C.format("b"))
    assert kinds(chosen(of_b, known(of_b, RATES, MANY)))[-1] is JoinKind.INNER
