"""The queue meter agrees with counting every buffer after every step."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel.graph import Graph
from penstock.kernel.meter import QueueMeter
from penstock.kernel.scheduling.executor import Executor
from penstock.model.punctuation import Punctuation
from tests.kernel.scheduling.graphs import block, build, drained

A = ("source", "a")


def counted(graph: Graph) -> int:
    return sum(node.output.length for node in graph.nodes.values() if not node.is_fork)


@given(st.lists(st.integers(0, 6), max_size=15), st.sampled_from([1, 7, None]))
def test_touched_buffers_are_all_that_change(pushes: list[int], limit: int | None) -> None:
    graph = Graph()
    source = graph.add_source("a")
    node = build(graph, ("meld", ("keep", 2, A), ("keep", 0, A)))
    sink = graph.add_sink("sink", node)
    executor, meter = Executor(graph, rows_per_step=limit), QueueMeter(graph)
    peak = 0
    for size in pushes:
        source.output.batch(block(*range(size)))
        source.output.punctuation(Punctuation("x", size))
        meter.touch(source)
        assert meter.total == counted(graph)
        peak = max(peak, meter.total)
        for _ in range(4):
            step = executor.step()
            if step is not None:
                meter.touch(step.node)
            assert meter.total == counted(graph)
            peak = max(peak, meter.total)
    drained(sink)
    meter.touch(node)
    assert meter.total == counted(graph)
    assert meter.peak == peak
