"""PlanMemory: what is known of the plans of one join, for a controller that begins later.

After a restart a join runs as before, and its loads come back as before. So the controller goes on
from the load by which the plan was chosen that runs, with the plans that served other loads, and
with how long loads last. It takes over only what is about the join as it is then
(`Controller.recall`): windows, predicates and limits may be others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from penstock.optimizer.joins.join_graph import JoinGraph
from penstock.optimizer.joins.join_tree import JoinTree, tree_as_json, tree_from_json
from penstock.optimizer.joins.pareto import Limits

Plans: TypeAlias = "Mapping[str, Mapping[str, PlanMemory]]"
"""By query, and by join (`join_key`)."""


@dataclass(frozen=True)
class PlanMemory:
    """`tree` ran, and was chosen for `chosen_for`, within `limits`; None: it was guessed."""

    tree: JoinTree
    chosen_for: JoinGraph | None = None
    plans: tuple[tuple[JoinGraph, JoinTree], ...] = ()  # as in `PlanHistory`
    changes: tuple[float, ...] = ()  # when loads have changed, in seconds of the rows' time
    limits: Limits = field(default_factory=Limits)

    @property
    def is_empty(self) -> bool:
        """Whether a controller would begin no other way without it."""
        return self.chosen_for is None and not self.plans

    def latest(self, most: int) -> PlanMemory:
        """With at most so many plans, those that were noted last."""
        return replace(self, plans=self.plans[-most:])

    def as_json(self) -> dict[str, Any]:
        return {
            "tree": tree_as_json(self.tree),
            "chosen_for": None if self.chosen_for is None else self.chosen_for.as_json(),
            "plans": [[graph.as_json(), tree_as_json(tree)] for graph, tree in self.plans],
            "changes": [*self.changes],
            "limits": [self.limits.processor, self.limits.memory],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> PlanMemory:
        chosen_for = data["chosen_for"]
        graph = None if chosen_for is None else JoinGraph.from_json(chosen_for)
        plans = tuple(map(_plan, data["plans"]))
        known = graph or plans[0][0]
        tree = tree_from_json(data["tree"], known.count)
        limits = Limits(*map(float, data["limits"]))
        return cls(tree, graph, plans, tuple(map(float, data["changes"])), limits)


def _plan(data: Sequence[Any]) -> tuple[JoinGraph, JoinTree]:
    graph = JoinGraph.from_json(data[0])
    return graph, tree_from_json(data[1], graph.count)


def plans_as_json(plans: Plans, most: int) -> dict[str, Any]:
    """What is known of queries, with at most so many plans and joins: each join has its share."""
    known = [
        (query, key, memory) for query, joins in plans.items() for key, memory in joins.items()
    ][-most:]
    found: dict[str, Any] = {}
    for query, key, memory in known:
        found.setdefault(query, {})[key] = memory.latest(most // len(known)).as_json()
    return found


def plans_from_json(data: Mapping[str, Any]) -> Plans:
    return {
        query: {key: PlanMemory.from_json(memory) for key, memory in joins.items()}
        for query, joins in data.items()
    }
