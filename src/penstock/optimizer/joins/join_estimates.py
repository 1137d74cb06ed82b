"""Join estimates: what the joins of a plan are estimated to take, by operator.

EXPLAIN (ANALYZE) puts it beside what they took; EXPLAIN (ALTERNATIVES) marks the shape that runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from penstock.kernel.joins.mjoin import MJoinSpec
from penstock.optimizer.cost.joins import costs_by_operator
from penstock.optimizer.joins.box import input_names, joins_of
from penstock.optimizer.joins.choose_tree import TreeChoice
from penstock.optimizer.joins.inputs import inputs_of
from penstock.optimizer.joins.join_tree import Branch, JoinTree, leaves_of
from penstock.optimizer.joins.named_tree import tree_text
from penstock.optimizer.joins.ordered_trees import in_order, shape_of_tree
from penstock.optimizer.joins.pareto import CostedShape
from penstock.optimizer.physical import PhysicalPlan
from penstock.optimizer.specs import WindowJoinSpec


@dataclass(frozen=True)
class JoinEstimate:
    """Of an operator: the inputs that it joins, seconds that a row of any input takes, and the rows
    and bytes that are stored."""

    title: str
    seconds_per_row: float
    rows: float
    bytes: float


def join_estimates(
    plan: PhysicalPlan, choices: Iterable[TreeChoice]
) -> Iterator[tuple[str, JoinEstimate]]:
    """By operators of a plan; joins of two inputs alone are not estimated."""
    for choice in choices:
        found = running_join(plan, choice.names_within)
        if found is None:
            continue
        top, tree = found
        costs = costs_by_operator(choice.graph_as_it_came, tree, choice.units)
        for join, (branch, cost) in zip(joins_of(top), costs, strict=True):
            inputs = [inputs_of(leaves_of(each)) for each in branch.inputs]
            rate = sum(map(choice.graph.rate, inputs))
            title = tree_text(branch, choice.names)
            each = cost.processor / rate if rate else 0.0
            yield join.id, JoinEstimate(title, each, cost.rows, cost.memory)


def with_running(choice: TreeChoice, plan: PhysicalPlan) -> TreeChoice:
    """A choice that knows in which shape its join runs."""
    found = running_join(plan, choice.names_within)
    if found is None:
        return choice
    _, tree = found
    return replace(choice, running=CostedShape(in_order(shape_of_tree(tree)), choice.cost_of(tree)))


def running_join(
    plan: PhysicalPlan, names: Sequence[Sequence[str]]
) -> tuple[PhysicalPlan, JoinTree] | None:
    """The last operator of a join in a plan, and its shape; None: there is none.

    `names` are those of each input, of which there may be several if it is itself a join.
    """
    for each in reversed(plan.walk()):
        tree = _tree(each, names) if isinstance(each.spec, WindowJoinSpec) else None
        if tree is not None and sorted(leaves_of(tree)) == [*range(len(names))]:
            return each, tree
    return None


def _tree(plan: PhysicalPlan, names: Sequence[Sequence[str]]) -> JoinTree | None:
    """The shape of joins over inputs of these names; None: it has others."""
    joins = joins_of(plan)
    if not joins:
        return None
    top, parts = joins[-1], []
    for name, below in zip(input_names(top), top.inputs, strict=True):
        known = (n for n, own in enumerate(names) if name in own)
        part = _tree(below, names) if joins_of(below) else next(known, None)
        if part is None:
            return None
        parts.append(part)
    assert isinstance(top.spec, WindowJoinSpec)
    join = top.spec.join
    return Branch(tuple(parts), join.orders if isinstance(join, MJoinSpec) else ())
