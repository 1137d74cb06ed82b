"""QueryOutput: a query's way out of the graph.

Rows go to the subscribers the moment they are there, or wait to be fetched if there are none;
engines subscribe, and bound what they keep.
Punctuation ends here: a reader sees rows alone.
"""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from penstock.kernel.block import Block
from penstock.kernel.buffer import Cursor


class QueryOutput:
    """Drains one sink."""

    def __init__(self, sink: Cursor) -> None:
        self._sink = sink
        self._subscribers: list[Callable[[pl.DataFrame], None]] = []
        self._waiting: list[pl.DataFrame] = []

    def read(self, sink: Cursor) -> None:
        """Drain another sink instead: the operators that compute the query have changed."""
        self._sink = sink

    def subscribe(self, callback: Callable[[pl.DataFrame], None]) -> None:
        self._subscribers.append(callback)

    def drain(self) -> None:
        """Hand on everything the sink holds."""
        while not self._sink.empty:
            item = self._sink.take()
            if not isinstance(item, Block):
                continue
            if not self._subscribers:
                self._waiting.append(item.rows)
            for callback in self._subscribers:
                callback(item.rows)

    def fetch(self) -> pl.DataFrame:
        """The rows since the last time; they are handed out once."""
        rows, self._waiting = self._waiting, []
        return pl.concat(rows) if rows else pl.DataFrame()
