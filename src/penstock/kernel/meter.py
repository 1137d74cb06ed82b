"""Meter: how many rows and punctuations wait in a graph, now and at worst.

Counting all buffers after every step would cost as much as the steps; only those a step has
touched are counted again.
"""

from __future__ import annotations

from penstock.kernel.buffer import Buffer
from penstock.kernel.graph import Graph, GraphNode


class QueueMeter:
    """`total` is what waits in all buffers, each item counted once; `peak` the most it ever was."""

    def __init__(self, graph: Graph) -> None:
        self._lengths: dict[Buffer, int] = {}
        self.total = 0
        self.peak = 0
        for node in graph.nodes.values():
            self.touch(node)

    def touch(self, node: GraphNode) -> None:
        """Count again what `node` reads and writes."""
        for buffer in {node.output, *(cursor.buffer for cursor in node.inputs)}:
            length = buffer.length
            self.total += length - self._lengths.get(buffer, 0)
            self._lengths[buffer] = length
        self.peak = max(self.peak, self.total)
