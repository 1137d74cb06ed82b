"""LocalQuery: a handle on a standing query, its plan and what it has answered so far.

Results show times as datetimes in UTC. They go to one place: a sink, if the query was declared INTO
one; else its subscribers; else they wait here until somebody reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import polars as pl

from penstock.io.console import CONSOLE, ConsoleSink
from penstock.io.files import FileSink
from penstock.io.results import no_results, presented, readable
from penstock.plan.blockers import Blockers
from penstock.plan.nodes import Node
from penstock.sql.parse.statements import Sink

if TYPE_CHECKING:
    from penstock.local.engine import LocalEngine


def sink_of(name: str, sink: Sink) -> FileSink | ConsoleSink:
    """What writes the rows of a query, or a stream's late ones, where they are declared to go."""
    if sink.format == CONSOLE:
        return ConsoleSink(name, sink)
    return FileSink(sink.format, str(sink.path))


class LocalQuery:
    """One standing query."""

    def __init__(self, engine: LocalEngine, name: str, plan: Node, sink: Sink | None) -> None:
        self.name = name
        self.plan = plan
        self.sink = sink
        self.rows = 0
        self._engine = engine
        self._waiting: list[pl.DataFrame] = []
        self._subscribers: list[Callable[[pl.DataFrame], None]] = []
        self._out = sink_of(name, sink) if sink else None

    @property
    def total_rows(self) -> int:
        """The same as `rows`: there is no earlier run to continue."""
        return self.rows

    def results(self) -> pl.DataFrame:
        """Every row so far that has not been fetched."""
        return pl.concat([no_results(self.plan.schema), *self._waiting])

    def fetch(self) -> pl.DataFrame:
        """The rows since the last time; they are handed out once."""
        rows = self.results()
        self._waiting = []
        return rows

    def iterate(self) -> Iterator[dict[str, Any]]:
        """The rows so far that have not been fetched, one by one; they are handed out once."""
        while self._waiting:
            yield from readable(self._waiting.pop(0)).iter_rows(named=True)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return self.iterate()

    def subscribe(self, callback: Callable[[pl.DataFrame], None]) -> None:
        """Have rows handed to `callback` the moment they exist."""
        self._subscribers.append(callback)

    def explain(self) -> str:
        """The plan, with the operators chosen for it and why."""
        return self._engine.explain(self.name, self.plan)

    def why(self) -> Blockers:
        """What holds it back: which input, its bound, its age, and what would release it."""
        return self._engine.why(self.name)

    @property
    def lastProgress(self) -> dict[str, Any]:  # as Spark calls it
        """Rows so far, and the facts of `why`."""
        return {"name": self.name, "rows": self.rows, "holding": self.why().as_json()}

    @property
    def status(self) -> str:
        """`running` or `stopped`."""
        return "running" if self in self._engine.queries else "stopped"

    def stop(self) -> None:
        """End the query; what it shares with others goes on."""
        if self.status == "running":
            self._engine.sql(f"DROP QUERY `{self.name}`")

    def close(self) -> None:
        """Nothing more comes: let others write where its results went."""
        if self._out is not None:
            self._out.close()

    def receive(self, rows: pl.DataFrame) -> None:
        """Take over rows that have just been computed."""
        shown = presented(rows, self.plan.schema)
        self.rows += shown.height
        for callback in self._subscribers:
            callback(shown)
        if self._out is not None:
            self._out.write(shown)
        elif not self._subscribers:
            self._waiting.append(shown)

    def __repr__(self) -> str:
        return f"<LocalQuery {self.name}: {self.status}, {self.rows} rows>"
