"""Query: a handle on a continuous query, the same on every host.

Results show times as datetimes in UTC. They go to one place: a sink, if the query was declared INTO
one; else its subscribers; else they wait here until somebody fetches them. Of those that wait, the
latest are kept, as many as the engine's `max_results`; older ones are dropped. The status counts
them, a warning says so once, and whoever asks for the results gets an error instead of a part of
them, unless a part is asked for.

Names are Spark's own where Spark has one for it.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import polars as pl

from penstock.errors import IncompleteResults, PenstockError
from penstock.io.results import no_results, presented, readable
from penstock.model.counted import counted
from penstock.model.ets import Ets
from penstock.model.html_table import html_table
from penstock.model.schema import Schema
from penstock.model.streams import Sink
from penstock.optimizer.physical import Program
from penstock.plan.blockers import Blockers
from penstock.plan.nodes import Node
from penstock.printable import printable, printable_cell
from penstock.runtime.row_buffer import RowBuffer
from penstock.runtime.status import RUNNING, BatchStatus, QueryStatus

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from penstock.runtime.base_engine import BaseEngine

#: Rows of results that a notebook shows.
SHOWN = 10
#: Results that are kept for a query which nobody reads.
MAX_RESULTS = 1_000_000

_LOG = logging.getLogger("penstock")


class Query(ABC):
    """One continuous query."""

    def __init__(self, engine: BaseEngine[Any], name: str, plan: Node, sink: Sink | None) -> None:
        self.name = name
        self.plan = plan
        self.sink = sink
        self._engine = engine
        self._waiting: RowBuffer[int] = RowBuffer(engine._max_results)
        self._subscribers: list[Callable[[pl.DataFrame], None]] = []
        self._fetched = -1  # the last batch that was handed out
        self._accepted = 0  # rows that were dropped before somebody fetched a part

    # -- results ------------------------------------------------------------------------------

    @property
    @abstractmethod
    def rows(self) -> int:
        """How many rows it has output since it was started."""

    @property
    @abstractmethod
    def total_rows(self) -> int:
        """How many since its checkpoint began, over all restarts."""

    def results(self, *, partial: bool = False) -> pl.DataFrame:
        """Every row so far that has not been fetched, unless it went to a sink or a subscriber.

        Raises what the query failed with, and IncompleteResults if rows were dropped; with
        `partial` it gives what is there. Times are text in a column that has some beyond those of
        Python's `datetime`, which ends with the year 9999.
        """
        return readable(self.to_polars(partial=partial))

    def to_polars(self, *, partial: bool = False) -> pl.DataFrame:
        """`results` with the types of the query's schema, whatever times there are."""
        return self._together(rows for _, rows in self._all(partial))

    def to_arrow(self, *, partial: bool = False) -> pa.Table:
        """`results` as an Arrow table."""
        return self.to_polars(partial=partial).to_arrow()

    def to_pandas(self, *, partial: bool = False) -> pd.DataFrame:
        """`results` as a DataFrame of pandas."""
        return self.to_polars(partial=partial).to_pandas()

    def fetch(self, *, partial: bool = False) -> pl.DataFrame:
        """The rows since the last time; they are handed out once.

        Raises as `results` does. With `partial` it gives what is there, and rows that were dropped
        before do not count any more.
        """
        return readable(self._together(self._taken(partial)))

    def iterate(self, *, partial: bool = False) -> Iterator[dict[str, Any]]:
        """The rows one by one; they are handed out once. While the query runs by itself, this waits
        for those to come. Raises as `fetch` does."""
        goes_on = True
        while goes_on:
            # Asked first: what came before the end is there when the end is seen.
            goes_on = self._runs_by_itself()
            for rows in self._taken(partial):
                yield from readable(rows).iter_rows(named=True)
            if goes_on:
                self._wait_for_rows()

    @property
    def schema(self) -> Schema:
        """The columns of its results."""
        return self.plan.schema

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return self.iterate()

    def subscribe(self, callback: Callable[[pl.DataFrame], None]) -> None:
        """Have rows handed to `callback` the moment they exist.

        It may call the engine: `push`, `punctuate`, `sql`, `status` and `stop`. In this process
        rows that it pushes are processed after those that are being processed.
        """
        self._subscribers.append(callback)

    def _together(self, parts: Iterable[pl.DataFrame]) -> pl.DataFrame:
        return pl.concat([no_results(self.plan.schema), *parts])

    def _all(self, partial: bool) -> list[tuple[int, pl.DataFrame]]:
        """The parts that wait, if that is all there were, or a part is enough."""
        if not partial and (failure := self.exception()) is not None:
            raise failure
        parts = self._waiting.parts()  # before what is missing is counted
        missing = self._waiting.dropped - self._accepted
        if missing and not partial:
            raise IncompleteResults(
                f"{counted(missing, 'result')} of query `{self.name}` were dropped: more than "
                f"{self._waiting.limit:,} waited to be fetched",
                hint="write them INTO a sink, fetch() or subscribe() while it runs, or raise "
                "max_results of the engine; partial=True gives the latest ones",
            )
        return parts

    def _taken(self, partial: bool) -> Iterator[pl.DataFrame]:
        dropped = self._waiting.dropped
        self._all(partial)
        self._accepted = dropped
        while (part := self._waiting.take_first()) is not None:
            self._fetched, rows = part
            yield rows

    def _runs_by_itself(self) -> bool:
        """Whether rows may come while nobody calls the engine."""
        return False

    def _wait_for_rows(self) -> None:
        """Wait until rows may have come."""
        raise NotImplementedError

    def _hand_on(
        self, batch: int, rows: pl.DataFrame, write: Callable[[pl.DataFrame], None] | None
    ) -> None:
        """Give rows to whoever wants them."""
        shown = presented(rows, self.plan.schema)
        for callback in list(self._subscribers):
            with self._engine.calling_user_code():
                callback(shown)
        if write is not None:
            write(shown)
        elif not self._subscribers and batch > self._fetched:  # else it is repeated
            was_full = self._waiting.dropped > 0
            self._waiting.put(batch, shown)
            if self._waiting.dropped and not was_full:
                _LOG.warning(
                    "%s: results are not fetched; only the latest %s rows are kept. Write them "
                    "INTO a sink, subscribe(), fetch() or iterate(), or raise max_results of the "
                    "engine.",
                    self.name,
                    f"{self._waiting.limit:,}",
                )

    def _forget(self) -> None:
        """Drop what it has put out: it starts again from the beginning."""
        self._waiting = RowBuffer(self._waiting.limit)
        self._fetched, self._accepted = -1, 0

    # -- what it does -------------------------------------------------------------------------

    @property
    def status(self) -> QueryStatus:
        """Its state and figures."""
        return self._engine._query_status(self)

    @property
    def isActive(self) -> bool:
        """Whether it runs."""
        return self._doing()[0] == RUNNING

    @property
    @abstractmethod
    def lastProgress(self) -> dict[str, Any] | None:
        """Its latest progress, with the facts of its status."""

    @property
    @abstractmethod
    def recentProgress(self) -> list[dict[str, Any]]:
        """The same of the last few micro-batches, where there are any."""

    @abstractmethod
    def exception(self) -> PenstockError | None:
        """What it has failed with; None: it has not."""

    @abstractmethod
    def awaitTermination(self, timeout: float | None = None) -> bool:
        """Wait until it has ended, so many seconds; gives whether it has."""

    def explain(self) -> str:
        """The plan, with the operators chosen for it and why."""
        return printable(self._engine.explain(self.name, self.plan))

    def why(self) -> Blockers:
        """What holds it back: which input, its bound, its age, and what would release it.

        Printed, it is what EXPLAIN LIVE says.
        """
        return self.status.blockers

    def stop(self) -> None:
        """End the query; what it shares with others goes on."""
        if self._is_declared:
            self._engine.sql(f"DROP QUERY `{self.name}`")

    @property
    def _is_declared(self) -> bool:
        """Whether it was neither dropped nor replaced by another of its name."""
        return self._engine._queries.get(self.name) is self

    @abstractmethod
    def _doing(self) -> tuple[str, str]:
        """Whether it runs (`runtime/status.py`), and in more words."""

    def _program(self) -> Program | None:
        """What it runs as; settings that were made later are not for it."""
        return self._engine._programs.get(self.name) if self._is_declared else None

    def _ets(self) -> Ets:
        """How its streams are asked for the time."""
        return self._engine.catalog.settings.ets

    def _catching_up(self) -> str:
        """How far it is, where it still reads what came before it; empty: it does not."""
        return ""

    def _batch(self) -> BatchStatus | None:
        """The last micro-batch, where there are any."""
        return None

    def __repr__(self) -> str:
        state, rows = self._doing()[0], counted(self.rows, "row")
        return printable_cell(f"<{type(self).__name__} {self.name}: {state}, {rows}>")

    def _repr_html_(self) -> str:
        """What a notebook shows: what it does, and the first of its results that wait."""
        into = f", in {self.sink}" if self.sink else ""
        title = f"{self.name}: {self._doing()[0]}, {counted(self.rows, 'row')}{into}"
        shown = readable(self._together(rows for _, rows in self._waiting.parts()).head(SHOWN))
        return html_table(title, [shown.columns, *shown.iter_rows()])
