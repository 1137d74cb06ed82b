"""GroupHost: the kernel graph of one partition group, a micro-batch at a time.

What comes in are blocks of rows per stream, and how far each stream has come as a whole; what goes
out are results per query, and counts. It knows nothing of Spark: `processor` hands it batches and
keeps its state.

A row is late when it lies below the bound that earlier batches promised. Bounds rise at the end of
a batch, the same in every group, so the answer does not depend on how rows are spread over groups.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from penstock.errors import BadPunctuation
from penstock.kernel.block import Block
from penstock.kernel.conform import as_text, timeless_as_text
from penstock.kernel.graph import Graph
from penstock.kernel.graph import Node as KernelNode
from penstock.kernel.progress.arcs import ArcOutput
from penstock.kernel.progress.describe import describe
from penstock.kernel.progress.eqg import draw_arcs
from penstock.kernel.progress.generate import Generator
from penstock.kernel.progress.late import LatePolicy, Split
from penstock.kernel.progress.release import releases
from penstock.kernel.progress.useful import is_awaited, waiting_prone
from penstock.kernel.scheduling.executor import Executor
from penstock.kernel.scheduling.strategies import strategy_named
from penstock.kernel.scheduling.table import SchedulingTable
from penstock.kernel.state import State
from penstock.model.punctuation import Punctuation, Where
from penstock.model.releases import Releases
from penstock.model.schema import ROW_NUM
from penstock.model.streams import Stream
from penstock.model.timestamps import BEGINNING, END
from penstock.optimizer.build import build
from penstock.optimizer.closing import closing_bounds, streams_with_row_windows
from penstock.optimizer.physical import Program
from penstock.optimizer.rules.late_rows import can_reopen
from penstock.optimizer.specs import SourceSpec
from penstock.runtime.graph_host import operator_statuses


@dataclass
class Arrivals:
    """What one micro-batch brings of one stream."""

    blocks: list[pl.DataFrame] = field(default_factory=list)
    newest: int = BEGINNING  # of the whole stream
    rows: int = 0  # of the whole stream
    bound: int = BEGINNING  # promised from outside
    about: list[tuple[int, Where]] = field(default_factory=list)  # the same of some rows only
    malformed: list[pl.DataFrame] = field(default_factory=list)  # as text
    foremost: list[int] = field(default_factory=list)  # timestamps, where lateness counts rows
    punctuation: list[pl.DataFrame] = field(default_factory=list)  # rows that are promises
    answers_for_punctuation: bool = False  # whether this group reports those that are refused
    ends: bool = False  # whether the run ends with this batch
    highest: dict[str, int] = field(default_factory=dict)  # of the stream's further times
    clocks: dict[str, int] = field(default_factory=dict)  # promised about columns of stamps


@dataclass
class Answers:
    """What one micro-batch gives."""

    rows: dict[str, int] = field(default_factory=dict)  # of whole streams
    results: dict[str, pl.DataFrame] = field(default_factory=dict)
    late: dict[str, pl.DataFrame] = field(default_factory=dict)
    closed: dict[str, pl.DataFrame] = field(default_factory=dict)  # late since a run has ended
    #: how many late rows passed, where no query has windows that they are late for
    passed: dict[str, int] = field(default_factory=dict)
    lateness: dict[str, int] = field(default_factory=dict)  # of the latest row of each stream
    malformed: dict[str, pl.DataFrame] = field(default_factory=dict)  # as text


class GroupHost:
    """Runs one group's share of all queries."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.graph = Graph()
        sources = {stream.name: self.graph.add_source(stream.name) for stream in program.streams}
        self._sources = sources
        self.generators = {stream.name: Generator(stream) for stream in program.streams}
        # Queries without windows read sources of their own, in which late rows are, too.
        self._sources_of_all: dict[str, KernelNode] = {}
        self._ends = {
            name: build(plan, self.graph, self._source) for name, plan in program.plans.items()
        }
        self._sinks = {name: self.graph.add_sink(name, end) for name, end in self._ends.items()}
        describe(self.graph)
        options = program.options
        if options.ets_by == "arcs":
            draw_arcs(self.graph)
        table = SchedulingTable(self.graph, strategy_named(options.strategy))
        self._executor = Executor(self.graph, table, rows_per_step=options.rows_per_step)
        self._late = LatePolicy(options.late)
        # What comes between the end of a run and of the last window that it has answered.
        self._reopens = can_reopen(program.queries.values(), options)
        self._told: dict[str, tuple[int, int]] = {}  # by operator, rows that were counted
        self._behind = {name: waiting_prone(source) for name, source in sources.items()}

    def _source(self, spec: SourceSpec) -> KernelNode:
        name = spec.stream.name
        if not spec.with_late:
            return self._sources[name]
        if name not in self._sources_of_all:
            self._sources_of_all[name] = self.graph.add_source(f"{name} and late rows")
        return self._sources_of_all[name]

    def process(self, arrivals: Sequence[Arrivals]) -> Answers:
        """Carry a micro-batch through; `arrivals` are in the order of the program's streams."""
        answers = Answers(
            {s.name: a.rows for s, a in zip(self.program.streams, arrivals, strict=True)}
        )
        said = {name: generator.standing() for name, generator in self.generators.items()}
        for stream, arrived in zip(self.program.streams, arrivals, strict=True):
            malformed = list(arrived.malformed)
            if arrived.blocks:
                rows = pl.concat(arrived.blocks, rechunk=False)
                malformed += self._push(stream, rows, answers)
            malformed += self._read_promises(stream, arrived)
            if malformed:
                answers.malformed[stream.name] = pl.concat(malformed)
        self._executor.run_until_idle()
        for stream, arrived in zip(self.program.streams, arrivals, strict=True):
            self._promise(stream, arrived, said[stream.name])
        self._executor.run_until_idle()
        if any(arrived.ends for arrived in arrivals):
            self._end_run()
        for name, sink in self._sinks.items():
            blocks = []
            while not sink.empty:
                item = sink.take()
                if isinstance(item, Block):
                    blocks.append(item.rows)
            if blocks:
                answers.results[name] = pl.concat(blocks)
        return answers

    def _push(self, stream: Stream, rows: pl.DataFrame, answers: Answers) -> list[pl.DataFrame]:
        """Put rows into their source; gives those without a time, as text."""
        generator = self.generators[stream.name]
        parts = self._judge(stream, rows)
        if parts.late.height and self._late is LatePolicy.FAIL:
            raise generator.late_row(parts.late)
        rows = of_all = parts.on_time
        if parts.late.height:
            rows, of_all = self._with_late(stream, parts, answers)
        if stream.is_ordered and stream.timestamp is not None:
            # Tasks run side by side, so their blocks have no order; operators count on one.
            rows = rows.sort(stream.timestamp, maintain_order=True)
            of_all = of_all.sort(stream.timestamp, maintain_order=True)
        self._sources[stream.name].output.batch(Block(generator.number(rows)))
        if stream.name in self._sources_of_all:
            source = self._sources_of_all[stream.name]
            source.output.batch(Block(generator.number_all(of_all)))
        return [timeless_as_text(stream, parts.timeless)] if parts.timeless.height else []

    def _with_late(
        self, stream: Stream, parts: Split, answers: Answers
    ) -> tuple[pl.DataFrame, pl.DataFrame]:
        """What goes in where there are windows, and where there are none; late rows are noted."""
        generator = self.generators[stream.name]
        is_over = generator.state.ended
        answers.lateness[stream.name] = generator.lateness(parts.dated, by_block=True)
        passes = self._late is LatePolicy.KEEP and not is_over
        source = self._sources[stream.name]
        if passes and not source.consumers and not source.sinks:
            answers.passed[stream.name] = parts.late.height
            return parts.on_time, parts.dated
        is_closed = self.generators[stream.name].is_closed(parts.late)
        closed, late = parts.late.filter(is_closed), parts.late.filter(~is_closed)
        for kind, rows in ((answers.late, late), (answers.closed, closed)):
            if rows.height:
                kind[stream.name] = rows
        if self._late.lets_in and not is_over:
            return pl.concat([parts.on_time, parts.late]), parts.dated
        let_in = pl.concat([parts.on_time, closed]) if self._reopens else parts.on_time
        return let_in, parts.dated if passes else parts.on_time

    def _judge(self, stream: Stream, rows: pl.DataFrame) -> Split:
        generator = self.generators[stream.name]
        # A promise from outside may be ahead of the clock, or the clock go back: it counts.
        rows = rows.with_columns(pl.col(on).clip(generator.stamp_from(on)) for on in stream.stamped)
        return generator.judge(rows, by_block=True)

    def _read_promises(self, stream: Stream, arrived: Arrivals) -> list[pl.DataFrame]:
        """Note the promises among the rows; gives those that are refused, as text."""
        if not arrived.punctuation:
            return []
        generator, refused, reasons = self.generators[stream.name], [], []
        rows = pl.concat(arrived.punctuation).sort(str(stream.timestamp), maintain_order=True)
        for row in rows.iter_rows(named=True):
            try:
                generator.read_punctuation(row)
            except BadPunctuation as reason:
                refused.append(row)
                reasons.append(reason.message)
        if not refused or not arrived.answers_for_punctuation:
            return []
        return [as_text(refused, stream.arriving, reasons)]

    def _promise(self, stream: Stream, arrived: Arrivals, said: list[Punctuation]) -> None:
        generator = self.generators[stream.name]
        generator.after_block(arrived.newest, arrived.foremost, arrived.highest)
        for on, bound in arrived.clocks.items():
            generator.close(bound, on)
        if arrived.bound >= END:
            generator.end()
        elif arrived.bound > generator.state.own:
            generator.punctuate(arrived.bound)
        for bound, where in arrived.about:
            # Whoever sent it has checked it; of one that says less than another nothing is lost.
            with suppress(BadPunctuation):
                generator.punctuate(bound, where)
        source = self._sources[stream.name]
        out = ArcOutput(source.output, source.arcs)
        for promise in generator.standing():
            # Said again it would wait in front of a Merge, batch for batch, for nothing.
            if promise not in said:
                out.punctuation(promise)

    def _end_run(self) -> None:
        """Let out whatever waits; what is answered then is closed for runs that continue."""
        bounds = closing_bounds(
            self.program.queries.values(),
            {(n, on): v for n, g in self.generators.items() for on, v in _latest(g).items()},
            {(n, on): g.promised(on) for n, g in self.generators.items() for on in g.stream.times},
            self.program.options,
        )
        # The last window over rows is answered unfilled, and no row can be added to it any more:
        # such streams are over for good.
        over = streams_with_row_windows(self.program.queries.values())
        bounds |= {(name, ROW_NUM): END for name in self.generators if name in over}
        for (name, on), bound in bounds.items():
            for promise in self.generators[name].close(bound, on):
                self._sources[name].output.punctuation(promise)
        self._executor.run_until_idle()
        for node in list(self.graph.nodes.values()):
            if node.operator is not None:
                node.operator.rest(node.output)
                self._executor.run_until_idle()
        if self._reopens:
            for node in self.graph.nodes.values():
                if node.operator is not None:
                    node.operator.reopen()

    def repeat_bounds(self) -> None:
        """Tell operators that are new what streams have promised before."""
        for name, generator in self.generators.items():
            for promise in generator.standing():
                self._sources[name].output.punctuation(promise)

    def states(self) -> Iterator[tuple[str, State]]:
        """Everything to be kept, under names that are the same in every batch."""
        for name, generator in self.generators.items():
            yield f"stream {name}", generator.state
        for name, node in self.graph.nodes.items():
            if node.operator is not None:
                yield f"operator {name}", node.operator.state

    def _releases(self, query: str) -> Releases:
        """What lets the next row of a query out of this group."""
        streams = {source: name for name, source in self._sources.items()}
        return releases(self._ends[query], streams, lambda s, on: self.generators[s].promised(on))

    def _figures(self) -> dict[str, list[Any]]:
        """Of each operator its queries, rows in and out since this was asked last, and state."""
        found = {}
        for each in operator_statuses(self.graph):
            rows_in, rows_out = self._told.get(each.name, (0, 0))
            self._told[each.name] = (each.rows_in, each.rows_out)
            found[each.name] = [
                each.queries,
                each.rows_in - rows_in,
                each.rows_out - rows_out,
                each.state_rows,
                each.state_bytes,
            ]
        return found

    def progress(self) -> dict[str, Any]:
        """Bounds and sizes, for whoever watches."""
        return {
            "bounds": {name: g.state.bound for name, g in self.generators.items()},
            "own": {name: g.state.own for name, g in self.generators.items()},
            "newest": {name: g.state.newest for name, g in self.generators.items()},
            "awaited": [name for name, behind in self._behind.items() if is_awaited(behind)],
            "releases": {name: self._releases(name).as_json() for name in self._sinks},
            "operators": self._figures(),
        }


def _latest(generator: Generator) -> dict[str, int]:
    """The greatest times that went in; stamps below what was promised were raised to it."""
    stream, state = generator.stream, generator.state
    found = {on: state.newest_of.get(on, BEGINNING) for on in stream.times}
    if stream.timestamp is not None:
        found[stream.timestamp] = state.newest
    for on in stream.stamped:
        if found[on] > BEGINNING:
            found[on] = max(found[on], generator.stamp_from(on))
    return found
