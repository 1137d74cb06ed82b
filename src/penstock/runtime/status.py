"""Status: the state of an engine, its queries, streams and operators, as one value.

The live table, `--json`, SHOW, DESCRIBE, EXPLAIN LIVE, `why()` and `lastProgress` all read it, so
they always agree. It is a snapshot: ask again for the next one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from operator import add
from typing import Any

from penstock.model.html_table import html_table
from penstock.model.text_table import text_table
from penstock.model.timestamps import BEGINNING, bound_as_json
from penstock.plan.blockers import Blockers, StreamProgress
from penstock.runtime.counts import StreamCounts
from penstock.runtime.migrations import Migration

#: What a query may be doing.
NOT_STARTED, RUNNING, STOPPED, FAILED = "not started", "running", "stopped", "failed"


@dataclass(frozen=True)
class StreamStatus:
    """One stream. `bound`: nothing below it will come; `last_arrival`: when its last row came."""

    name: str
    counts: StreamCounts = field(default_factory=StreamCounts)
    bound: int = BEGINNING
    last_arrival: int | None = None
    rejected_kept: int = 0  # rejected rows that are kept in memory
    rejected_dropped: int = 0  # older ones that were dropped
    unreadable: Mapping[str, str] = field(default_factory=dict)  # files that are skipped, and why

    @property
    def progress(self) -> StreamProgress:
        """What is to be known of it to say what a query waits for."""
        of = self.counts
        return StreamProgress(self.bound, self.last_arrival, of.rows, of.late, of.lateness)


@dataclass(frozen=True)
class OperatorStatus:
    """One operator, over all its groups; `queries` are those that use it.

    `processor_seconds` are those of all its steps; of `lately_seconds` and `lately_rows` those of
    the last 65,536 rows that came to a group make up half.
    """

    name: str
    queries: tuple[str, ...]
    rows_in: int
    rows_out: int
    state_rows: int
    state_bytes: int
    processor_seconds: float = 0.0
    lately_seconds: float = 0.0
    lately_rows: float = 0.0
    ended_attempts: int = 0  # attempts at a match that `match_rows` has ended

    def __add__(self, other: OperatorStatus) -> OperatorStatus:
        """The same operator, in further groups."""
        _, _, *mine = vars(self).values()
        _, queries, *theirs = vars(other).values()
        return OperatorStatus(self.name, queries, *map(add, mine, theirs))

    @property
    def seconds_per_row(self) -> float | None:
        """What a row has lately taken of the processor."""
        return self.lately_seconds / self.lately_rows if self.lately_rows else None


@dataclass(frozen=True)
class InputStatus:
    """An input of joins: rows a second of its own time, and how many were looked at for that.

    What is not known yet is None.
    """

    name: str
    queries: tuple[str, ...]
    rate: float | None = None
    row_bytes: float | None = None
    seen: int = 0


@dataclass(frozen=True)
class PredicateStatus:
    """A predicate of joins: the share of pairs of rows that satisfy it, and its standard error.

    `seen` rows were looked at for that; of conditions other than equality, combinations of them.
    """

    predicate: str
    queries: tuple[str, ...]
    selectivity: float | None = None
    error: float | None = None
    seen: int = 0


@dataclass(frozen=True)
class BatchStatus:
    """The last micro-batch; `seconds` is None if the last trigger found nothing to do."""

    number: int
    rows: Mapping[str, int]  # of each stream
    seconds: float | None


@dataclass(frozen=True)
class QueryStatus:
    """One query. `rows` came out since it was started, `total_rows` since its checkpoint began.

    `kept` results wait to be fetched; `dropped` ones exceeded the limit.
    """

    name: str
    state: str
    message: str
    rows: int
    total_rows: int
    kept: int
    dropped: int
    sink: str | None
    bounds: Mapping[str, int]  # of its streams
    state_rows: int
    state_bytes: int
    batch: BatchStatus | None
    blockers: Blockers
    catching_up: str = ""  # how far, where it still reads what came before it
    processor_seconds: float = 0.0
    inputs: tuple[InputStatus, ...] = ()  # of its joins
    predicates: tuple[PredicateStatus, ...] = ()
    ended_attempts: int = 0  # attempts at a match that `match_rows` has ended

    @property
    def facts(self) -> dict[str, Any]:
        """What `lastProgress` says of it, under `penstock`; where there are no micro-batches,
        `batch` and `rows` (those that it read) are None."""
        return {
            "batch": None if self.batch is None else self.batch.number,
            "rows": None if self.batch is None else dict(self.batch.rows),
            "results": self.rows,
            "bounds": {name: bound_as_json(bound) for name, bound in self.bounds.items()},
            "state_rows": self.state_rows,
            "state_bytes": self.state_bytes,
            "processor_seconds": self.processor_seconds,
            "inputs": {each.name: each.rate for each in self.inputs},
            "predicates": {each.predicate: each.selectivity for each in self.predicates},
            "blockers": self.blockers.as_json(),
        }


def _row_of(query: QueryStatus) -> Sequence[str | int]:
    counts = (query.rows, query.kept, query.dropped, query.state_rows, query.state_bytes)
    return (query.name, query.catching_up or query.state, *counts)


@dataclass(frozen=True, repr=False)
class Status:
    """An engine: its queries and streams by name, and the operators that run."""

    queries: Mapping[str, QueryStatus]
    streams: Mapping[str, StreamStatus]
    operators: tuple[OperatorStatus, ...]
    inputs: tuple[InputStatus, ...] = ()  # of all joins
    predicates: tuple[PredicateStatus, ...] = ()
    migrations: tuple[Migration, ...] = ()  # the latest changes, oldest first

    def as_json(self) -> dict[str, Any]:
        found = asdict(self)
        for stream in found["streams"].values():
            stream["bound"] = bound_as_json(stream["bound"])
        for query in found["queries"].values():
            query["bounds"] = {n: bound_as_json(bound) for n, bound in query["bounds"].items()}
        return found

    @property
    def tables(self) -> dict[str, list[Sequence[str | int]]]:
        """What it says of queries and streams, as tables with a header."""
        return {
            "queries": [
                ("query", "state", "rows", "waiting", "dropped", "state rows", "state bytes"),
                *map(_row_of, self.queries.values()),
            ],
            "streams": [
                ("stream", "rows", "late", "malformed", "ahead"),
                *(
                    (of.name, of.counts.rows, of.counts.late, of.counts.malformed, of.counts.ahead)
                    for of in self.streams.values()
                ),
            ],
            **self._unreadable,
        }

    @property
    def _unreadable(self) -> dict[str, list[Sequence[str | int]]]:
        """The files that are skipped, if there are any."""
        skipped: list[Sequence[str | int]] = [
            (of.name, file, reason)
            for of in self.streams.values()
            for file, reason in of.unreadable.items()
        ]
        return {"files": [("stream", "unreadable file", "reason"), *skipped]} if skipped else {}

    def __repr__(self) -> str:
        return "\n\n".join(map(text_table, self.tables.values()))

    def _repr_html_(self) -> str:
        return "".join(html_table(title, rows) for title, rows in self.tables.items())
