"""Looking: what an engine tells of its queries, streams and operators while it runs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime, timezone
from typing import Any, Generic, TypeVar

from penstock.catalog.catalog import Catalog, QueryEntry, StreamEntry
from penstock.errors import UnknownName
from penstock.model.counted import counted
from penstock.model.releases import Releases
from penstock.model.schema import suggest
from penstock.model.timestamps import to_ticks
from penstock.optimizer.options import Options
from penstock.optimizer.statistics import Statistics
from penstock.plan.blockers import Blockers, blocked_by
from penstock.plan.graph import streams_of
from penstock.plan.nodes import Node
from penstock.runtime.counts import RejectedRows, StreamCounts
from penstock.runtime.join_status import join_statuses
from penstock.runtime.migrations import Migration
from penstock.runtime.query import Query
from penstock.runtime.rejected_buffers import RejectedBuffers
from penstock.runtime.status import OperatorStatus, QueryStatus, Status, StreamStatus

Q = TypeVar("Q", bound=Query)


class Looking(ABC, Generic[Q]):
    """The part of an engine that changes nothing."""

    catalog: Catalog
    _queries: dict[str, Q]
    _rejected: RejectedBuffers

    def query(self, name: str) -> Q:
        """A continuous query by its name, whatever its case."""
        entry, queries = self.catalog.get(name), dict(self._queries)
        if entry is None or entry.name not in queries:
            raise UnknownName(f"no query `{name}`", hint=suggest(name, queries))
        return queries[entry.name]

    @property
    def queries(self) -> list[Q]:
        return list(self._queries.values())

    def _options_of(self, name: str, plan: Node) -> Options:
        """What a query runs by; one that is not declared would go by what is set now."""
        declared, settings = self._declared(name, plan), self.catalog.settings
        return settings.options if declared is None else settings.options_for(declared.options)

    def _declared(self, name: str, plan: Node) -> QueryEntry | None:
        """The query as it was declared; None: it was not, or is another one by now."""
        entry = self.catalog.get(name)
        return entry if isinstance(entry, QueryEntry) and entry.plan is plan else None

    def status(self) -> Status:
        """What all queries, streams and operators have come to."""
        with self._steady():
            streams = self._stream_statuses()
            operators, known = self._operator_statuses(), self._known()
            return Status(
                {q.name: self._status_of(q, streams, operators, known) for q in self.queries},
                streams,
                operators,
                *join_statuses({q.name: q.plan for q in self.queries}, known.joins),
                tuple(self._migrations()),
            )

    def __repr__(self) -> str:
        queries = counted(len(self._queries), "query", "queries")
        streams = counted(len(self.catalog.streams), "stream")
        return f"<{type(self).__name__}: {queries}, {streams}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: the status."""
        return self.status()._repr_html_()

    def _steady(self) -> AbstractContextManager[Any]:
        """While this is open, nothing changes of what is looked at."""
        return nullcontext()  # most hosts change it elsewhere

    def migrations_of(self, query: str) -> list[Migration]:
        """The latest changes of a query's joins, oldest first."""
        with self._steady():
            return [each for each in self._migrations() if each.query == query]

    def _query_status(self, query: Q) -> QueryStatus:
        """What one query has come to, also one that is not declared any more."""
        with self._steady():
            streams, operators = self._stream_statuses(), self._operator_statuses()
            return self._status_of(query, streams, operators, self._known())

    def _status_of(
        self,
        query: Q,
        streams: Mapping[str, StreamStatus],
        operators: Iterable[OperatorStatus],
        known: Statistics,
    ) -> QueryStatus:
        state, message = query._doing()
        program = query._program()
        options = (
            self._options_of(query.name, query.plan)
            if program is None
            else program.options_of(query.name)
        )
        mine = [each for each in operators if query._is_declared and query.name in each.queries]
        return QueryStatus(
            query.name,
            state,
            message,
            query.rows,
            query.total_rows,
            query._waiting.rows,
            query._waiting.dropped,
            str(query.sink) if query.sink else None,
            {name: streams[name].bound for name in streams_of(query.plan) if name in streams},
            sum(each.state_rows for each in mine),
            sum(each.state_bytes for each in mine),
            query._batch(),
            blocked_by(
                query.name,
                query.plan if program is None else program.queries[query.name],
                {name: stream.progress for name, stream in streams.items()},
                self._releases(query.name) if query._is_declared else None,
                now=self.now(),
                merges=options.merges,
                ets=query._ets(),
                dropped=not query._is_declared,
            ),
            query._catching_up(),
            sum(each.processor_seconds for each in mine),
            *join_statuses({query.name: query.plan}, known.joins),
            sum(each.ended_attempts for each in mine),
        )

    def why(self, name: str) -> Blockers:
        """What holds a running query back; printed, it is what EXPLAIN LIVE says."""
        return self.query(name).status.blockers

    def counts(self, stream: str) -> StreamCounts:
        """How many rows of a stream went in, and how many did not."""
        with self._steady():
            return self._stream_statuses()[self.declared_stream(stream).name].counts

    @property
    def rejected_rows(self) -> list[RejectedRows]:
        """The latest rows that did not go into their streams, late or malformed, oldest first.

        Rows that went to a sink (LATE INTO) are not among them. All are counted: see `counts`.
        """
        return self._rejected.rows()

    def declared_stream(self, name: str) -> StreamEntry:
        """A stream by its name, whatever its case."""
        entry = self.catalog.get(name)
        if not isinstance(entry, StreamEntry):
            known = [entry.name for entry in self.catalog.streams]
            raise UnknownName(f"no stream `{name}`", hint=suggest(name, known))
        return entry

    @abstractmethod
    def _stream_statuses(self) -> dict[str, StreamStatus]:
        """What each declared stream has come to."""

    @abstractmethod
    def _operator_statuses(self) -> tuple[OperatorStatus, ...]:
        """What the operators that run have come to."""

    @abstractmethod
    def _known(self) -> Statistics:
        """What is known now of streams and of the machine."""

    @abstractmethod
    def _migrations(self) -> Iterable[Migration]:
        """The latest changes of joins, oldest first."""

    @abstractmethod
    def _releases(self, query: str) -> Releases | None:
        """What lets the next row of a query out; None: not known yet."""

    def now(self) -> int:
        """The clock by which streams are silent."""
        return to_ticks(datetime.now(timezone.utc))
