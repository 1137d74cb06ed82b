"""Alternatives: the shapes that a query's joins could have, and what each is estimated to take.

EXPLAIN (ALTERNATIVES) shows, for every join of three inputs and more, the plan that is taken, the
written order, all inputs at once, and the best of the others; then what each operator of the plan
that is taken is to take. Where a setting decides, that plan is the one that is taken, and the best
is among the others. Of left joins below them that could come last it says whether they do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from penstock.model.joins import JoinKind
from penstock.model.number_text import number_text, share_text
from penstock.model.sizes import size_text
from penstock.model.text_table import text_table
from penstock.optimizer.cost.joins import JoinCost, costs_by_operator
from penstock.optimizer.joins.choose_outer_last import OuterLast, choose_outer_last
from penstock.optimizer.joins.choose_tree import TreeChoice, choose_tree, limits_text
from penstock.optimizer.joins.inputs import inputs_of
from penstock.optimizer.joins.join_tree import leaves_of
from penstock.optimizer.joins.named_tree import tree_text
from penstock.optimizer.joins.ordered_trees import Shape, in_order, shape_of_tree
from penstock.optimizer.joins.pareto import CostedShape, pareto_front
from penstock.optimizer.joins.shape_of import (
    may_choose,
    shape_of,
    shape_setting,
    without_outer_last,
)
from penstock.optimizer.joins.strategy import ALIKE, EXHAUSTIVE, MOST_PLANS
from penstock.optimizer.options import Options
from penstock.optimizer.statistics import Statistics
from penstock.plan.graph import walk
from penstock.plan.nodes import Join, Node

#: How many plans are shown of a join.
SHOWN = 12


def choices_of(plan: Node, options: Options, statistics: Statistics) -> list[TreeChoice]:
    """What there was to choose from, for each join of several inputs in a query."""
    joins, _ = _inner_joins(plan, options, statistics)
    found = (_choice(join, options, statistics) for join in joins)
    return [choice for choice in found if choice is not None]


def _choice(join: Join, options: Options, statistics: Statistics) -> TreeChoice | None:
    """What there is to choose from, and what settings leave of it."""
    set_by = shape_setting(join, options)
    join, options = without_outer_last(join, options)
    choice = choose_tree(join, options, statistics)
    if choice is None or not set_by:
        return choice
    tree = shape_of(join, options, statistics)
    taken = CostedShape(in_order(shape_of_tree(tree)), choice.cost_of(tree))
    return replace(choice, taken=taken, set_by=set_by, set_tree=tree)


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
        while may_choose(join, options) and (
            (found := choose_outer_last(join, options, statistics)) is not None
        ):
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
    head = f"Join of {choice.title}: {choice.reason}\n{_compared(choice)}"
    return "\n".join([head, "", text_table(_rows(choice)), "", text_table([*_operators(choice)])])


def _compared(choice: TreeChoice) -> str:
    """Which plans there were, and by what they were judged."""
    count, limits = len(choice.plans), limits_text(choice.limits)
    if choice.found.strategy == EXHAUSTIVE:
        said = f"All {count} plans were compared (exhaustive)"
    else:
        said = f"{count} plans were compared, of many more ({choice.found.strategy}"
        said += f", which ends after {MOST_PLANS} plans)" if choice.found.is_cut else ")"
    said += f"; limits: {limits}"
    if not choice.set_by and not choice.is_written and _has_cheaper(choice):
        said += (
            f"\nPlans count as equal if their processor time differs by less than {ALIKE:.0%}: "
            "of them the one that takes least memory is taken"
        )
    return said


def _has_cheaper(choice: TreeChoice) -> bool:
    """Whether another plan would take less processor time, where that counts."""
    taken = choice.taken.cost.processor
    return choice.found.scarcer != "memory" and any(
        plan.cost.processor < taken and choice.limits.allow(plan.cost) for plan in choice.plans
    )


def _rows(choice: TreeChoice) -> list[tuple[str, ...]]:
    marks = marks_of(choice)
    front = {plan.shape for plan in pareto_front(choice.plans)}
    shown = sorted(choice.plans, key=lambda plan: (plan.shape not in marks, plan.cost.processor))
    rows: list[tuple[str, ...]] = [("plan", "of a core", "memory", "rows stored", "")]
    for plan in shown[:SHOWN]:
        notes = [*marks.get(plan.shape, ()), *(["Pareto front"] if plan.shape in front else [])]
        if not choice.limits.allow(plan.cost):
            notes.append("above the limits")
        rows.append((tree_text(plan.shape, choice.names), *_figures(plan.cost), ", ".join(notes)))
    if len(shown) > SHOWN:
        rows.append((f"and {len(shown) - SHOWN} more", "", "", "", ""))
    return rows


def _figures(cost: JoinCost) -> tuple[str, str, str]:
    return share_text(cost.processor), size_text(cost.memory), f"{cost.rows:,.0f}"


def marks_of(choice: TreeChoice) -> Mapping[Shape, tuple[str, ...]]:
    """The plans that have a name."""
    taken, running = choice.taken.shape, choice.running
    runs = taken if running is None else running.shape
    named = [("chosen" if runs == taken else "best by now", taken)]
    if choice.set_by:
        named = [("set", taken), ("best", choice.found.plan.shape)]
    if running is not None:
        named.append(("runs", runs))
    named += [("as written", choice.written.shape), ("all at once", choice.trees.at_once)]
    found: dict[Shape, tuple[str, ...]] = {}
    for name, shape in named:
        found[shape] = (*found.get(shape, ()), name)
    return found


def _operators(choice: TreeChoice) -> Iterator[tuple[str, ...]]:
    """What each operator of the plan that is taken is to take."""
    yield (
        f"operators of what is {_taken(choice)}",
        "of a core",
        "memory",
        "rows stored",
        "results/s",
    )
    for branch, cost in costs_by_operator(choice.graph, choice.tree, choice.units):
        results = choice.graph.rate(inputs_of(leaves_of(branch)))
        yield tree_text(branch, choice.names), *_figures(cost), number_text(results)


def _taken(choice: TreeChoice) -> str:
    """What the plan is called that is taken."""
    return marks_of(choice)[choice.taken.shape][0]
