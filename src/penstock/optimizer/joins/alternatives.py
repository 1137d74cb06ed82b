"""Alternatives: the shapes that a query's joins could have, and what each is estimated to take.

EXPLAIN (ALTERNATIVES) shows, for every join of three inputs and more, the plan that is taken, the
written order, all inputs at once, and the best of the others; then what each operator of the plan
that is taken is to take. Of left joins below them that could come last it says whether they do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from penstock.model.joins import JoinKind
from penstock.model.sizes import size_text
from penstock.model.text_table import text_table
from penstock.optimizer.cost.joins import costs_by_operator
from penstock.optimizer.joins.choose_outer_last import OuterLast, choose_outer_last
from penstock.optimizer.joins.choose_tree import TreeChoice, choose_tree
from penstock.optimizer.joins.inputs import inputs_of
from penstock.optimizer.joins.join_tree import leaves_of
from penstock.optimizer.joins.named_tree import tree_text
from penstock.optimizer.joins.ordered_trees import Shape
from penstock.optimizer.joins.pareto import CostedShape, pareto_front
from penstock.optimizer.options import Options
from penstock.optimizer.statistics import Statistics
from penstock.plan.graph import walk
from penstock.plan.nodes import Join, Node

#: How many plans are shown of a join.
SHOWN = 12


def choices_of(plan: Node, options: Options, statistics: Statistics) -> list[TreeChoice]:
    """What there was to choose from, for each join of several inputs in a query."""
    joins, _ = _inner_joins(plan, options, statistics)
    several = (join for join in joins if len(join.inputs) > 2)
    found = (choose_tree(join, options, statistics) for join in several)
    return [choice for choice in found if choice is not None]


def left_joins_of(plan: Node, options: Options, statistics: Statistics) -> list[OuterLast]:
    """The left joins of a query that could come last, and whether they do."""
    return _inner_joins(plan, options, statistics)[1]


def _inner_joins(
    plan: Node, options: Options, statistics: Statistics
) -> tuple[list[Join], list[OuterLast]]:
    """The inner joins of a query, without left joins below that come last; and those."""
    joins, lefts = [], []
    for node in walk(plan):
        if not isinstance(node, Join) or node.kind is not JoinKind.INNER:
            continue
        join = node
        while (found := choose_outer_last(join, options, statistics)) is not None:
            lefts.append(found)
            if not found.is_taken:
                break
            join = found.inner
        joins.append(join)
    return joins, lefts


def explain_alternatives(plan: Node, options: Options, statistics: Statistics) -> str:
    """What there was to choose from in a query, as text."""
    lefts = left_joins_of(plan, options, statistics)
    return shown_alternatives(choices_of(plan, options, statistics), lefts)


def shown_alternatives(choices: Sequence[TreeChoice], lefts: Sequence[OuterLast] = ()) -> str:
    """What there was to choose from, as text."""
    shown = [f"Left join of {each.left.titles[-1]}: {each.reason}" for each in lefts]
    if not choices and not lefts:
        return "No alternatives: there is no inner join of three inputs and more."
    return "\n\n".join([*shown, *map(_said, choices)])


def _said(choice: TreeChoice) -> str:
    limits = f"{choice.limits.processor:g} cores, {size_text(choice.limits.memory)}"
    plans = choice.plans
    head = (
        f"Join of {', '.join(choice.names)}: {choice.reason}\n"
        f"{len(plans)} plans were compared ({choice.found.strategy}), limits {limits}"
    )
    return "\n".join([head, "", text_table(_rows(choice)), "", text_table([*_operators(choice)])])


def _rows(choice: TreeChoice) -> list[tuple[str, ...]]:
    marks = marks_of(choice)
    front = {plan.shape for plan in pareto_front(choice.plans)}
    shown = sorted(choice.plans, key=lambda plan: (plan.shape not in marks, plan.cost.processor))
    rows: list[tuple[str, ...]] = [("plan", "processor", "memory", "rows stored", "")]
    for plan in shown[:SHOWN]:
        notes = [*marks.get(plan.shape, ()), *(["Pareto front"] if plan.shape in front else [])]
        if not choice.limits.allow(plan.cost):
            notes.append("above the limits")
        rows.append((tree_text(plan.shape, choice.names), *_figures(plan), ", ".join(notes)))
    if len(shown) > SHOWN:
        rows.append((f"and {len(shown) - SHOWN} more", "", "", "", ""))
    return rows


def _figures(plan: CostedShape) -> tuple[str, str, str]:
    cost = plan.cost
    return _share(cost.processor), size_text(cost.memory), f"{cost.rows:,.0f}"


def _share(processor: float) -> str:
    return f"{100 * processor:.3g} %"


def marks_of(choice: TreeChoice) -> Mapping[Shape, tuple[str, ...]]:
    """The plans that have a name."""
    runs = None if choice.running is None else choice.running.shape
    named = (
        ("chosen" if runs in (None, choice.taken.shape) else "best by now", choice.taken.shape),
        ("runs", choice.taken.shape if runs is None else runs),
        ("as written", choice.written.shape),
        ("all at once", choice.trees.at_once),
    )
    found: dict[Shape, tuple[str, ...]] = {}
    for name, shape in named if runs is not None else (named[0], *named[2:]):
        found[shape] = (*found.get(shape, ()), name)
    return found


def _operators(choice: TreeChoice) -> Iterator[tuple[str, ...]]:
    """What each operator of the plan that is taken is to take."""
    yield "operator", "processor", "memory", "rows stored", "results a second"
    for branch, cost in costs_by_operator(choice.graph, choice.tree, choice.units):
        results = choice.graph.rate(inputs_of(leaves_of(branch)))
        figures = _share(cost.processor), size_text(cost.memory), f"{cost.rows:,.0f}"
        yield (tree_text(branch, choice.names), *figures, f"{results:,.3g}")
