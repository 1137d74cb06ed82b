"""Controller: watches one join, and says when another plan would serve it better, and why.

Every look measures: rates, selectivities, what is stored, what waits. When a trigger asks for it, a
plan is looked for, in the history of plans first. It is proposed if

    it is cheaper by enough    estimates are not exact, and a plan must not go to and fro
    it pays                    what it saves until the load changes again, which is guessed by how
                               long loads have lasted so far, is more than what the migration takes
    it is certain              no figure is in doubt, or the look before found the same plan better,
                               or resources are short already

What is proposed is carried out or only told, as `SET adapt` says; the host tells what came of it.
Spec: dynamic-optimization 6.2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from penstock.model.sizes import size_text
from penstock.optimizer.adaptation.migration_cost import MigrationCost, cheapest
from penstock.optimizer.adaptation.plan_history import PlanHistory, drift
from penstock.optimizer.adaptation.plan_memory import PlanMemory
from penstock.optimizer.adaptation.triggers import JoinLoad, Triggers
from penstock.optimizer.cost.joins import JoinCost, JoinUnits, tree_cost
from penstock.optimizer.joins.join_graph import JoinGraph
from penstock.optimizer.joins.join_tree import JoinTree
from penstock.optimizer.joins.named_tree import tree_text
from penstock.optimizer.joins.pareto import Limits

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
    """What is measured; `at` in seconds of the time by which rates count.

    `in_doubt`: some figure may be about to change.
    """

    at: float
    graph: JoinGraph
    memory: float = 0.0
    waiting: float = 0.0
    inside: float = 0.0
    in_doubt: bool = True


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
    limits: Limits = field(default_factory=Limits)  # within which plans are searched
    longest_pause: float = float("inf")
    is_chosen: bool = True  # by measurement; else it was guessed, and any load is news
    #: What was found by the last search; None: there is no better plan.
    standing: Proposal | None = None
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
        tree = self.history.nearest(look.graph)
        if tree is None or (reason.is_urgent and tree == self.tree):
            # It served this load while there was enough of everything; now there is not.
            tree = self.search(look.graph)
        text = reason.text if self.is_chosen else "it was chosen before anything was measured"
        found = None if tree == self.tree else self._weighed(look, tree, text)
        if found is None:
            self._stay(look, is_best=tree == self.tree)
            return None
        if look.in_doubt and not reason.is_urgent and self._found != tree:
            # Once more before anything is done; at the next look, not an interval later.
            self._found, self._looked_at = tree, float("-inf")
            return None
        self.standing = found
        return found

    def changed(self, proposal: Proposal, look: Look) -> None:
        """The proposal is carried out."""
        self.tree, self.chosen_for, self.is_chosen = proposal.tree, look.graph, True
        self.history.note(look.graph, proposal.tree)
        # A query that reads its streams again has seen some of the loads to come.
        earlier = (each for each in self._changes if each < look.at)
        self._changes = [*earlier, look.at][-8:]
        self._found, self._seen, self.standing = None, [], None

    def runs(self, tree: JoinTree) -> None:
        """Somebody else has changed the plan."""
        if tree != self.tree:
            self.tree, self.is_chosen, self._found, self.standing = tree, False, None, None

    @property
    def memory(self) -> PlanMemory:
        """What is worth knowing after a restart."""
        return PlanMemory(
            self.tree,
            self.chosen_for if self.is_chosen else None,
            tuple(self.history.plans),
            tuple(self._changes),
            self.limits,
        )

    def recall(self, memory: PlanMemory) -> None:
        """Go on with what was known before, as far as it is about the join as it is now."""
        if memory.limits != self.limits:
            return
        now, before = self.chosen_for, memory.chosen_for
        alike = [each for each in memory.plans if each[0].is_of_same_join(now)]
        if alike:
            self.history, self._changes = PlanHistory(alike), [*memory.changes]
        if memory.tree == self.tree and before is not None and before.is_of_same_join(now):
            self.chosen_for, self.is_chosen = before, True

    def lasts(self, graph: JoinGraph) -> float:
        """Seconds that a load is expected to last."""
        if len(self._changes) < 2:
            return WINDOWS * float(graph.windows.reach.max())
        return (self._changes[-1] - self._changes[0]) / (len(self._changes) - 1)

    def _stay(self, look: Look, *, is_best: bool) -> None:
        """No other plan is worth a migration under this load."""
        self._found, self.standing = None, None
        if look.in_doubt:
            return
        self.chosen_for, self.is_chosen = look.graph, True
        if is_best:
            self.history.note(look.graph, self.tree)

    def _weighed(self, look: Look, tree: JoinTree, reason: str) -> Proposal | None:
        now, then = (tree_cost(look.graph, each, self.units) for each in (self.tree, tree))
        migration = cheapest(look.graph, self.tree, tree, self.units, self.longest_pause)
        saved = (now.processor - then.processor) * self.lasts(look.graph)
        pays = now.processor >= GAIN * then.processor and saved >= PAYS * migration.processor
        relieves = self.triggers.is_short(look.memory) and then.memory < now.memory
        return Proposal(tree, reason, now, then, migration) if pays or relieves else None


def shown(proposal: Proposal, names: Sequence[str]) -> str:
    """A proposal in words; costs are in seconds of a core, and bytes."""
    now, then, migration = proposal.now, proposal.then, proposal.migration
    method = {"ms": "Moving State", "pt": "Parallel Track"}[migration.method]
    return (
        f"{tree_text(proposal.tree, names)}: {proposal.reason}; estimated "
        f"{100 * then.processor:.3g} % of a core instead of {100 * now.processor:.3g} %, "
        f"{size_text(then.memory)} instead of {size_text(now.memory)}; by {method}, which takes "
        f"{migration.processor:.2g} s of a core"
    )
