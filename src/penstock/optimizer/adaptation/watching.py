"""Watching: the joins of one query whose plan is ours to choose, each with its controller.

Whoever runs the query tells by which plan it does, and what is known of its joins whenever that has
changed, and is told what to do. Time is that of the rows: rates count by it, so what a plan saves
does, too; and a run over old rows adapts as it would have when they came. What is looked at besides
rates and selectivities:

    memory     what the operators of the join store
    waiting    rows in front of the join: on Spark, what has come for a batch
    inside     rows that its operators have handed to each other since the look before, a second
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from penstock.model.timestamps import BEGINNING, END, SECOND
from penstock.optimizer.adaptation.controller import Controller, Look, Proposal, Search
from penstock.optimizer.adaptation.plan_memory import PlanMemory
from penstock.optimizer.adaptation.triggers import Triggers
from penstock.optimizer.cost.joins import JoinUnits
from penstock.optimizer.join_figures import GUESSED, join_figures
from penstock.optimizer.join_statistics import JoinStatistics
from penstock.optimizer.joins.box import joins_of
from penstock.optimizer.joins.choose_tree import limits_of
from penstock.optimizer.joins.graph_of import graph_of
from penstock.optimizer.joins.join_estimates import running_join
from penstock.optimizer.joins.join_graph import JoinGraph
from penstock.optimizer.joins.join_tree import JoinTree
from penstock.optimizer.joins.named_tree import tree_names
from penstock.optimizer.joins.ordered_trees import OrderedTrees
from penstock.optimizer.joins.pareto import Limits
from penstock.optimizer.joins.shape_of import is_free, join_key
from penstock.optimizer.joins.strategy import choose_shape
from penstock.optimizer.options import AUTO, Options
from penstock.optimizer.physical import PhysicalPlan
from penstock.optimizer.specs import ParallelTrackSpec
from penstock.optimizer.statistics import Statistics
from penstock.plan.graph import walk
from penstock.plan.nodes import Join, Node

_Box: TypeAlias = "tuple[PhysicalPlan, JoinTree]"


@dataclass(frozen=True)
class OperatorLoads:
    """Of operators, by name: rows that have come out, and bytes that are stored."""

    rows_out: Mapping[str, int] = field(default_factory=dict)
    bytes: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Running:
    """A query as it runs: its operators, and how far its inputs have come, in ticks."""

    plan: PhysicalPlan
    bound: int
    loads: OperatorLoads = OperatorLoads()
    waiting: float = 0.0


@dataclass(frozen=True)
class Advice:
    """What a controller proposes for a join, which is called by its key."""

    key: str
    names: tuple[str, ...]
    proposal: Proposal
    controller: Controller
    look: Look
    how: str  # joins are to give way, as the setting `migration` has it

    def is_carried_out(self) -> None:
        self.controller.changed(self.proposal, self.look)


class Watching:
    """Watches the joins of one query, as it was declared.

    `remembered` is what was known of them before, by their keys.
    """

    def __init__(
        self, plan: Node, options: Options, remembered: Mapping[str, PlanMemory] | None = None
    ) -> None:
        several = (node for node in walk(plan) if isinstance(node, Join) and len(node.inputs) > 2)
        joins = {join_key(join): join for join in several}
        self._joins = {key: join for key, join in joins.items() if is_free(join, options)}
        #: Also of those that are not free now: `join_order` may be auto again.
        self._remembered = {k: each for k, each in (remembered or {}).items() if k in joins}
        self._options = options
        self._controllers: dict[str, Controller] = {}
        self._known: JoinStatistics | None = None
        self._boxes: dict[str, tuple[PhysicalPlan, _Box | None]] = {}  # of the plan that runs
        #: By join, when it was looked at, and how many rows its operators had handed to each other.
        self._handed: dict[str, tuple[float, int]] = {}

    @property
    def standing(self) -> list[tuple[tuple[str, ...], Proposal]]:
        """What would be better by the last look, with the names of inputs."""
        found = ((tree_names(self._joins[key]), c.standing) for key, c in self._controllers.items())
        return [(names, proposal) for names, proposal in found if proposal is not None]

    @property
    def memory(self) -> dict[str, PlanMemory]:
        """What is worth knowing of joins after a restart, by their keys."""
        known = {key: controller.memory for key, controller in self._controllers.items()}
        found = {**self._remembered, **known}
        return {key: memory for key, memory in found.items() if not memory.is_empty}

    def is_news(self, known: JoinStatistics) -> bool:
        """Whether more is known than at the last look."""
        return bool(self._joins) and known is not self._known

    def look(self, running: Running, statistics: Statistics) -> list[Advice]:
        """What to do by what is known now."""
        self._known = statistics.joins
        if running.bound in (BEGINNING, END):
            return []
        found = (self._look(key, join, running, statistics) for key, join in self._joins.items())
        return [advice for advice in found if advice is not None]

    def _look(
        self, key: str, join: Join, running: Running, statistics: Statistics
    ) -> Advice | None:
        box = self._box(running.plan, key)
        figures = join_figures(join, statistics)
        if box is None or figures.source == GUESSED:
            return None
        plan, tree = box
        graph, units = graph_of(join, figures), JoinUnits.of(statistics.join_costs)
        limits = limits_of(self._options, statistics)
        controller = self._controllers.get(key)
        if controller is None:
            controller = Controller(
                tree, graph, _search(units, limits), units, limits=limits, is_chosen=False
            )
            if key in self._remembered:
                controller.recall(self._remembered[key])
            self._controllers[key] = controller
        controller.runs(tree)
        window = float(graph.windows.reach.max())
        controller.search, controller.units = _search(units, limits), units
        controller.limits = limits
        controller.triggers = Triggers(interval=window, memory=limits.memory)
        controller.longest_pause = _longest_pause(self._options, window)
        unit = SECOND if join.schema[join.times[0]].type.is_time else 1
        loads, operators = running.loads, joins_of(plan)
        at = running.bound / unit
        handed = sum(loads.rows_out.get(each.id, 0) for each in operators[:-1])
        since, before = self._handed.get(key, (at, handed))
        inside = max(0, handed - before) / (at - since) if at > since else 0.0
        self._handed[key] = at, handed
        memory = float(sum(loads.bytes.get(each.id, 0) for each in operators))
        look = Look(at, graph, memory, running.waiting, inside, figures.in_doubt)
        proposal = controller.look(look)
        if proposal is None:
            return None
        how = self._options.migration
        if how == AUTO and proposal.migration.method == "pt":
            how = "pt"  # else it is what takes less, unless rows were forgotten that it needs
        return Advice(key, tree_names(join), proposal, controller, look, how)

    def _box(self, plan: PhysicalPlan, key: str) -> _Box | None:
        known = self._boxes.get(key)
        if known is None or known[0] is not plan:
            known = self._boxes[key] = plan, _box_of(plan, self._joins[key])
        return known[1]


def _box_of(plan: PhysicalPlan, join: Join) -> _Box | None:
    """The last operator of a join in a plan, and its shape; None: it is just changing."""
    specs = (part.spec for part in plan.walk())
    if any(isinstance(spec, ParallelTrackSpec) and spec.until for spec in specs):
        return None
    return running_join(plan, join.names_within)


def _search(units: JoinUnits, limits: Limits) -> Search:
    def search(graph: JoinGraph) -> JoinTree:
        trees = OrderedTrees(graph, units)
        return trees.tree(choose_shape(trees, limits).plan.shape)

    return search


def _longest_pause(options: Options, window: float) -> float:
    """How long nothing may come out: for a window, if the setting does not say how joins change."""
    return {AUTO: window, "ms": float("inf")}.get(options.migration, 0.0)
