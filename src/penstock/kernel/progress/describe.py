"""Describe: drop punctuation that no reader uses, and coarsen the rest to what is needed.

A stream sends a bound after every block, however small; a window that slides by a minute can
use one of them a minute. So each buffer knows which attributes its readers listen to, and how
finely (`grain`), and drops what would tell them nothing new. Results do not change, since bounds
are only rounded as the readers would do themselves; bounds that say nothing new neither
travel nor wake an operator.

Asked once, when the graph changes, from the sinks upwards; sinks themselves use no bounds.
Spec: window-queries 1.4.
"""

from __future__ import annotations

from functools import partial

from penstock.kernel.graph import Graph, GraphNode
from penstock.kernel.operators.merge import Merge
from penstock.kernel.progress.grain import UNUSED, Grain, both, rolled
from penstock.model.punctuation import Punctuation, Where
from penstock.model.timestamps import BEGINNING


class Describe:
    """What passes one buffer; it remembers what has passed, so that nothing is sent twice."""

    def __init__(self, node: GraphNode) -> None:
        self._node = node
        self._grains: dict[str, Grain] = {}
        self._said: dict[str, int] = {}
        self._patterns: dict[tuple[str, Where], int] = {}

    def grain(self, on: str) -> Grain:
        """How finely bounds on an attribute are used behind this node."""
        if on not in self._grains:
            self._grains[on] = grain_behind(self._node, on)
        return self._grains[on]

    def __call__(self, punctuation: Punctuation) -> Punctuation | None:
        """What is worth saying of a punctuation; None: nothing."""
        on, grain = punctuation.on, self.grain(punctuation.on)
        bound = rolled(punctuation.bound, grain)
        if grain == UNUSED or (grain is not None and bound <= self._last(on, punctuation.where)):
            return None
        if punctuation.where:
            self._patterns[on, punctuation.where] = bound
        else:
            self._said[on] = bound
            if self._patterns:
                self._forget(on, bound)
        return (
            punctuation if bound == punctuation.bound else Punctuation(on, bound, punctuation.where)
        )

    def _forget(self, on: str, bound: int) -> None:
        """A bound on all rows is one on those of each pattern."""
        self._patterns = {
            key: said for key, said in self._patterns.items() if key[0] != on or said > bound
        }

    def _last(self, on: str, where: Where) -> int:
        said = self._said.get(on, BEGINNING)
        return max(said, self._patterns.get((on, where), BEGINNING)) if where else said


def describe(graph: Graph) -> None:
    """Have every buffer keep back what its readers have no use for, as the graph is now."""
    for node in graph.nodes.values():
        if not node.is_fork:  # its buffer is its producer's
            node.output.describe = Describe(node)


def grain_behind(node: GraphNode, on: str, *, rows_tell: bool = False) -> Grain:
    """How finely bounds on an attribute of what `node` puts out are used.

    `rows_tell`: those that follow from its rows. A reader of ordered rows knows from the rows
    themselves how far their stream is.
    """
    found = UNUSED
    for consumer in node.consumers:
        operator = consumer.operator
        behind = partial(grain_behind, consumer, rows_tell=rows_tell)
        knows = rows_tell and isinstance(operator, Merge) and operator.on == on
        if operator is None or consumer.is_fork or knows:
            found = both(found, behind(on))
        else:
            found = both(found, operator.grain(on, behind))
    return found
