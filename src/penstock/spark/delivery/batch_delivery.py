"""BatchDelivery: where the rows of a pipeline's micro-batches go, and how they are counted.

Everything is under the number of its batch: a batch that Spark repeats replaces what it put out and
counted before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timezone
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import polars as pl

from penstock.io.late_rows import as_late_rows, late_schema
from penstock.io.results import SINK_FORMATS, no_rows
from penstock.io.sinks.registry import SINKS
from penstock.io.sinks.sink_kind import Target
from penstock.kernel.rejected import Reason
from penstock.model.schema import Schema
from penstock.model.timestamps import to_ticks
from penstock.optimizer.physical import Program
from penstock.plan.nodes import Node, Ordered
from penstock.runtime.counts import RejectedRows, Tally
from penstock.spark.delivery.batch_sink import BatchSink, Staged, batch_sink
from penstock.spark.delivery.delivery import RESULT, STAGED, BatchReport, OutputRows
from penstock.spark.delivery.outputs import Outputs, late_rows, query_rows
from penstock.spark.delivery.totals import Totals, stream_counts
from penstock.spark.faults import step
from penstock.spark.session import is_one_process
from penstock.spark.state.checkpoint import Checkpoint
from penstock.sql.parse.statements import Sink

if TYPE_CHECKING:
    from penstock.spark.engine import Engine
    from penstock.spark.query import SparkQuery


class BatchDelivery:
    """The way out of one pipeline; its directories are held until `release`.

    `first_of` are the streams of which this pipeline hands in malformed rows: of those that several
    pipelines read, one does. `place` is None if no checkpoint is to be kept.
    """

    def __init__(
        self,
        engine: Engine,
        program: Program,
        checkpoint: Checkpoint,
        place: Path | None,
        first_of: frozenset[str],
    ) -> None:
        self._engine = engine
        self._program = program
        self._pipeline = ", ".join(program.queries)
        self._first_of = first_of
        # Held here: one may be dropped by another thread while a batch is delivered to it.
        self._queries: dict[str, SparkQuery] = {
            name: engine.query(name) for name in program.queries
        }
        #: Queries that are still declared.
        self.wanted = set(program.queries)
        sinks = self._sinks()
        self._outputs = Outputs(checkpoint, {whose: sink for whose, (_, sink) in sinks.items()})
        self._into: dict[str, BatchSink] = {}
        try:
            for whose, (name, sink) in sinks.items():
                target = Target(whose, sink, self._schema(whose), f"{checkpoint.id}:{whose}")
                manifest = self._outputs.manifest(whose)
                self._into[whose] = batch_sink(engine.session, name, target, manifest)
        except BaseException:
            self.release()
            raise
        self.totals = Totals(place)

    def _sinks(self) -> dict[str, tuple[str, Sink]]:
        """Where rows go, by whose they are, and what to call them."""
        found = {query_rows(name): (name, query.sink) for name, query in self._queries.items()}
        found |= {
            late_rows(stream.name): (stream.name, self._late_sink(stream.name))
            for stream in self._program.streams
        }
        return {whose: (name, sink) for whose, (name, sink) in found.items() if sink is not None}

    def _schema(self, whose: str) -> Schema:
        """The columns of rows, by whose they are."""
        found = {query_rows(name): query.plan.schema for name, query in self._queries.items()}
        found |= {late_rows(each.name): late_schema(each) for each in self._program.streams}
        return found[whose]

    def _late_sink(self, stream: str) -> Sink | None:
        """Where late rows go; a directory belongs to one pipeline, so others have one inside it."""
        sink = self._engine.declared_stream(stream).late
        if sink is None or sink.path is None or stream in self._first_of or sink.format in SINKS:
            return sink
        return replace(sink, path=str(Path(sink.path) / quote(next(iter(self._queries)))))

    def begin_anew(self) -> None:
        """Batches are numbered from 0 again: those of an earlier run would stand among them."""
        for query in self._queries.values():
            query.forget()
        for stream in self._program.streams:
            self._engine._tallies_of(stream.name).forget(self._pipeline)

    def release(self) -> None:
        """Leave the directories to others, and close what is open."""
        for sink in self._into.values():
            sink.close()
        self._outputs.release()

    def sinks_for_tasks(self) -> dict[str, tuple[str, str]]:
        """Where tasks may write results themselves: format and folder, by query.

        Only if tasks have the driver's file system, nobody else wants these rows, and they need no
        order. Whoever subscribes while a batch is under way gets rows from the next one on.
        """
        master = self._engine.session.sparkContext.master
        return {
            name: (query.sink.format, str(Path(str(query.sink.path)).resolve()))
            for name, query in self._queries.items()
            if query.sink is not None and query.sink.format in SINK_FORMATS
            if name in self.wanted and not query.has_subscribers and is_one_process(master)
            if not isinstance(query.plan, Ordered)
        }

    def deliver(self, batch: int, lines: Sequence[OutputRows]) -> None:
        """Hand on what a batch put out."""
        together: dict[tuple[str, str], list[pl.DataFrame]] = {}
        staged: dict[str, list[Staged]] = {}
        for _, name, kind, rows in sorted(lines, key=lambda line: line[0]):
            if kind == STAGED:
                files = (Staged(Path(file), count) for _, file, count in rows.iter_rows())
                staged.setdefault(name, []).extend(files)
                kind, rows = RESULT, no_rows(self._program.queries[name].schema)
            together.setdefault((name, kind), []).append(rows)
        rejected = []
        for (name, kind), parts in together.items():
            if kind != RESULT:
                if kind != Reason.MALFORMED.value or name in self._first_of:
                    rejected.append(RejectedRows(name, Reason(kind), pl.concat(parts)))
            elif name in self.wanted:
                answer = _in_order(self._program.queries[name], pl.concat(parts))
                into = self._into.get(query_rows(name))
                for _ in step("deliver.query"):
                    self._queries[name].receive(batch, answer, into, staged.get(name, ()))
        for rejects in rejected:
            self._engine._rejected.put(rejects, self._pipeline, batch)
        self._write_late(batch, rejected)
        for each in chain.from_iterable(staged.values()):
            each.file.unlink(missing_ok=True)

    def count(self, report: BatchReport) -> None:
        """Count what became known of a batch; before it is committed, so that it counts once."""
        counts = {}
        for stream in (each.name for each in self._program.streams):
            tally = report.tallies.get(stream, Tally())
            self._engine._tallies_of(stream).of(self._pipeline, self.totals)[report.batch] = tally
            counts[stream_counts(stream)] = tally.for_totals()
        for name in sorted(self.wanted):  # which another thread may change
            counts[query_rows(name)] = {"rows": self._queries[name].rows_of(report.batch)}
        self.totals.note(report.batch, counts)

    def _write_late(self, batch: int, rejected: Sequence[RejectedRows]) -> None:
        """Write rows that did not go in to their streams' sinks."""
        now = to_ticks(datetime.now(timezone.utc))
        for stream in self._program.streams:
            sink = self._into.get(late_rows(stream.name))
            found = [
                as_late_rows(stream, each.reason, each.rows, now)
                for each in sorted(rejected, key=lambda each: each.reason)
                if each.stream == stream.name
            ]
            if sink is not None and found:
                for _ in step("deliver.late"):
                    sink.write(batch, pl.concat(found))


def _in_order(plan: Node, rows: pl.DataFrame) -> pl.DataFrame:
    """What all groups have put out up to one bound, as one answer."""
    return rows.sort(plan.on, maintain_order=True) if isinstance(plan, Ordered) else rows
