"""Which promises of its streams a plan uses, and how finely: what Describe will let pass.

The plan is lowered into a graph that nobody runs, and its sources are asked.
Spec: window-queries 1.4.
"""

from __future__ import annotations

from penstock.errors import NotExecutable
from penstock.kernel.graph import Graph
from penstock.kernel.progress.describe import grain_behind
from penstock.kernel.progress.grain import UNUSED, Grain
from penstock.model.schema import ROW_NUM
from penstock.model.streams import Stream
from penstock.model.timestamps import format_duration
from penstock.model.types import Type
from penstock.optimizer.lower import Lowering
from penstock.optimizer.physical import AUTO
from penstock.plan import nodes
from penstock.plan.graph import streams_of


def promises_used(
    plan: nodes.Node, *, union: str, join: str = AUTO, aggregation: str = AUTO
) -> list[str]:
    """A line for each stream of the plan; none if the plan cannot run."""
    streams = streams_of(plan)
    graph = Graph()
    sources = {name: graph.add_source(name) for name in streams}
    try:
        Lowering(graph, sources).lower(plan, union=union, join=join, aggregation=aggregation)
    except NotExecutable:
        return []
    lines = []
    for name, stream in sorted(streams.items()):
        grains = {on: grain_behind(sources[name], on) for on in _attributes(stream)}
        used = [_line(stream, on, grain) for on, grain in grains.items() if grain != UNUSED]
        lines.append(f"Promises of {name}: {', '.join(used) or 'none is used'}")
    return lines


def _attributes(stream: Stream) -> list[str]:
    return [on for on in (stream.timestamp, ROW_NUM) if on is not None]


def _line(stream: Stream, on: str, grain: Grain) -> str:
    if grain is None:
        return f"all on {on}"
    is_time = stream.schema[on].type is Type.TIMESTAMP
    steps = sorted({grid.step for grid in grain})
    lengths = (format_duration(step) if is_time else str(step) for step in steps)
    return f"on {on} every {' and '.join(lengths)}"
