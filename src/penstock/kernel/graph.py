"""Graph: operators, and the buffers between them.

A *source* is a node without an operator: wrappers outside fill its output buffer. A *sink* is a
cursor on a node's output that a wrapper outside drains. Everything between is an operator with one
output buffer, read through one cursor per arc. The second reader of a buffer brings a Fork with it,
the second-last one takes it away again; rows in flight stay where they are, so queries can come and
go while the graph runs.  Spec: execution-model 1, 3.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, count

from penstock.errors import PenstockBug
from penstock.kernel.buffer import Buffer, Cursor
from penstock.kernel.operator import Operator
from penstock.kernel.operators.fork import Fork
from penstock.kernel.progress.arcs import Arc, ArcOutput
from penstock.kernel.state import State
from penstock.kernel.statistics.spent import Spent
from penstock.model.punctuation import Punctuation


@dataclass(eq=False)
class GraphNode:
    """A place in the graph. `cost` is what one row costs here on a virtual clock."""

    name: str
    operator: Operator | None  # None: a source
    output: Buffer
    inputs: list[Cursor] = field(default_factory=list)
    #: One per input; through a Fork, the Fork.
    producers: list[GraphNode] = field(default_factory=list)
    #: Operators only; sinks are not scheduled.
    consumers: list[GraphNode] = field(default_factory=list)
    sinks: dict[str, Cursor] = field(default_factory=dict)
    cost: int = 0
    is_fork: bool = field(init=False)
    arcs: list[Arc] = field(default_factory=list)  # of the enhanced query graph, if it is on
    active: list[tuple[int, Punctuation]] = field(default_factory=list)  # registers just written
    absorbed: int = 0  # rows that came to it folded, by no buffer
    spent: Spent = field(default_factory=Spent)

    def __post_init__(self) -> None:
        self.is_fork = isinstance(self.operator, Fork)

    @property
    def is_source(self) -> bool:
        return self.operator is None

    @property
    def readers(self) -> list[GraphNode]:
        """The operators that read its output, directly or through a Fork."""
        return [
            reader
            for each in self.consumers
            for reader in (each.consumers if each.is_fork else (each,))
        ]

    def more(self) -> bool:
        """Whether executing it would consume something."""
        if self.operator is None:
            return False
        return bool(self.active) or self.operator.more(self.inputs)

    def yields(self, consumer: GraphNode) -> bool:
        """Whether its output holds something unread by `consumer`."""
        if consumer.is_fork:
            if not self.sinks:
                return not self.output.empty  # what is kept is unread by some branch
            return any(self.yields(branch) for branch in consumer.consumers)
        return any(not cursor.empty for cursor in consumer.inputs if cursor.buffer is self.output)

    def step(self, limit: int | None = None) -> int:
        """Execute once; gives the number of rows consumed."""
        if self.operator is None:
            return 0
        if self.active and not self.operator.more(self.inputs):
            # What stands at the front of an input tells more than its register.
            port, punctuation = self.active.pop(0)
            self.operator.on_punctuation(port, punctuation, ArcOutput(self.output, self.arcs))
            return 0
        return self.operator.step(self.inputs, self.output, limit)

    def figures(self) -> tuple[int, int, int, int, float, float, float, int]:
        """Rows it has read and put out since it was built or restored, rows and bytes it keeps.

        Then seconds of the processor, and those lately with the rows they were spent on; and how
        often a limit has ended what it was doing.
        """
        sizes = self.operator.state.sizes() if self.operator is not None else []
        return (
            sum(cursor.rows_read - cursor.rows_before for cursor in self.inputs) + self.absorbed,
            self.output.rows_in - self.output.rows_before,
            sum(size.rows for size in sizes),
            sum(size.bytes for size in sizes),
            self.spent.total / 1e9,
            self.spent.lately / 1e9,
            self.spent.rows,
            (self.operator.ended_attempts or 0) if self.operator is not None else 0,
        )

    def tsm_successor(self) -> GraphNode | None:
        """An operator whose register this one has written and that has not used it yet."""
        for arc in self.arcs:
            if arc.target.active:
                return arc.target
        return None

    def __repr__(self) -> str:
        return f"<{self.name}>"


class Graph:
    """Nodes by name, in an order in which producers come before consumers."""

    def __init__(self) -> None:
        self.nodes: dict[str, GraphNode] = {}

    def add_source(self, name: str) -> GraphNode:
        return self._place(GraphNode(name, None, Buffer()))

    def add(
        self,
        operator: Operator,
        producers: Sequence[GraphNode],
        *,
        name: str | None = None,
        cost: int = 0,
    ) -> GraphNode:
        """Put an operator behind its producers; it sees what they put out from now on."""
        if len(producers) != operator.ports:
            raise PenstockBug(f"{operator.name} has {operator.ports} inputs, not {len(producers)}")
        unused = self._unused(name or operator.name)
        node = self._place(GraphNode(unused, operator, Buffer(), cost=cost))
        for producer in producers:
            self._connect(producer, node)
        return node

    def add_sink(self, name: str, node: GraphNode) -> Cursor:
        """A cursor for what `node` puts out from now on."""
        cursor = node.output.reader(f"query {name}")
        node.sinks[name] = cursor
        return cursor

    def remove_sink(self, name: str) -> None:
        """Take a sink away, and every operator that then feeds nobody. Sources stay."""
        for node in list(self.nodes.values()):
            if name in node.sinks:
                node.output.release(node.sinks.pop(name))
                self._prune(node)
                return
        raise PenstockBug(f"no sink `{name}`")

    def remove_source(self, name: str) -> None:
        """Take a source away that nothing reads."""
        source = self.nodes[name]
        if not source.is_source or source.consumers or source.sinks:
            raise PenstockBug(f"`{name}` is not a source, or somebody reads it")
        del self.nodes[name]

    def clear(self) -> None:
        """Take everything away, to be built anew."""
        self.nodes.clear()

    def sources(self) -> list[GraphNode]:
        return [node for node in self.nodes.values() if node.is_source]

    def state_sizes(self) -> Iterator[tuple[str, str, int, int]]:
        """(node, table, rows, bytes) for every table of every operator."""
        for node in self.nodes.values():
            if node.operator is not None:
                for size in node.operator.state.sizes():
                    yield node.name, size.table, size.rows, size.bytes

    def operators(self) -> Iterator[tuple[str, Operator]]:
        """Every operator, under the name that its state is kept by."""
        for name, node in self.nodes.items():
            if node.operator is not None:
                yield f"operator {name}", node.operator

    def states(self) -> Iterator[tuple[str, State]]:
        """The state of every operator, by name."""
        for name, operator in self.operators():
            yield name, operator.state

    def queued_rows(self) -> int:
        """Rows in all buffers, each counted once."""
        return sum(n.output.rows for n in self.nodes.values() if not n.is_fork)

    # -- shape --------------------------------------------------------------------------------

    def _place(self, node: GraphNode) -> GraphNode:
        if node.name in self.nodes:
            raise PenstockBug(f"node `{node.name}` exists already")
        self.nodes[node.name] = node
        return node

    def _unused(self, name: str) -> str:
        names = chain([name], (f"{name}_{number}" for number in count(2)))
        return next(each for each in names if each not in self.nodes)

    def _connect(self, producer: GraphNode, consumer: GraphNode) -> None:
        if producer.consumers and not producer.is_fork:
            if producer.consumers[0].is_fork:
                producer = producer.consumers[0]
            elif consumer not in producer.consumers:
                producer = self._fork(producer)
        consumer.inputs.append(producer.output.reader(f"{consumer.name} {len(consumer.inputs)}"))
        consumer.producers.append(producer)
        if consumer not in producer.consumers:
            producer.consumers.append(consumer)

    def _fork(self, producer: GraphNode) -> GraphNode:
        """Put a Fork between a producer and its only consumer."""
        [branch] = producer.consumers
        fork = GraphNode(self._unused(f"Fork {producer.name}"), Fork(), producer.output)
        # Behind its producer, so that the order of the nodes stays that of the arcs.
        nodes = list(self.nodes.values())
        nodes.insert(nodes.index(producer) + 1, fork)
        self.nodes.clear()
        self.nodes.update((node.name, node) for node in nodes)
        fork.producers = [producer]
        fork.consumers = [branch]
        producer.consumers = [fork]
        branch.producers = [fork if p is producer else p for p in branch.producers]
        return fork

    def _prune(self, node: GraphNode) -> None:
        if node.is_source or node.sinks or node.consumers:
            return
        del self.nodes[node.name]
        for cursor in node.inputs:
            cursor.buffer.release(cursor)
        while node.producers:
            # Taking out a Fork puts its own producer in this list, so look at it afresh.
            producer = node.producers[0]
            node.producers = [other for other in node.producers if other is not producer]
            producer.consumers.remove(node)
            if producer.is_fork and len(producer.consumers) == 1:
                self._unfork(producer)
            else:
                self._prune(producer)

    def _unfork(self, fork: GraphNode) -> None:
        [branch], [producer] = fork.consumers, fork.producers
        producer.consumers = [branch]
        branch.producers = [producer if p is fork else p for p in branch.producers]
        del self.nodes[fork.name]
