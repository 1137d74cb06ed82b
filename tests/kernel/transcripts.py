"""Runs an operator's test as a script.

A transcript is a YAML file of steps: rows or punctuation come in at an input, and `expect` lists
everything the operator must have put out since the last `expect`; output that nobody expected
fails. Each file is played on the operator behind real buffers, a step at a time and rows one by
one, and, where it says `order: free`, with the rows of every batch reversed as well.

    batch        {S: [rows]}
    punctuation  {S: 20}, or about another attribute, or some rows only:
                 {S: {by: ts, bound: 20, where: {k: a}}}; `end` is the bound behind which nothing is
    expect       [{rows: [rows]}, {punctuation: {ts: 20}}, {punctuation: {ts: 20}, where: {k: a}}]

Punctuation about the latest of several columns is left out, but where it says `latest: shown`.
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
from penstock.model.punctuation import Punctuation, is_latest, where_of
from penstock.model.timestamps import END

FOLDER = Path(__file__).parent.parent / "transcripts"

Build = Callable[[dict[str, Any], int], list[Operator]]
Part = dict[str, Any]


class Player:
    """An operator behind buffers, and what it has put out since somebody looked."""

    def __init__(self, script: dict[str, Any], build: Build, limit: int | None) -> None:
        inputs: list[str] = script["inputs"]
        graph = Graph()
        self._limit = limit
        self._on = script.get("by", "ts")
        self._shows_latest = script.get("latest") == "shown"
        self._sources = {name: graph.add_source(name) for name in inputs}
        chain = list(self._sources.values())
        self._nodes = []
        for operator in build(script["operator"], len(inputs)):
            chain = [graph.add(operator, chain)]
            self._nodes += chain
        self._sink = graph.add_sink("out", chain[0])

    def take(self, step: dict[str, Any], *, backwards: bool = False) -> None:
        """Let rows and punctuation come in."""
        for name, told in step.get("punctuation", {}).items():
            self._sources[name].output.punctuation(self._punctuation(told))
        for name, rows in step.get("batch", {}).items():
            ordered = rows[::-1] if backwards else rows
            self._sources[name].output.batch(Block(pl.DataFrame(ordered)))
        for node in self._nodes:
            while node.more():
                node.step(self._limit)

    def _punctuation(self, told: Any) -> Punctuation:
        parts = told if isinstance(told, dict) else {"bound": told}
        bound = END if parts["bound"] == "end" else parts["bound"]
        return Punctuation(parts.get("by", self._on), bound, where_of(parts.get("where", {})))

    def heard(self) -> list[Part]:
        """What came out; rows between two punctuations are one part, in any order."""
        parts: list[Part] = []
        while not self._sink.empty:
            item = self._sink.take()
            if isinstance(item, Punctuation):
                if is_latest(item.on) and not self._shows_latest:
                    continue
                part: Part = {"punctuation": {item.on: "end" if item.is_final else item.bound}}
                if item.where:
                    part["where"] = {name: list(pattern) for name, pattern in item.where}
                parts.append(part)
            elif len(item):
                parts.append({"rows": item.rows.to_dicts()})
        return parts


def in_order(parts: list[Part]) -> list[Part]:
    """Rows that follow each other as one part, sorted."""
    found: list[Part] = []
    for part in parts:
        if "rows" not in part:
            found.append(part)
        elif found and "rows" in found[-1]:
            found[-1] = {"rows": found[-1]["rows"] + part["rows"]}
        else:
            found.append(dict(part))
    return [{"rows": sorted(p["rows"], key=str)} if "rows" in p else p for p in found]


def play(script: dict[str, Any], build: Build, *, limit: int | None, backwards: bool) -> None:
    player = Player(script, build, limit)
    for step in script["transcript"]:
        player.take(step, backwards=backwards)
        if "expect" in step:
            expected = in_order(step["expect"])
            assert in_order(player.heard()) == expected, f"{script['name']}: after {step}"
    assert not player.heard(), f"{script['name']}: output that nobody expected"


def scripts() -> list[Any]:
    """Every transcript in the folder, as (id, script)."""
    return [
        (f"{path.stem}: {script['name']}", script)
        for path in sorted(FOLDER.glob("*.yaml"))
        for script in yaml.safe_load_all(path.read_text())
    ]
