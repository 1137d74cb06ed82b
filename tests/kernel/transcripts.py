"""Runs an operator's test as a script.

A transcript is a YAML file of steps: rows or a punctuation come in at an input, and `expect` lists
everything the operator must have put out since the last `expect`; output that nobody expected
fails. Each file is played on the operator behind real buffers, a step at a time and rows one by
one, and, where it says `order: free`, with the rows of every batch reversed as well.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import yaml

from penstock.kernel.block import Block
from penstock.kernel.graph import Graph
from penstock.kernel.operator import Operator
from penstock.model.punctuation import Punctuation

FOLDER = Path(__file__).parent.parent / "transcripts"

Build = Callable[[dict[str, Any], int], list[Operator]]


def play(script: dict[str, Any], build: Build, *, limit: int | None, backwards: bool) -> None:
    inputs: list[str] = script["inputs"]
    graph = Graph()
    sources = {name: graph.add_source(name) for name in inputs}
    chain = [sources[name] for name in inputs]
    nodes = []
    for operator in build(script["operator"], len(inputs)):
        node = graph.add(operator, chain)
        nodes.append(node)
        chain = [node]
    sink = graph.add_sink("out", nodes[-1])
    default_on = script.get("by", "ts")
    for step in script["transcript"]:
        for name, bound in step.get("punctuation", {}).items():
            sources[name].output.punctuation(Punctuation(default_on, bound))
        for name, rows in step.get("batch", {}).items():
            ordered = rows[::-1] if backwards else rows
            sources[name].output.batch(Block(pl.DataFrame(ordered)))
        for node in nodes:
            while node.more():
                node.step(limit)
        if "expect" in step:
            got: list[dict[str, Any]] = []
            while not sink.empty:
                item = sink.take()
                if isinstance(item, Punctuation):
                    got.append({"punctuation": {item.on: item.bound}})
                else:
                    got.append({"rows": sorted(item.rows.to_dicts(), key=str)})
            expected = [
                {"rows": sorted(part["rows"], key=str)} if "rows" in part else part
                for part in step["expect"]
            ]
            assert got == expected, f"{script['name']}: after {step}"
    assert sink.empty, f"{script['name']}: output that nobody expected"


def scripts() -> list[Any]:
    """Every transcript in the folder, as (id, script)."""
    return [
        (f"{path.stem}: {script['name']}", script)
        for path in sorted(FOLDER.glob("*.yaml"))
        for script in yaml.safe_load_all(path.read_text())
    ]
