"""Controller: watches one join, and says when another plan would serve it better, and why.

Every look measures: rates, selectivities, what is stored, what waits. When a trigger asks for it, a
plan is looked for, in the history of plans first. It is proposed if

    it is cheaper by enough    estimates are not exact, and a plan must not go to and fro
    it pays                    what it saves until the load changes again, which is guessed by how
                               long loads have lasted so far, is more than what the migration takes
    it was so before           the look before found the same plan better, unless resources are
                               short already

What is proposed is carried out or only told, as `SET adapt` says; the host tells what came of it.
Spec: dynamic-optimization 6.2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from penstock.optimizer.adaptation.migration_cost import MigrationCost, cheapest
from penstock.optimizer.adaptation.plan_history import PlanHistory, drift
from penstock.optimizer.adaptation.triggers import JoinLoad, Triggers
from penstock.optimizer.cost.joins import JoinCost, JoinUnits, tree_cost
from penstock.optimizer.joins.join_graph import JoinGraph
from penstock.optimizer.joins.join_tree import JoinTree

Search = Callable[[JoinGraph], JoinTree]
"""Finds the plan for a load."""

#: How many times as cheap another plan must be.
GAIN = 1.25
#: What a migration saves must be so many times what it takes.
PAYS = 1.5
#: Seconds that a load is guessed to last before any has ended, in windows of the join.
WINDOWS = 10.0


@dataclass(frozen=True)
class Look:
    """What is measured; `at` in seconds of the host's clock."""

    at: float
    graph: JoinGraph
    memory: float = 0.0
    waiting: float = 0.0
    inside: float = 0.0


@dataclass(frozen=True)
class Proposal:
    """Another plan, what it takes beside the one that runs, and how to get there."""

    tree: JoinTree
    reason: str
    now: JoinCost
    then: JoinCost
    migration: MigrationCost

    @property
    def gain(self) -> float:
        """How many times as cheap it is."""
        return self.now.processor / max(self.then.processor, 1e-12)


@dataclass
class Controller:
    """`tree` runs, and was chosen for `chosen_for`; `longest_pause` in the unit of the costs."""

    tree: JoinTree
    chosen_for: JoinGraph
    search: Search
    units: JoinUnits
    triggers: Triggers = field(default_factory=Triggers)
    history: PlanHistory = field(default_factory=PlanHistory)
    longest_pause: float = float("inf")
    is_chosen: bool = True  # by measurement; else it was guessed, and any load is news
    _seen: list[JoinLoad] = field(default_factory=list)
    _looked_at: float = float("-inf")
    _changes: list[float] = field(default_factory=list)  # when loads have changed
    _found: JoinTree | None = None  # by the look before, which did not propose it yet

    def look(self, look: Look) -> Proposal | None:
        """What to do by what is measured now; None: stay."""
        far = drift(self.chosen_for, look.graph) if self.is_chosen else float("inf")
        self._seen.append(JoinLoad(look.at, far, look.memory, look.waiting, look.inside))
        self._seen = self._seen[-8:]
        reason = self.triggers.reason(self._seen, self._looked_at)
        if reason is None:
            return None
        self._looked_at = look.at
        tree = self.history.nearest(look.graph) or self.search(look.graph)
        if tree == self.tree:
            self._keep(look)
            return None
        text = reason.text if self.is_chosen else "it was chosen before anything was measured"
        found = self._weighed(look, tree, text)
        if found is None:
            self._found = None
            return None
        if not reason.is_urgent and self._found != tree:
            # Once more before anything is done; at the next look, not an interval later.
            self._found, self._looked_at = tree, float("-inf")
            return None
        return found

    def changed(self, proposal: Proposal, look: Look) -> None:
        """The proposal is carried out."""
        self.tree, self.chosen_for, self.is_chosen = proposal.tree, look.graph, True
        self.history.note(look.graph, proposal.tree)
        self._changes = [*self._changes, look.at][-8:]
        self._found, self._seen = None, []

    def lasts(self, graph: JoinGraph) -> float:
        """Seconds that a load is expected to last."""
        if len(self._changes) < 2:
            return WINDOWS * float(graph.windows.reach.max())
        return (self._changes[-1] - self._changes[0]) / (len(self._changes) - 1)

    def _keep(self, look: Look) -> None:
        """The plan that runs is the best for this load, too."""
        self.chosen_for, self.is_chosen, self._found = look.graph, True, None
        self.history.note(look.graph, self.tree)

    def _weighed(self, look: Look, tree: JoinTree, reason: str) -> Proposal | None:
        now, then = (tree_cost(look.graph, each, self.units) for each in (self.tree, tree))
        migration = cheapest(look.graph, self.tree, tree, self.units, self.longest_pause)
        saved = (now.processor - then.processor) * self.lasts(look.graph)
        pays = now.processor >= GAIN * then.processor and saved >= PAYS * migration.processor
        relieves = self.triggers.is_short(look.memory) and then.memory < now.memory
        return Proposal(tree, reason, now, then, migration) if pays or relieves else None


def shown(proposal: Proposal, names: Sequence[str], unit: str = "s") -> str:
    """A proposal in words."""
    tree = spelled(proposal.tree, names)
    method = {"ms": "Moving State", "pt": "Parallel Track"}[proposal.migration.method]
    return (
        f"{tree}: {proposal.reason}; estimated {proposal.then.processor:,.3g} {unit} of processor "
        f"time a second instead of {proposal.now.processor:,.3g}, {proposal.then.rows:,.0f} rows "
        f"stored instead of {proposal.now.rows:,.0f}; by {method}, "
        f"{proposal.migration.processor:,.3g} {unit}"
    )


def spelled(tree: JoinTree, names: Sequence[str]) -> str:
    """A tree with the names of its inputs, as `SET join_order` takes it.

    >>> from penstock.optimizer.joins.join_tree import left_deep
    >>> spelled(left_deep(3), ["a", "b", "c"])
    '((a, b), c)'
    """
    if isinstance(tree, int):
        return names[tree]
    return f"({', '.join(spelled(part, names) for part in tree.inputs)})"
