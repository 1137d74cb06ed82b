"""Which bounds of its streams a plan uses, and how finely: what Describe will let pass.

The plan is built in a graph that nobody runs, and its sources are asked.
Spec: window-queries 1.4.
"""

from __future__ import annotations

from penstock.kernel.graph import Graph, GraphNode
from penstock.kernel.progress.describe import grain_behind
from penstock.kernel.progress.grain import UNUSED, Grain
from penstock.model.schema import ROW_NUM
from penstock.model.streams import Stream
from penstock.model.timestamps import format_duration
from penstock.optimizer.build import build
from penstock.optimizer.physical import PhysicalPlan
from penstock.optimizer.specs import SourceSpec


def bounds_used(plan: PhysicalPlan, indent: str = "") -> list[str]:
    """A line for each stream of the plan."""
    graph, sources = Graph(), dict[Stream, GraphNode]()

    def source(spec: SourceSpec) -> GraphNode:
        if spec.stream not in sources:
            sources[spec.stream] = graph.add_source(spec.stream.name)
        return sources[spec.stream]

    build(plan, graph, source)
    lines = []
    for stream, node in sorted(sources.items(), key=lambda found: found[0].name):
        grains = {on: grain_behind(node, on) for on in _attributes(stream)}
        used = [_line(stream, on, grain) for on, grain in grains.items() if grain != UNUSED]
        lines.append(f"{indent}Bounds of {stream.name}: {', '.join(used) or 'none are used'}")
    return lines


def _attributes(stream: Stream) -> list[str]:
    return [*stream.times, ROW_NUM]


def _line(stream: Stream, on: str, grain: Grain) -> str:
    if grain is None:
        return f"all on {on}"
    is_time = stream.schema[on].type.is_time
    steps = sorted({grid.step for grid in grain})
    lengths = (format_duration(step) if is_time else str(step) for step in steps)
    return f"on {on} every {' and '.join(lengths)}"
