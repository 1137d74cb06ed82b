"""Executor: the two-step cycle, one operator at a time.

For ever: execute the operator that has control once, then choose the next one from the scheduling
table. The choice is made when the next step is asked for, so it knows of rows that came in between
and follows a table that was rewritten in between.

A unit gives control back when its rules say Exit; then the outer scheduler serves the next unit in
turn. One turn of every round belongs to whatever the units left behind: an operator deep in the
graph that can move although its source is empty, because control left it for another input or a
query went away. When a whole round finds nothing, nothing anywhere can move.

A unit whose source never runs dry keeps control, as the rules have it: a host that must be fair to
several streams feeds them in blocks and runs in between.  Spec: execution-model 2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from penstock.errors import BadSetting
from penstock.kernel.graph import Graph, GraphNode
from penstock.kernel.operators.fork import Fork
from penstock.kernel.scheduling.row import Backtrack, Control, Execute
from penstock.kernel.scheduling.table import SchedulingTable
from penstock.kernel.statistics.spent import StepTimes


class Step(NamedTuple):
    """One execution step: who, and how many rows it consumed (0: a punctuation)."""

    node: GraphNode
    rows: int


def wait_for_rows(source: GraphNode) -> bool:
    """What to do when control has come back to a source that has nothing: leave it alone."""
    return False


class Executor:
    """Runs a graph by its scheduling table.

    `rows_per_step` limits what one step consumes; None means whatever is there. `at_empty_source`
    is asked when backtracking ends at an empty source: it may put something into the source's
    buffer and say True, and control stays. `times` are told how long steps take.
    """

    def __init__(
        self,
        graph: Graph,
        table: SchedulingTable | None = None,
        *,
        rows_per_step: int | None = None,
        after_step: Callable[[Step], None] | None = None,
        at_empty_source: Callable[[GraphNode], bool] = wait_for_rows,
        times: StepTimes | None = None,
    ) -> None:
        if rows_per_step is not None and rows_per_step < 1:
            raise BadSetting(
                f"a step cannot have {rows_per_step} rows", hint="give 1 or more, or None"
            )
        self._graph = graph
        self.table = table or SchedulingTable(graph)
        self.rows_per_step = rows_per_step
        self._after_step = after_step
        self._at_empty_source = at_empty_source
        self._times = times
        self._last: GraphNode | None = None  # who was executed last and has not given control back
        self._processed = 0  # rows it consumed since control came to it
        self._turn = -1  # the unit served last; one past the units: what they left behind
        self._looked = 0  # where to look first for that

    def step(self) -> Step | None:
        """Choose an operator and execute it once; None if nothing anywhere can move."""
        node = None
        if self._last is not None:
            node = self._choose(Control(self.table.rows[self._last], self._processed))
        if node is None:
            node = self._serve_units()
            self._processed = 0
        elif node is not self._last:
            self._processed = 0
        self._last = node
        if node is None:
            return None
        step = Step(node, self._execute(node))
        self._processed += step.rows
        if self._after_step is not None:
            self._after_step(step)
        return step

    def _execute(self, node: GraphNode) -> int:
        if self._times is None:
            return node.step(self.rows_per_step)
        began = self._times.wall()
        rows = node.step(self.rows_per_step)
        self._times.note(node, self._times.wall() - began, rows)
        return rows

    def run_until_idle(self) -> None:
        while self.step() is not None:
            pass

    # -- changes between steps ----------------------------------------------------------------

    def rebuild(self) -> None:
        """Follow a graph that has changed; control stays where it is if that is still there."""
        self.table.rebuild()
        if self._last not in self.table.rows:
            self._last = None

    # -- choosing -----------------------------------------------------------------------------

    def _choose(self, at: Control) -> GraphNode | None:
        """The operator that the rules give control to; None: they give it back."""
        backtracked = False
        # Two operators that wait for each other's other input could send control in circles.
        for _ in range(2 * len(self.table.rows)):
            move = at.rows[0].rule.choose(at)
            if isinstance(move, Execute):
                self._count_turn(at, move.node)
                if move.node.more():
                    return move.node
                at = Control(self.table.rows[move.node], stuck=True)
            elif isinstance(move, Backtrack):
                backtracked = True
                at = Control(self.table.rows[move.node])
            else:
                source = move.source
                if source is None or not backtracked or not self._at_empty_source(source):
                    return None
                at = Control(self.table.rows[source])
        return None

    def _count_turn(self, at: Control, branch: GraphNode) -> None:
        fork = at.rows[0].state.operator
        if isinstance(fork, Fork):
            # Where it looked first, mostly: of a thousand branches each has its turn.
            turn = fork.turn % len(at.rows)
            if at.rows[turn].succ is not branch:
                turn = [row.succ for row in at.rows].index(branch)
            fork.turn = turn + 1

    def _serve_units(self) -> GraphNode | None:
        units = self.table.entries
        for _ in range(len(units) + 1):
            self._turn = (self._turn + 1) % (len(units) + 1)
            if self._turn == len(units):
                node = self._left_behind()
            else:
                node = self._choose(Control(self.table.rows[units[self._turn]]))
            if node is not None:
                return node
        return None

    def _left_behind(self) -> GraphNode | None:
        """An operator that can move; those nearer to the sinks first, each in its turn."""
        nodes = list(self._graph.nodes.values())[::-1]
        start = min(self._looked, len(nodes))
        for ahead, node in enumerate(nodes[start:] + nodes[:start], 1):
            if node.more():
                self._looked = (start + ahead) % len(nodes)
                return node
        return None
