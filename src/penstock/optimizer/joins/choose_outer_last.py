"""Choose whether a left join comes last: below the inner joins around it, or above them.

    Join (a left b), c                   Join left (a, c), b

Both give the same rows where the inner join asks nothing of `b` (`outer_last.py`). Below, every row
of `a` brings its partners along, which the inner join then stores and pairs; above, only the rows
look for one that have found their `c`. What costs less follows from how many partners rows have. A
left join gives every row with each of its partners, or alone: of m partners on average, and as they
fall by chance, that makes `m + exp(-m)` rows of one.

What is known of the pairs of `a` and `c` may have been measured with the left join below, as pairs
of its results and `c`: that is the same share as long as nothing is asked of `b`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from penstock.kernel.joins.mjoin import MJoinSpec
from penstock.model.joins import JoinKind
from penstock.optimizer.cost.joins import JoinCost, JoinUnits
from penstock.optimizer.join_figures import GUESSED, Figure, JoinFigures, join_figures
from penstock.optimizer.joins.choose_tree import (
    MEASURED_GAIN,
    best_shape,
    is_better,
    limits_of,
    said,
)
from penstock.optimizer.joins.graph_of import graph_of
from penstock.optimizer.joins.ordered_trees import OrderedTrees
from penstock.optimizer.joins.outer_last import outer_last
from penstock.optimizer.joins.pareto import CostedShape
from penstock.optimizer.options import Options
from penstock.optimizer.physical import PhysicalPlan
from penstock.optimizer.specs import ProjectSpec, SelectSpec, WindowJoinSpec
from penstock.optimizer.statistics import Statistics
from penstock.plan.nodes import Join


@dataclass(frozen=True)
class OuterLast:
    """A left join that can come last: what is joined below it then, and what either way takes."""

    inner: Join
    left: Join
    last: JoinCost
    below: JoinCost
    source: str  # where the figures come from
    is_taken: bool

    @property
    def reason(self) -> str:
        """Why it comes last, or does not."""
        if self.is_taken:
            way, cost, other = "comes last", self.last, "below the other joins it would take"
        else:
            way, cost, other = "stays below", self.below, "as the last one it would take"
        rest = self.below if self.is_taken else self.last
        return f"the left join {way}: estimated {said(cost)}, {other} {said(rest)}, {self.source}"


def choose_outer_last(join: Join, options: Options, statistics: Statistics) -> OuterLast | None:
    """The left join below an inner one that had better come last, else the best that cannot.

    None: there is none that could, or too little is known.
    """
    found = [*_weighed(join, options, statistics)]
    return min(found, key=lambda each: (not each.is_taken, each.last.processor), default=None)


def runs_last(plan: PhysicalPlan) -> bool:
    """Whether no left join of a plan is below an inner one."""
    return not any(
        _kind(_joined(below)) is JoinKind.LEFT
        for each in plan.walk()
        if _kind(each) is JoinKind.INNER
        for below in each.inputs
    )


def _joined(plan: PhysicalPlan) -> PhysicalPlan:
    """What gives the rows that a plan passes on."""
    while isinstance(plan.spec, ProjectSpec | SelectSpec):
        [plan] = plan.inputs
    return plan


def _kind(plan: PhysicalPlan) -> JoinKind | None:
    if not isinstance(plan.spec, WindowJoinSpec):
        return None
    join = plan.spec.join
    return JoinKind.INNER if isinstance(join, MJoinSpec) else join.kind


def _weighed(join: Join, options: Options, statistics: Statistics) -> Iterator[OuterLast]:
    units, limits = JoinUnits.of(statistics.join_costs), limits_of(options, statistics)
    for number, left in enumerate(join.inputs):
        if not isinstance(left, Join) or left.kind is not JoinKind.LEFT:
            continue
        parts = outer_last(join, left.names[1])
        figures = None if parts is None else _figures(join, parts[0], left, number, statistics)
        if parts is None or figures is None:
            continue
        inner, _ = parts
        of_last, of_below, of_left = figures
        graphs = graph_of(inner, of_last), graph_of(join, of_below)
        last, below = (best_shape(OrderedTrees(graph, units), limits).plan for graph in graphs)
        # What the left join itself takes, of rows of `a`, and of results of the others.
        rows = graphs[0].rate(graphs[0].everything)
        wide = graphs[0].width(graphs[0].everything)
        of_results = replace(
            of_left,
            rates=(replace(of_left.rates[0], value=rows), of_left.rates[1]),
            widths=(replace(of_left.widths[0], value=wide), of_left.widths[1]),
        )
        above, beneath = (
            OrderedTrees(graph_of(left, each), units).cost((0, 1)) for each in (of_results, of_left)
        )
        last = CostedShape(last.shape, last.cost + above)
        below = CostedShape(below.shape, below.cost + beneath)
        taken = is_better(last, below, limits, MEASURED_GAIN)
        yield OuterLast(inner, left, last.cost, below.cost, of_left.source, taken)


def _figures(
    join: Join, inner: Join, left: Join, number: int, statistics: Statistics
) -> tuple[JoinFigures, JoinFigures, JoinFigures] | None:
    """What is known of the inner join with the left join last, and below it, and of that one."""
    last, below, of_left = (join_figures(each, statistics) for each in (inner, join, left))
    if len(last.rates) != len(inner.inputs) or len(below.rates) != len(join.inputs):
        return None
    rate = _known(last.rates[number], of_left.rates[0])
    of_left = replace(of_left, rates=(rate, of_left.rates[1]))
    if GUESSED in (of_left.source, *(each.source for each in of_left.rates)):
        return None
    shares = {
        pair: _known(last.selectivities[pair], below.selectivities[pair])
        for pair in last.selectivities.keys() & below.selectivities.keys()
    }
    if any(each.source == GUESSED for each in shares.values()):
        return None
    rates = list(last.rates)
    rates[number] = rate
    together = list(below.rates)
    if together[number].source == GUESSED:
        together[number] = replace(rate, value=rate.value * _rows_of_one(left, of_left))
    if any(each.source == GUESSED for each in rates):
        return None
    return (
        replace(last, rates=tuple(rates), selectivities={**last.selectivities, **shares}),
        replace(below, rates=tuple(together), selectivities={**below.selectivities, **shares}),
        of_left,
    )


def _rows_of_one(left: Join, figures: JoinFigures) -> float:
    """How many rows a left join makes of one.

    With no partner it is the row itself, and of many partners one with each.
    """
    graph = graph_of(left, figures)
    partners = graph.rate(graph.everything) / max(graph.rates[0], 1e-300)
    return partners + math.exp(-partners)


def _known(one: Figure, other: Figure) -> Figure:
    """The figure that is known better."""
    return other if one.source == GUESSED else one
