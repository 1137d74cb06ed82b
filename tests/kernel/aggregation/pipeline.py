"""Bucket and WidAggregate behind each other, driven by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from penstock.kernel.aggregation.wid.bucket import Bucket
from penstock.kernel.aggregation.wid.wid import WidAggregate
from penstock.kernel.block import Block
from penstock.kernel.graph import Graph
from penstock.model.aggregates import Aggregate
from penstock.model.punctuation import Punctuation
from penstock.windows import Sliding

Item = list[dict[str, Any]] | tuple[str, int]


class Pipeline:
    """Takes rows and bounds in, gives rows (as lists) and bounds (as pairs) out."""

    def __init__(
        self,
        window: Sliding,
        results: dict[str, Aggregate],
        groups: Sequence[str] = (),
        limit: int | None = None,
    ) -> None:
        self.window = window
        self.limit = limit
        self.bucket = Bucket(window)
        self.wid = WidAggregate(tuple(groups), tuple(results.items()), window)
        self.graph = Graph()
        self.source = self.graph.add_source("source")
        self.nodes = [self.graph.add(self.bucket, [self.source])]
        self.nodes.append(self.graph.add(self.wid, self.nodes))
        self.sink = self.graph.add_sink("out", self.nodes[-1])

    def rows(self, rows: pl.DataFrame) -> list[Item]:
        self.source.output.batch(Block(rows))
        return self._run()

    def punctuate(self, bound: int, on: str | None = None) -> list[Item]:
        self.source.output.punctuation(Punctuation(on or self.window.on, bound))
        return self._run()

    def _run(self) -> list[Item]:
        for node in self.nodes:
            while node.more():
                node.step(self.limit)
        out: list[Item] = []
        while not self.sink.empty:
            item = self.sink.take()
            if isinstance(item, Punctuation):
                out.append((item.on, item.bound))
            else:
                out.append(item.rows.to_dicts())
        return out


def results_of(items: list[Item]) -> list[dict[str, Any]]:
    """All rows among the items."""
    return [row for item in items if isinstance(item, list) for row in item]
