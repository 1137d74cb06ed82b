"""Choose a tree: the shape in which a join of three inputs and more runs, and why.

What is known of the join (`optimizer/join_figures.py`) makes a join graph, and a strategy
(`strategy.py`) finds the plan that takes least processor time within the limits. The order that is
written is left only for a plan that takes clearly less, of memory where that is scarcer: a tenth
less by what was measured; where nothing is known, only if it pairs rows without a predicate, and
for half as much by what is guessed. Queries whose joins begin alike share that, which other shapes
may not.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace

from penstock.model.number_text import number_text, share_text
from penstock.model.sizes import bytes_of, size_text
from penstock.optimizer.cost.joins import JoinCost, JoinUnits, costs_by_operator, tree_cost
from penstock.optimizer.join_figures import GUESSED, JoinFigures, join_figures
from penstock.optimizer.joins.graph_of import graph_of
from penstock.optimizer.joins.join_graph import JoinGraph
from penstock.optimizer.joins.join_tree import Branch, JoinTree
from penstock.optimizer.joins.named_tree import tree_names, tree_text
from penstock.optimizer.joins.ordered_trees import OrderedTrees, Shape
from penstock.optimizer.joins.pareto import CostedShape, Limits, dominates
from penstock.optimizer.joins.strategy import ChosenShape, Resource, choose_shape
from penstock.optimizer.options import AUTO, Options
from penstock.optimizer.statistics import Statistics
from penstock.plan.nodes import Join

#: What a plan may take of the processor time of the written order, to be preferred to it.
MEASURED_GAIN, GUESSED_GAIN = 0.9, 0.5


@dataclass(frozen=True)
class TreeChoice:
    """The shape of a join, what it is estimated to take, and what else there was."""

    names_within: tuple[tuple[str, ...], ...]  # of each input, see `Join`
    names: tuple[str, ...]  # by which trees call the inputs
    graph: JoinGraph
    units: JoinUnits
    limits: Limits
    source: str  # where the best known of the figures come from
    has_guesses: bool  # some figures, or all, are guessed
    found: ChosenShape
    written: CostedShape
    taken: CostedShape
    is_kept: bool = False  # nothing is known, and the written order needs no second thought
    set_by: str = ""  # the setting that leaves no choice …
    set_tree: JoinTree | None = None  # … but this
    running: CostedShape | None = None  # what runs, where it does
    blocks: tuple[float, ...] = ()  # a second, of each input, as they came; none: not known

    @property
    def trees(self) -> OrderedTrees:
        return OrderedTrees(self.graph, self.units)

    @property
    def graph_as_it_came(self) -> JoinGraph:
        """What is known, with the blocks in which rows came: for what they took.

        Choices leave these out. They are the host's doing: under load, when a choice matters, more
        rows come in a block. And where blocks are small they hide what rows take, so that plans
        look alike that are not.
        """
        return replace(self.graph, blocks=self.blocks)

    @property
    def title(self) -> str:
        """What is joined; what an input is joined with before, in brackets."""
        return ", ".join(
            f"{name} (with {', '.join(others)})" if others else name
            for name, *others in self.names_within
        )

    @property
    def is_written(self) -> bool:
        return self.taken.shape == self.written.shape

    @property
    def tree(self) -> JoinTree:
        return self.set_tree or self.trees.tree(self.taken.shape)

    @property
    def reason(self) -> str:
        """Why, in words, with numbers."""
        known = f"by {self.source} rates and selectivities"
        if self.has_guesses and self.source != GUESSED:
            known += ", some of them guessed"
        parts = [f"estimated {said(self.taken.cost)}, {known}", self._why, self._fit, self._scarce]
        return "; ".join(filter(None, parts))

    @property
    def _why(self) -> str:
        best = f"{tree_text(self.found.plan.shape, self.names)}, takes {said(self.found.plan.cost)}"
        is_best = self.found.plan.shape == self.taken.shape
        if self.set_by:
            return f"as {self.set_by} asks for" + ("" if is_best else f"; the best other, {best}")
        if not self.is_written:
            return f"the written order takes {said(self.written.cost)}"
        if self.is_kept:
            return "in the written order, since nothing is known yet"
        if is_best:
            return "in the written order: no other is better"
        return f"in the written order: the best other, {best}, which is not clearly less"

    @property
    def _fit(self) -> str:
        """What is said of limits that are exceeded."""
        limits = f"{limits_text(self.limits)}"
        if self.limits.allow(self.taken.cost):
            return ""
        if any(self.limits.allow(plan.cost) for plan in self.plans):
            return f"above the limits, {limits}"
        least = " and exceeds them least" if self.taken.shape == self.found.plan.shape else ""
        return f"no plan that was compared is within the limits, {limits}: this one is above{least}"

    @property
    def _scarce(self) -> str:
        processor, memory = (share_text(share, 2) for share in self.found.needed)
        match self.found.scarcer:
            case None:
                return "there is enough processor time and memory"
            case "memory":
                return (
                    f"memory is scarcer (all inputs at once take {memory} of its limit, joins of "
                    f"two {processor} of that of processor time), so that least memory counts"
                )
            case "processor":
                return (
                    f"processor time is scarcer (joins of two take {processor} of its limit, all "
                    f"inputs at once {memory} of that of memory)"
                )

    @property
    def notes(self) -> dict[Branch, str]:
        """What EXPLAIN says of each operator, of the last one also why."""
        costs = costs_by_operator(self.graph, self.tree, self.units)
        notes = {branch: f"estimated {said(cost)}" for branch, cost in costs}
        last, _ = costs[-1]
        notes[last] += f"; {tree_text(self.taken.shape, self.names)}: {self.reason}"
        return notes

    @property
    def plans(self) -> list[CostedShape]:
        """All plans that were looked at, the one that is taken first, each once."""
        at_once = self.trees.at_once
        plans: dict[Shape, CostedShape] = {}
        named = (self.taken, *filter(None, [self.running]), self.written)
        for plan in (*named, *self.found.looked_at):
            plans.setdefault(plan.shape, plan)
        if at_once not in plans:
            plans[at_once] = CostedShape(at_once, self.trees.cost(at_once))
        return [*plans.values()]

    def cost_of(self, tree: JoinTree) -> JoinCost:
        """What another tree of the same join is estimated to take."""
        return tree_cost(self.graph, tree, self.units)


def choose_tree(join: Join, options: Options, statistics: Statistics) -> TreeChoice | None:
    """The shape of an inner join; None: it has two inputs, so there is nothing to choose."""
    figures = join_figures(join, statistics)
    if len(join.inputs) < 3 or len(figures.rates) != len(join.inputs):
        return None
    units = JoinUnits.of(statistics.join_costs)
    trees = OrderedTrees(graph_of(join, figures), units)
    limits = limits_of(options, statistics)
    found = best_shape(trees, limits)
    shape = written_shape(len(join.inputs))
    written = CostedShape(shape, trees.cost(shape))
    source = source_of(figures)
    gain = GUESSED_GAIN if source == GUESSED else MEASURED_GAIN
    is_kept = source == GUESSED and meets_what_matches(join, figures)
    leaves = not is_kept and is_better(found.plan, written, limits, gain, found.scarcer)
    return TreeChoice(
        join.names_within,
        tree_names(join),
        trees.graph,
        units,
        limits,
        source,
        figures.source == GUESSED,
        found,
        written,
        found.plan if leaves else written,
        is_kept,
        blocks=figures.blocks,
    )


#: What was found for a join, by all that counts: a query is optimised several times as it comes.
_KNOWN: OrderedDict[object, ChosenShape] = OrderedDict()


def best_shape(trees: OrderedTrees, limits: Limits) -> ChosenShape:
    """The plan to run within limits; what was looked for once is known."""
    graph = trees.graph
    counts = (
        (graph.rates, graph.widths, graph.classes, tuple(graph.selectivities.items())),
        (graph.keyed, graph.blocks, graph.windows.whole_runs),
        (tuple(graph.windows.bands.items()), graph.windows.tumbling, trees.units, limits),
    )
    if counts not in _KNOWN:
        _KNOWN[counts] = choose_shape(trees, limits)
        if len(_KNOWN) > 64:
            _KNOWN.popitem(last=False)
    return _KNOWN[counts]


def keeps_written(join: Join, statistics: Statistics) -> bool:
    """Whether nothing is known of a join, and its written order needs no second thought."""
    figures = join_figures(join, statistics)
    return source_of(figures) == GUESSED and meets_what_matches(join, figures)


def meets_what_matches(join: Join, figures: JoinFigures) -> bool:
    """Whether every input has a predicate with one that is written before it."""
    later = {j for _, j in (*figures.selectivities, *figures.implied)}
    return later == {*range(1, len(join.inputs))}


def ordered_tree(tree: JoinTree, join: Join, statistics: Statistics) -> JoinTree:
    """A given shape with the best orders; where nothing is known, operators find theirs."""
    figures = join_figures(join, statistics)
    if source_of(figures) == GUESSED or len(figures.rates) != len(join.inputs):
        return tree
    trees = OrderedTrees(graph_of(join, figures), JoinUnits.of(statistics.join_costs))
    return trees.with_orders(tree)


def is_better(
    plan: CostedShape,
    written: CostedShape,
    limits: Limits,
    gain: float,
    scarcer: Resource | None = None,
) -> bool:
    """Whether a plan takes so clearly less than another that it is preferred.

    Less processor time, or less memory where that is scarcer.
    """
    if limits.allow(plan.cost) != limits.allow(written.cost):
        return limits.allow(plan.cost)
    if dominates(written.cost, plan.cost):
        return False
    if not limits.allow(plan.cost):
        return limits.overload(plan.cost) < limits.overload(written.cost) * gain
    if scarcer == "memory":
        return plan.cost.memory < written.cost.memory * gain
    return plan.cost.processor < written.cost.processor * gain


def source_of(figures: JoinFigures) -> str:
    """Where the best known of the figures come from; guessed: nothing is known."""
    found = {each.source for each in (*figures.rates, *figures.selectivities.values())}
    return next(iter(sorted(found - {GUESSED})), GUESSED)


def limits_of(options: Options, statistics: Statistics) -> Limits:
    """What joins may take: as set, or what the machine has."""
    machine = statistics.machine
    cores = machine.cores if options.cpu_limit == AUTO else float(options.cpu_limit)
    memory = None if options.memory_limit == AUTO else bytes_of(options.memory_limit)
    return Limits(cores, machine.memory if memory is None else memory)


def limits_text(limits: Limits) -> str:
    """Limits in words.

    >>> limits_text(Limits(1.5, 2 << 20))
    '1.5 cores and 2 MB'
    """
    unit = "core" if limits.processor == 1 else "cores"
    return f"{number_text(limits.processor)} {unit} and {size_text(limits.memory)}"


def written_shape(count: int) -> Shape:
    """Joins of two, in the order in which the inputs are written.

    >>> written_shape(4)
    (((0, 1), 2), 3)
    """
    shape: Shape = 0
    for number in range(1, count):
        shape = (shape, number)
    return shape


def said(cost: JoinCost) -> str:
    """What a plan takes, in words.

    >>> said(JoinCost(0.25, 2048.0, 10.0))
    '25 % of a core and 2 KB'
    """
    processor = (
        f"{number_text(cost.processor)} cores"
        if cost.processor >= 0.995
        else f"{share_text(cost.processor, 2)} of a core"
    )
    return f"{processor} and {size_text(cost.memory)}"
