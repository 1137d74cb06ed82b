"""The scheduling table: rows (state, pred, succ, rule), rewritten while the graph runs.

Looking up the row of the operator that has control, and asking its rule, is all there is to
scheduling. So a new query, another strategy for a part of the graph or a break point is a matter of
writing rows anew; the rows of data in the buffers do not notice.

    (source, -, S1, DFS-Source)
    (S1, source, S2, DFS-NOS)
    (S2, S1, -, DFS-Sink)

A *virtual break node* is a buffer declared a break point: what is before it ends there, what is
behind it starts there, and both are scheduled separately. After a break behind S1:

    (source, -, S1, DFS-Source)
    (S1, source, -, DFS-Sink)
    (S2, -, -, DFS-Source-Sink)

A Fork's buffer is its producer's. Broken at the producer, the Fork starts a fragment with all its
branches; broken at the Fork, each branch is a fragment by itself and the Fork has nothing left to
do, and no row.  Spec: execution-model 3.
"""

from __future__ import annotations

from collections.abc import Iterable

from penstock.errors import PenstockBug
from penstock.kernel.graph import Graph, GraphNode
from penstock.kernel.scheduling.row import Row
from penstock.kernel.scheduling.strategies import DEPTH_FIRST
from penstock.kernel.scheduling.strategy import Role, Strategy


class SchedulingTable:
    """The rows for a graph, from a strategy for each node and a set of break points."""

    def __init__(self, graph: Graph, default: Strategy = DEPTH_FIRST) -> None:
        self._graph = graph
        self.default = default
        self._chosen: dict[GraphNode, Strategy] = {}
        self.breaks: set[GraphNode] = set()  # that were declared
        self.rows: dict[GraphNode, tuple[Row, ...]] = {}
        self.entries: list[GraphNode] = []  # first operator of every fragment: a unit of scheduling
        self.rebuild()

    def set_strategy(self, strategy: Strategy, nodes: Iterable[GraphNode] | None = None) -> None:
        """Schedule these nodes, or all there are and will be, by another strategy."""
        if nodes is None:
            self.default = strategy
            self._chosen.clear()
        else:
            self._chosen |= dict.fromkeys(map(self._known, nodes), strategy)
        self.rebuild()

    def add_break(self, node: GraphNode) -> None:
        """Declare the buffer behind `node` a break point."""
        self.breaks.add(self._known(node))
        self.rebuild()

    def remove_break(self, node: GraphNode) -> None:
        """Join what is before and behind the buffer of `node` again."""
        self.breaks.discard(node)
        self.rebuild()

    def strategy_of(self, node: GraphNode) -> Strategy:
        """Its own; a Fork's is its producer's unless it was given one."""
        if node.is_fork and node not in self._chosen:
            return self.strategy_of(node.producers[0])
        return self._chosen.get(node, self.default)

    def rebuild(self) -> None:
        """Write all rows anew, after the graph has changed."""
        nodes = self._graph.nodes.values()
        alive = set(nodes)
        self._chosen = {node: s for node, s in self._chosen.items() if node in alive}
        self.breaks &= alive
        broken = self.breaks | self._cut_for_paths()
        self.rows = {node: rows for node in nodes if (rows := self._rows_of(node, broken))}
        self.entries = [node for node, rows in self.rows.items() if _is_entry(rows[0])]

    def _cut_for_paths(self) -> set[GraphNode]:
        """Where the graph must be broken so that strategies for paths find paths."""
        cut: set[GraphNode] = set()
        for node in self._graph.nodes.values():
            if self.strategy_of(node).paths_only:
                if node.is_fork:
                    cut.add(node)
                if len(node.producers) > 1:
                    cut.update(node.producers)
        return cut

    def _rows_of(self, node: GraphNode, broken: set[GraphNode]) -> tuple[Row, ...]:
        preds = tuple(None if pred in broken else pred for pred in node.producers)
        strategy = self.strategy_of(node)
        if node.is_fork:
            if node in broken:
                return ()
            rule = strategy.rule(Role.FORK)
            return tuple(Row(node, preds, branch, rule) for branch in node.consumers)
        succ = node.consumers[0] if node.consumers and node not in broken else None
        if succ is not None and succ.is_fork and succ in broken:
            succ = None
        role = Role.of(first=not any(preds), last=succ is None)
        return (Row(node, preds, succ, strategy.rule(role)),)

    def _known(self, node: GraphNode) -> GraphNode:
        if self._graph.nodes.get(node.name) is not node:
            raise PenstockBug(f"`{node.name}` is not in the graph")
        return node

    def __str__(self) -> str:
        return "\n".join(str(row) for rows in self.rows.values() for row in rows)


def _is_entry(row: Row) -> bool:
    """Whether a fragment starts here: a source, or an operator that reads from a break."""
    return not row.preds or None in row.preds
