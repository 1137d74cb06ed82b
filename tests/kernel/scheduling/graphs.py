"""Small graphs to schedule, and a slow evaluator that says what must come out of them.

A plan is a nested tuple:

    ("source", name)
    ("keep", modulus, plan)    rows whose `x` is no multiple of the modulus
    ("meld", plan, plan, …)    union, duplicates included
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import polars as pl

from penstock.kernel.block import Block
from penstock.kernel.buffer import Cursor
from penstock.kernel.graph import Graph, GraphNode
from penstock.kernel.operator import Operator, Output
from penstock.kernel.operators.meld import Meld
from penstock.model.punctuation import Punctuation

Plan = tuple[Any, ...]


class KeepUnlessMultiple(Operator):
    """A selection: drops the multiples of a number (0: keeps everything)."""

    def __init__(self, modulus: int = 0) -> None:
        super().__init__()
        self._modulus = modulus

    def on_batch(self, port: int, block: Block, out: Output) -> None:
        rows = block.rows
        out.batch(Block(rows.filter(pl.col("x") % self._modulus != 0) if self._modulus else rows))

    def on_punctuation(self, port: int, punctuation: Punctuation, out: Output) -> None:
        out.punctuation(punctuation)


def build(graph: Graph, plan: Plan, known: dict[Plan, GraphNode] | None = None) -> GraphNode:
    """The node that computes a plan; plans in `known` are not built again."""
    if known and plan in known:
        return known[plan]
    match plan:
        case ("source", name):
            return graph.nodes[name] if name in graph.nodes else graph.add_source(name)
        case ("keep", modulus, below):
            return graph.add(KeepUnlessMultiple(modulus), [build(graph, below, known)])
        case ("meld", *below):
            return graph.add(Meld(len(below)), [build(graph, part, known) for part in below])
    raise ValueError(plan)


def copies(plan: Plan, source: str, x: int) -> int:
    """How often a row of a source must come out of a plan."""
    match plan:
        case ("source", name):
            return int(name == source)
        case ("keep", modulus, below):
            return copies(below, source, x) if not modulus or x % modulus else 0
        case ("meld", *below):
            return sum(copies(part, source, x) for part in below)
    raise ValueError(plan)


def expected(plan: Plan, pushed: Iterable[tuple[str, int]]) -> Counter[int]:
    """What must come out for these (source, x)."""
    return +Counter({x: copies(plan, source, x) for source, x in pushed})


def block(*values: int) -> Block:
    return Block(pl.DataFrame({"x": list(values)}, schema={"x": pl.Int64}))


def drained(sink: Cursor) -> tuple[list[int], list[Punctuation]]:
    """What a sink holds: values in order, and punctuation."""
    values: list[int] = []
    messages: list[Punctuation] = []
    while not sink.empty:
        item = sink.take()
        if isinstance(item, Punctuation):
            messages.append(item)
        else:
            values += item.rows.get_column("x").to_list()
    return values, messages


def path(*names: str) -> Graph:
    """source -> … -> sink, with operators of these names that pass everything."""
    graph = Graph()
    node = graph.add_source("source")
    for name in names:
        node = graph.add(KeepUnlessMultiple(), [node], name=name, cost=1)
    graph.add_sink("sink", node)
    return graph
