"""Runs an operator's test as a script.

A transcript is a YAML file of steps: rows or punctuation come in at an input, and `expect` lists
everything the operator must have put out since the last `expect`; output that nobody expected
fails. Each file is played on the operator behind real buffers, a step at a time and rows one by
one, and, where it says `order: free`, with the rows of every batch reversed and shuffled as well;
then as a query of a host, whose inputs are streams. `late` says that there are late rows, and what
the host does with them; `only: kernel` is for what a stream says by itself: numbers of rows, bounds
on further columns.

    batch        {S: [rows]}
    punctuation  {S: 20}, or about another attribute, or some rows only:
                 {S: {by: ts, bound: 20, where: {k: a}}}; `end` is the bound behind which nothing is
    expect       [{rows: [rows]}, {punctuation: {ts: 20}}, {punctuation: {ts: 20}, where: {k: a}}]

Punctuation about the latest of several columns is left out, but where it says `latest: shown`.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar

import polars as pl
import yaml

from penstock.kernel.block import Block
from penstock.kernel.graph import Graph
from penstock.kernel.operator import Operator
from penstock.kernel.progress.late import LatePolicy
from penstock.model.punctuation import Punctuation, is_latest, where_of
from penstock.model.schema import ROW_NUM, Column
from penstock.model.streams import Stream, TimestampKind
from penstock.model.timestamps import END
from penstock.model.types import ArrayType, Type
from penstock.runtime.graph_host import GraphHost

FOLDER = Path(__file__).parent.parent / "transcripts"

Build = Callable[[dict[str, Any], int], list[Operator]]
Part = dict[str, Any]
T = TypeVar("T")
Arrange = Callable[[list[T]], list[T]]


def as_they_are(rows: list[T]) -> list[T]:
    return rows


def backwards(rows: list[T]) -> list[T]:
    return rows[::-1]


def shuffled(rows: list[T]) -> list[T]:
    return random.Random(1).sample(rows, len(rows))


class Player(Protocol):
    """Whatever a transcript can be played on."""

    def take(self, step: dict[str, Any], arrange: Arrange[Any]) -> None:
        """Let rows and punctuation come in."""

    def output(self) -> list[Part]:
        """What came out since the last time."""


class BareOperator:
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

    def take(self, step: dict[str, Any], arrange: Arrange[Any]) -> None:
        for name, told in step.get("punctuation", {}).items():
            self._sources[name].output.punctuation(punctuation_of(told, self._on))
        for name, rows in step.get("batch", {}).items():
            self._sources[name].output.batch(Block(pl.DataFrame(arrange(rows))))
        for node in self._nodes:
            while node.more():
                node.step(self._limit)

    def output(self) -> list[Part]:
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


def punctuation_of(told: Any, on: str) -> Punctuation:
    parts = told if isinstance(told, dict) else {"bound": told}
    bound = END if parts["bound"] == "end" else parts["bound"]
    return Punctuation(parts.get("by", on), bound, where_of(parts.get("where", {})))


def type_of_value(value: Any) -> Type:
    match value:
        case int():
            return Type.BIGINT
        case list():
            return ArrayType(Type.STRING)
    return Type.STRING


class OnHost:
    """The same operator as a query of a host. What it says of bounds only operators can see."""

    def __init__(self, script: dict[str, Any], build: Build, limit: int | None) -> None:
        self._on = script.get("by", "ts")
        late = LatePolicy(script.get("late", "fail"))
        self._host = GraphHost(ets=None, rows_per_step=limit, late=late)
        chain = [self._host.add_stream(self._stream(name, script)) for name in script["inputs"]]
        for operator in build(script["operator"], len(chain)):
            chain = [self._host.graph.add(operator, chain)]
        self._host.add_query("out", chain[0])

    def _stream(self, name: str, script: dict[str, Any]) -> Stream:
        """Its columns are those of its rows; its bounds come from the transcript alone."""
        rows = [row for step in script["transcript"] for row in step.get("batch", {}).get(name, ())]
        first: dict[str, Any] = rows[0] if rows else {self._on: 0}
        columns = tuple(Column(column, type_of_value(value)) for column, value in first.items())
        return Stream(name, columns, TimestampKind.EXTERNAL, self._on, slack=None)

    def take(self, step: dict[str, Any], arrange: Arrange[Any]) -> None:
        for name, told in step.get("punctuation", {}).items():
            punctuation = punctuation_of(told, self._on)
            assert punctuation.on == self._on, "streams say this themselves"
            self._host.punctuate(name, punctuation.bound, punctuation.where)
        for name, rows in step.get("batch", {}).items():
            self._host.push(name, arrange(rows))
        self._host.run()
        assert not self._host.rejected_rows

    def output(self) -> list[Part]:
        rows = self._host.results("out").drop(ROW_NUM, strict=False).to_dicts()
        return [{"rows": rows}] if rows else []


def without_bounds(parts: list[Part]) -> list[Part]:
    return [part for part in parts if "rows" in part]


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


def play(script: dict[str, Any], player: Player, arrange: Arrange[Any] = as_they_are) -> None:
    shown = without_bounds if isinstance(player, OnHost) else as_they_are
    for step in script["transcript"]:
        player.take(step, arrange)
        if "expect" in step:
            expected = in_order(shown(step["expect"]))
            assert in_order(player.output()) == expected, f"{script['name']}: after {step}"
    assert not player.output(), f"{script['name']}: output that nobody expected"


def scripts() -> list[Any]:
    """Every transcript in the folder, as (id, script)."""
    return [
        (f"{path.stem}: {script['name']}", script)
        for path in sorted(FOLDER.glob("*.yaml"))
        for script in yaml.safe_load_all(path.read_text())
    ]
