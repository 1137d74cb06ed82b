"""BatchDelivery: where the rows of a pipeline's micro-batches go, and how they are counted.

Everything is under the number of its batch: a batch that Spark repeats replaces what it put out and
counted before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime, timezone
from functools import partial, reduce
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import quote

import polars as pl

from penstock.io.late_rows import as_late_rows, late_schema
from penstock.io.results import no_rows
from penstock.io.sinks.registry import SINKS
from penstock.io.sinks.sink_kind import Target
from penstock.io.storage.storage_path import StoragePath, storage_path
from penstock.kernel.rejected import Reason
from penstock.model.schema import Schema
from penstock.model.streams import Sink
from penstock.model.timestamps import to_ticks
from penstock.optimizer.physical import Program
from penstock.plan.nodes import Node, Ordered
from penstock.runtime.counts import RejectedRows, Tally
from penstock.spark.delivery.batch_sink import BatchSink, FilesSink, batch_sink
from penstock.spark.delivery.delivery import RESULT, STAGED, BatchReport, OutputRows
from penstock.spark.delivery.on_results import finished
from penstock.spark.delivery.outputs import (
    Destination,
    Held,
    OutputPlace,
    Outputs,
    check_columns,
    late_rows,
    query_rows,
)
from penstock.spark.delivery.recipients import Recipient, Recipients
from penstock.spark.delivery.side_by_side import side_by_side
from penstock.spark.delivery.staging import Staged, Told
from penstock.spark.delivery.totals import Totals, stream_counts
from penstock.spark.faults import step
from penstock.spark.state.checkpoint import Checkpoint

if TYPE_CHECKING:
    from penstock.spark.engine import Engine
    from penstock.spark.query import SparkQuery


#: A setting of Spark's: `driver` sends all results through the driver (`benchmarks/delivery.py`).
DELIVERY = "spark.penstock.delivery"
#: A batch behind all others.
_NEVER = 1 << 62
#: A sink, and the place that it writes to, where anything stays there.
Opened: TypeAlias = tuple[BatchSink | None, Held | None]
#: The same by query that comes.
OpenedBy: TypeAlias = "Mapping[SparkQuery, Opened]"
#: By whose rows go there, a place as JSON holds it.
Noted: TypeAlias = dict[str, dict[str, str]]


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
        place: StoragePath | None,
        first_of: frozenset[str],
    ) -> None:
        self._engine = engine
        self._streams = program.streams
        self._pipeline = ", ".join(program.queries)
        self._first = next(iter(program.queries))
        self._first_of = first_of
        self._application = checkpoint.id
        self._recipients = Recipients()
        self._late: dict[str, BatchSink] = {}
        noted = checkpoint.sinks
        late = {
            stream.name: self._late_sink(stream.name, noted.get(late_rows(stream.name)))
            for stream in program.streams
        }
        outputs = {late_rows(n): Destination(sink) for n, sink in late.items() if sink is not None}
        for query in map(engine.query, program.queries):
            if (output := output_of(query.sink, query.plan)) is not None:
                outputs[query_rows(query.name)] = output
        self._outputs = Outputs(checkpoint, outputs)
        held = self._outputs.held
        try:
            for stream in program.streams:
                whose, sink = late_rows(stream.name), late[stream.name]
                if sink is not None:
                    into = self._writer(whose, stream.name, sink, late_schema(stream), held)
                    self._late[stream.name] = into
            for name, plan in program.queries.items():
                query = engine.query(name)
                opened = self._open(name, query.sink, query.plan, held.get(query_rows(name)))
                after = program.on_results.get(name)
                self._recipients.change(name, 0, Recipient(query, plan, *opened, after))
        except BaseException:
            self.release()
            raise
        self.totals = Totals(place)
        #: Whether tasks may write to stores, too: decided when the pipeline begins.
        sinks = [each.into for each in self._recipients.last().values()]
        self.has_stores = any(isinstance(sink, FilesSink) and sink.is_store for sink in sinks)

    def _open(self, name: str, sink: Sink | None, plan: Node, held: Held | None) -> Opened:
        """Open the sink of a query, whose place is held."""
        if sink is None:
            return None, None
        whose = query_rows(name)
        places = {} if held is None else {whose: held}
        return self._writer(whose, name, sink, plan.schema, places), held

    def _writer(
        self, whose: str, name: str, sink: Sink, schema: Schema, held: Mapping[str, Held]
    ) -> BatchSink:
        application = f"{self._application}:{whose}"
        if whose in held and held[whose].place.writer:
            application += f":{held[whose].place.writer}"
        target = Target(whose, sink, schema, application)
        return batch_sink(self._engine.session, name, target, held.get(whose))

    def noted(
        self, without: Collection[str] = (), opened: OpenedBy = MappingProxyType({})
    ) -> Noted:
        """The places that rows go to, as the checkpoint notes them: in the end, or after a change.

        `without` are queries that go then, and `opened` the sinks of those that come.
        """
        late = (w for w in self._outputs.held if not w.startswith(query_rows("")))
        found = {whose: self._outputs.held[whose] for whose in late}
        for name, each in self._recipients.last().items():
            if each.held is not None and name not in without:
                found[query_rows(name)] = each.held
        found |= {query_rows(q.name): each for q, (_, each) in opened.items() if each is not None}
        return {whose: asdict(each.place) for whose, each in found.items()}

    # -- queries that come and go -------------------------------------------------------------

    def check(self, name: str, sink: Sink | None, plan: Node) -> None:
        """Raise if results of a query could not go where they are declared to."""
        self._let_go(name, self._hold(name, sink, plan))

    def hold(self, query: SparkQuery) -> Opened:
        """Hold and open the sink of a query that is about to come."""
        return self._hold(query.name, query.sink, query.plan)

    def let_go(self, query: SparkQuery, opened: Opened) -> None:
        """Nothing came of it after all."""
        self._let_go(query.name, opened)

    def _hold(self, name: str, sink: Sink | None, plan: Node) -> Opened:
        output, before = output_of(sink, plan), self._known_as(name)
        if output is None:
            return None, None
        held = None
        if before is not None and before.held is not None:
            place = OutputPlace.of(output)
            check_columns(query_rows(name), before.held.place, place)
            held = before.held if before.held.place.is_same(place) else None
        held = held or self._outputs.hold(query_rows(name), output)
        try:
            return self._open(name, sink, plan, held)
        except BaseException:
            self._let_go(name, (None, held))
            raise

    def _known_as(self, name: str) -> Recipient | None:
        """Who gets results under a name, whatever its case."""
        last = self._recipients.last().items()
        return next((each for known, each in last if known.lower() == name.lower()), None)

    def _let_go(self, name: str, opened: Opened) -> None:
        into, held = opened
        if into is not None:
            into.close()
        before = self._known_as(name)
        if held is not None and (before is None or before.held is not held):
            self._outputs.let_go(query_rows(name), held)

    def change(
        self, batch: int, dropped: Iterable[str], opened: OpenedBy, program: Program
    ) -> None:
        """From a batch on, deliver to others, what the program computes for them."""
        last, kept = self._recipients.last(), [held for _, held in opened.values()]
        for name in dropped:
            self._recipients.change(name, batch, None)
            held = last[name].held if name in last else None
            if held is not None and held.folder is not None and held not in kept:
                held.folder.leave()
        for query, sink in opened.items():
            name = query.name
            after = program.on_results.get(name)
            recipient = Recipient(query, program.queries[name], *sink, after)
            self._recipients.change(name, batch, recipient)

    def go_on(self, batch: int, queries: Iterable[str], program: Program) -> None:
        """From a batch on, these queries compute other plans, and deliver where they did."""
        last = self._recipients.last()
        for name in queries:
            plan, after = program.queries[name], program.on_results.get(name)
            self._recipients.change(name, batch, replace(last[name], plan=plan, after=after))

    def begin(self, batch: int) -> None:
        """A batch begins: close the sinks of those who get nothing any more."""
        for name, gone, other in self._recipients.gone(batch):
            if gone.into is not None and (other is None or other.into is not gone.into):
                gone.into.close()
            other = other or self._known_as(name)
            if gone.held is not None and (other is None or other.held is not gone.held):
                self._outputs.let_go(query_rows(name), gone.held)
                if gone.held.manifest is not None and batch < _NEVER:
                    # No program that may still run names this list of files.
                    gone.held.manifest.delete()

    def _late_sink(self, stream: str, noted: Mapping[str, str] | None) -> Sink | None:
        """Where late rows go; a directory belongs to one pipeline, so others have one inside it.

        `noted`: where they went so far. They go on there, whichever queries there are by now.
        """
        sink = self._engine.declared_stream(stream).late
        if sink is None or sink.path is None or sink.format in SINKS:
            return sink
        place = storage_path(sink.path).resolve()
        if noted is not None:
            before = storage_path(noted["place"])
            if str(place) in (str(before), str(before.parent)):
                return replace(sink, path=str(before))
        if stream in self._first_of:
            return sink
        return replace(sink, path=str(place / quote(self._first)))

    def begin_anew(self) -> None:
        """Batches are numbered from 0 again: those of an earlier run would stand among them."""
        for each in self._recipients.last().values():
            each.query.forget()
        for stream in self._streams:
            self._engine._tallies_of(stream.name).forget(self._pipeline)

    def release(self) -> None:
        """Leave the directories to others, and close what is open."""
        self.begin(_NEVER)  # those who have gone since the last batch
        into = (each.into for each in self._recipients.last().values())
        for sink in (*self._late.values(), *filter(None, into)):
            sink.close()
        self._outputs.release()

    def sinks_for_tasks(self, batch: int) -> dict[str, Told]:
        """Where tasks of a batch may write results themselves, by query.

        Only if nobody else wants these rows, they need no order, and Spark computes nothing of them
        that the tasks do not have. Whoever subscribes while a
        batch is under way gets rows from the next one on.
        """
        if self._engine.session.conf.get(DELIVERY, None) == "driver":
            return {}
        return {
            name: each.into.for_tasks().as_told()
            for name, each in self._recipients.of(batch).items()
            if isinstance(each.into, FilesSink)
            if self.has_stores or not each.into.is_store
            if not each.query.has_subscribers
            if not isinstance(each.query.plan, Ordered)
            if each.after is None
        }

    def deliver(self, batch: int, lines: Sequence[OutputRows]) -> None:
        """Hand on what a batch put out."""
        recipients = self._recipients.of(batch)
        together: dict[tuple[str, str], list[pl.DataFrame]] = {}
        staged: dict[str, list[Staged]] = {}
        for _, name, kind, rows in sorted(lines, key=lambda line: line[0]):
            if kind == STAGED:
                files = (Staged(storage_path(file), n) for _, file, n in rows.iter_rows())
                staged.setdefault(name, []).extend(files)
                if name not in recipients:
                    continue
                kind, rows = RESULT, no_rows(recipients[name].plan.schema)
            together.setdefault((name, kind), []).append(rows)
        rejected, writing = [], []
        for (name, kind), parts in together.items():
            if kind != RESULT:
                if kind != Reason.MALFORMED.value or name in self._first_of:
                    rejected.append(RejectedRows(name, Reason(kind), pl.concat(parts)))
            elif name in recipients:
                to = recipients[name]
                answer = _in_order(to.plan, reduce(pl.DataFrame.vstack, parts))
                if to.after is not None:
                    spark = self._engine.session
                    answer = finished(spark, answer, to.plan.schema, to.after)
                deliver = partial(_deliver, batch, to, answer, staged.get(name, ()))
                is_file = isinstance(to.into, FilesSink) and to.into.is_near
                if is_file and not to.query.has_subscribers:
                    writing.append(deliver)
                else:
                    deliver()
        side_by_side(writing)
        for rejects in rejected:
            self._engine._rejected.put(rejects, self._pipeline, batch)
        self._write_late(batch, rejected)
        for each in chain.from_iterable(staged.values()):
            each.file.unlink(missing_ok=True)

    def count(self, report: BatchReport) -> None:
        """Count what became known of a batch; before it is committed, so that it counts once."""
        counts = {}
        for stream in self._streams:
            tally = report.tallies.get(stream.name, Tally())
            tallies = self._engine._tallies_of(stream.name)
            tallies.of(self._pipeline, self.totals)[report.batch] = tally
            counts[stream_counts(stream.name)] = tally.for_totals()
            if tally.late:
                tallies.warn(stream, self._pipeline)
        for name, each in self._recipients.of(report.batch).items():
            counts[query_rows(name)] = {"rows": each.query.rows_of(report.batch)}
        self.totals.note(report.batch, counts)

    def _write_late(self, batch: int, rejected: Sequence[RejectedRows]) -> None:
        """Write rows that did not go in to their streams' sinks."""
        now = to_ticks(datetime.now(timezone.utc))
        for stream in self._streams:
            sink = self._late.get(stream.name)
            found = [
                as_late_rows(stream, each.reason, each.rows, now)
                for each in sorted(rejected, key=lambda each: each.reason)
                if each.stream == stream.name
            ]
            if sink is not None and found:
                for _ in step("deliver.late"):
                    sink.write(batch, pl.concat(found))


def output_of(sink: Sink | None, plan: Node) -> Destination | None:
    """Where the results of a query go."""
    if sink is None:
        return None
    columns = ", ".join(f"{column.name} {column.type}" for column in plan.schema)
    return Destination(sink, columns)


def _deliver(batch: int, to: Recipient, answer: pl.DataFrame, staged: Sequence[Staged]) -> None:
    for _ in step("deliver.query"):
        to.query.receive(batch, answer, to.into, staged)


def _in_order(plan: Node, rows: pl.DataFrame) -> pl.DataFrame:
    """What all groups have put out up to one bound, as one answer."""
    return rows.sort(plan.on, maintain_order=True) if isinstance(plan, Ordered) else rows
