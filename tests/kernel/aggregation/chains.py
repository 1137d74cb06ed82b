"""Operators behind each other, driven by random rows and bounds, judged by the slow evaluator.

A *run* is what comes: blocks of rows in any order above the bounds, and bounds. Whatever
algorithm stands in the chain, its results must be those of `extent`, each exactly once, none after
a bound that excludes it, and nothing may stay behind when the stream is over.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from penstock.kernel.block import Block
from penstock.kernel.graph import Graph
from penstock.kernel.operator import Operator
from penstock.model.aggregates import Aggregate
from penstock.model.expressions import Expression, Ref
from penstock.model.punctuation import Punctuation
from penstock.model.timestamps import END
from penstock.model.types import Type
from penstock.oracle.aggregates import call_of
from penstock.oracle.evaluate import evaluate_window_aggregate, same_rows
from penstock.windows import Window
from tests.engine.draw import Draw
from tests.kernel.moving import move

Item = list[dict[str, Any]] | tuple[str, int]
Run = list[list[dict[str, Any]] | int]
Results = dict[str, Aggregate]
Build = Callable[[Sequence[str], Sequence[tuple[str, Aggregate]], Any], Sequence[Operator]]

SCHEMA = {
    "ts": pl.Int64(),
    "n": pl.Int64(),
    "a": pl.Int64(),
    "b": pl.String(),
    "v": pl.Int32(),
    "d": pl.Float64(),
}
V, D, B = Ref("v", Type.INT), Ref("d", Type.DOUBLE), Ref("b", Type.STRING)
GROUPS = [(), ("a",), ("b",), ("a", "b")]


class Chain:
    """Takes rows and bounds in, gives rows (as lists) and bounds (as pairs) out."""

    def __init__(self, operators: Sequence[Operator], on: str, limit: int | None = None) -> None:
        self.operators = operators
        self._on = on
        self._limit = limit
        self._graph = Graph()
        self._source = self._graph.add_source("source")
        below = [self._source]
        self._nodes = []
        for operator in operators:
            below = [self._graph.add(operator, below)]
            self._nodes += below
        self._sink = self._graph.add_sink("out", below[0])

    def rows(self, rows: list[dict[str, Any]]) -> list[Item]:
        self._source.output.batch(Block(pl.DataFrame(rows, schema=SCHEMA)))
        return self._run()

    def punctuate(self, bound: int, on: str | None = None) -> list[Item]:
        self._source.output.punctuation(Punctuation(on or self._on, bound))
        return self._run()

    @property
    def kept(self) -> dict[str, int]:
        """How many rows each table holds."""
        return {
            f"{node}.{table}": rows for node, table, rows, _ in self._graph.state_sizes() if rows
        }

    def _run(self) -> list[Item]:
        for node in self._nodes:
            while node.more():
                node.step(self._limit)
        out: list[Item] = []
        while not self._sink.empty:
            item = self._sink.take()
            if isinstance(item, Punctuation):
                out.append((item.on, item.bound))
            else:
                assert len(item), "an empty block"
                out.append(item.rows.to_dicts())
        return out


def runs(draw: Draw, far: bool = True) -> Run:
    """Blocks, and bounds that no later row goes below; `far`: now and then a long way off."""
    bound = draw.between(-50, 50)
    stream: Run = []
    number = 0
    for _ in range(draw.between(1, 6)):
        for _ in range(draw.between(0, 3)):
            rows = []
            for _ in range(draw.between(1, 8)):
                number += 1
                ahead = draw.choose([*range(30), 10**9 if far else 0])
                rows.append({"ts": bound + ahead, "n": number, **_values(draw)})
            stream.append(rows)
        bound += draw.choose([*range(20), 10**9 if far else 0])
        stream.append(bound)
    return stream


def _values(draw: Draw) -> dict[str, Any]:
    quarters = draw.choose([None, *range(-9, 10)])
    return {
        "a": draw.choose([None, -1, 0, 1, 2]),
        "b": draw.choose([None, "x", "y"]),
        "v": draw.choose([None, *range(-9, 10)]),
        "d": None if quarters is None else quarters / 4,
    }


def rows_of(run: Run) -> list[dict[str, Any]]:
    return [row for item in run if not isinstance(item, int) for row in item]


def check(items: list[Item]) -> list[dict[str, Any]]:
    """All results; fails if one comes after a bound that excludes it."""
    bounds: dict[str, int] = {}
    found = []
    for item in items:
        if isinstance(item, tuple):
            on, bound = item
            assert bound > bounds.get(on, -END), "a bound that says nothing new"
            bounds[on] = bound
        else:
            for row in item:
                assert all(row[on] >= bound for on, bound in bounds.items()), (row, bounds)
            found += item
    return found


def answers(chain: Chain, run: Run) -> list[dict[str, Any]]:
    """All results of a run that ends."""
    items: list[Item] = []
    for item in run:
        items += chain.punctuate(item) if isinstance(item, int) else chain.rows(item)
    items += chain.punctuate(END)
    return check(items)


def judge(
    build: Build,
    window: Window,
    run: Run,
    groups: Sequence[str],
    results: Results,
    limit: int | None = None,
) -> Chain:
    """The chain's answer is the oracle's."""
    chain = Chain(build(groups, tuple(results.items()), window), window.on, limit)
    calls = {name: call_of(each) for name, each in results.items()}
    expected = evaluate_window_aggregate(window, rows_of(run), groups, calls)
    ours = answers(chain, run)
    assert same_rows(ours, expected), f"ours: {ours}\noracle: {expected}"
    assert chain.kept == {}
    return chain


def aggregates(*functions: str, of: Expression = V) -> Results:
    """count(*), and these functions of `v`."""
    return {"n": Aggregate("count"), **{name: Aggregate(name, of) for name in functions}}


def judge_restored(
    built: Callable[[], Chain], window: Window, run: Run, groups: Sequence[str], results: Results
) -> Chain:
    """Saved and put into a new chain after every step, it gives the answers; the last chain."""
    items: list[Item] = []
    chain = built()
    for item in [*run, END]:
        items += chain.punctuate(item) if isinstance(item, int) else chain.rows(item)
        after = built()
        for mine, before in zip(after.operators, chain.operators, strict=True):
            move(before.state, mine.state)
        chain = after
    calls = {name: call_of(each) for name, each in results.items()}
    expected = evaluate_window_aggregate(window, rows_of(run), groups, calls)
    assert same_rows(check(items), expected)
    return chain
