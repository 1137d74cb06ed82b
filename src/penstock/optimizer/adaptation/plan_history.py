"""PlanHistory: plans with what was measured when they were chosen.

Loads come back: with the hour, with the day of the week. A plan that was the best for rates and
selectivities like those of now is proposed again without a search, however many inputs there are.
Spec: dynamic-optimization 6.2, query logging.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from penstock.optimizer.joins.join_graph import LEAST, JoinGraph
from penstock.optimizer.joins.join_tree import JoinTree

#: Loads are alike if nothing in them differs by more than this factor.
ALIKE = 1.25
#: Plans that are remembered; the one that was not used for longest goes first.
MOST = 64


def drift(before: JoinGraph, now: JoinGraph) -> float:
    """The greatest factor by which a rate or a selectivity has changed in proportion to others.

    If everything comes twice as often, no plan gets better or worse beside another one by that
    alone, but for what storing costs; so only half of a change that all rates have in common
    counts, as an exponent.

    >>> one = JoinGraph.within((10, 10), {(0, 1): 0.1}, 1.0)
    >>> other = JoinGraph.within((10, 10), {(0, 1): 0.2}, 1.0)
    >>> round(drift(one, other), 3), drift(one, one)
    (2.0, 1.0)
    """
    rates = [
        math.log(max(b, LEAST) / max(a, LEAST))
        for a, b in zip(before.rates, now.rates, strict=True)
    ]
    common = sum(rates) / len(rates)
    changes = [abs(each - common / 2) for each in rates]
    for pair in before.selectivities.keys() | now.selectivities.keys():
        one, other = (max(graph.selectivities.get(pair, 1.0), LEAST) for graph in (before, now))
        changes.append(abs(math.log(other / one)))
    return math.exp(max(changes))


@dataclass
class PlanHistory:
    """The plans of one join."""

    plans: list[tuple[JoinGraph, JoinTree]] = field(default_factory=list)

    def nearest(self, graph: JoinGraph) -> JoinTree | None:
        """The plan that was chosen under a load like this one; None: there was no such load."""
        found = min(self.plans, key=lambda each: drift(each[0], graph), default=None)
        if found is None or drift(found[0], graph) > ALIKE:
            return None
        return found[1]

    def note(self, graph: JoinGraph, tree: JoinTree) -> None:
        """Remember a plan, in place of one for a load like this."""
        self.plans = [each for each in self.plans if drift(each[0], graph) > ALIKE]
        self.plans = [*self.plans, (graph, tree)][-MOST:]
