"""StreamInput: a stream's way into the graph, for every host.

Rows are judged by the stream's bound, numbered, and appended to the source's buffer; behind them
comes the new punctuation. Rows that cannot go in are rejected with the reason: counted, and handed
to whoever collects them. What differs between hosts is when a bound counts:

    by row           `push`: rows are conformed to the stream's columns and stamped; each raises
                     the bound for those behind it, and the punctuation follows at once
    by micro-batch   `open_batch` and `close_batch`: rows come conformed, of one group; all of a
                     batch are judged by what earlier batches have said, and the bound rises when it
                     is over, by how far the whole stream has come
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from penstock.errors import BadPunctuation
from penstock.kernel.aggregates.grouping import take_rows
from penstock.kernel.block import Block
from penstock.kernel.conform import (
    Conformed,
    Rows,
    as_text,
    conform,
    lines_as_text,
    timeless_as_text,
)
from penstock.kernel.expressions.filter_index import Condition, FilterIndex
from penstock.kernel.graph import GraphNode
from penstock.kernel.operator import Output
from penstock.kernel.operators.select import Select
from penstock.kernel.progress.arcs import ArcOutput
from penstock.kernel.progress.describe import grain_behind
from penstock.kernel.progress.future import as_future, has_clock, is_future, may_be_future
from penstock.kernel.progress.generate import Generator
from penstock.kernel.progress.late import LatePolicy, Split, is_ahead
from penstock.kernel.rejected import Reason
from penstock.model.punctuation import Punctuation, Where
from penstock.model.slack import slack_steps
from penstock.model.streams import Stream
from penstock.model.timestamps import BEGINNING, END
from penstock.runtime.arrivals import Arrivals
from penstock.runtime.counts import RejectedRows, Tally


class StreamInput:
    """Feeds one source.

    `reopens`: whether rows go in that are late only because an earlier run has ended.
    """

    def __init__(
        self,
        stream: Stream,
        node: GraphNode,
        policy: LatePolicy,
        rejected: Callable[[RejectedRows], None],
        *,
        by_batch: bool = False,
        reopens: bool = False,
    ) -> None:
        self.stream = stream
        self.node = node
        #: A second source, of late rows too, for queries that have nothing to be late for.
        self.node_of_all: GraphNode | None = None
        self.tally = Tally()
        self.policy = policy
        #: How far ahead of the newest one and of the clock a row may lie; None: anywhere.
        self.max_jump: int | None = None
        self._has_clock = has_clock(stream)
        self.generator = Generator(stream)
        #: What punctuation is used about that follows from rows; None: anything.
        self.useful: frozenset[str] | None = None
        self._rejected = rejected
        self._by_batch = by_batch
        self._reopens = reopens
        self._said: list[Punctuation] = []  # when the batch began

    @property
    def bound(self) -> int:
        """Nothing below it will come."""
        return self.generator.state.bound

    @property
    def last_arrival(self) -> int | None:
        """When rows last came, by the clock; None: never."""
        return self.generator.state.last_arrival

    # -- by row -------------------------------------------------------------------------------

    def push(self, rows: Rows, now: int) -> None:
        """Take rows in as they come, in the order in which they do."""
        conformed = conform(self.stream, rows)
        marker = self.stream.timing.marker
        if marker is None or not conformed.rows.get_column(marker).any():
            self._take_in(conformed, now)
            return
        # Rows that are punctuation stand among the others: what they say holds behind them.
        marked = conformed.rows.get_column(marker).fill_null(False).arg_true().to_list()
        start = 0
        for place in marked:
            self._take_in(Conformed(conformed.rows.slice(start, place - start)), now)
            row = conformed.rows.row(place, named=True)
            if (refused := self._read_punctuation(row)) is not None:
                self._reject(Reason.MALFORMED, as_text([row], self.stream.arriving, [refused]))
            start = place + 1
        self._take_in(Conformed(conformed.rows.slice(start), conformed.rejected), now)

    def _take_in(self, conformed: Conformed, now: int) -> None:
        stamped, ahead = self._not_ahead(self.generator.stamp(conformed.rows, now), now)
        parts = self._judged(stamped)
        self.tally.read += conformed.rows.height - parts.timeless.height
        if conformed.rejected is not None:
            self._reject(Reason.MALFORMED, conformed.rejected)
        if ahead is not None:
            self._reject(Reason.AHEAD, ahead)
            self.tally.note(as_future(self.stream, ahead))
        if parts.late.height and self.policy.lets_in:
            cuts = self.generator.cuts(stamped, partial(grain_behind, self.node))
            for start, stop in pairwise([0, *cuts, stamped.height]):
                self._take_in_piece(self._judged(stamped.slice(start, stop - start)), now)
        else:
            self._take_in_piece(parts, now)

    def _take_in_piece(self, parts: Split, now: int) -> None:
        self._let_in(parts)
        said = self.generator.after(parts.on_time, now, parts.dated)
        self._say(p for p in said if self.useful is None or p.on in self.useful)

    def _not_ahead(self, rows: pl.DataFrame, now: int) -> tuple[pl.DataFrame, pl.DataFrame | None]:
        """Rows without those from the future, which would close everything before it; and those."""
        limit, on = self.stream.timing.max_ahead, self.stream.timestamp
        if on is None or not rows.height:
            return rows, None
        if limit is not None:
            ahead = is_ahead(rows.get_column(on), now, limit)
        elif self.max_jump is not None and self._has_clock:
            times, newest = rows.get_column(on), self.generator.state.newest
            if not may_be_future(times, newest, now, self.max_jump):
                return rows, None
            ahead = is_future(times, newest, now, self.max_jump)
        else:
            return rows, None
        return (rows.filter(~ahead), rows.filter(ahead)) if ahead.any() else (rows, None)

    def reject(self, texts: Sequence[str]) -> None:
        """Reject what is not a row at all, such as a line of a file that cannot be read."""
        if not texts:
            return
        self._reject(Reason.MALFORMED, lines_as_text(texts, self.stream.arriving))

    # -- by micro-batch -----------------------------------------------------------------------

    def open_batch(self, arrived: Arrivals) -> None:
        """Take in the rows of a batch; what is counted from now on is counted of it."""
        self.tally = Tally()
        self._said = self.generator.standing()
        for count, oldest in arrived.passed:
            self.tally.passed += count
            behind = self.generator.state.newest - oldest
            self.tally.lateness = max(self.tally.lateness, behind)
        if arrived.malformed:
            self._reject(Reason.MALFORMED, pl.concat(arrived.malformed))
        if arrived.blocks:
            # A bound from outside may be ahead of the clock, or the clock go back: it counts.
            raised = (pl.col(on).clip(self.generator.stamp_from(on)) for on in self.stream.stamped)
            rows = pl.concat(arrived.blocks, rechunk=False).with_columns(raised)
            self._let_in(self._judged(rows))
        if arrived.punctuation:
            self._take_punctuation(pl.concat(arrived.punctuation), arrived.answers_for_punctuation)

    def push_for_others(self, blocks: Sequence[pl.DataFrame], heads: Collection[str]) -> None:
        """Take in rows that are on time, for all readers but `heads`, which have them already.

        A reader that is neither told of nor among the others takes none of them: what it takes it
        would have been given.
        """
        rows = self.generator.number(pl.concat(blocks, rechunk=True))
        self.node.output.batch(Block(rows))
        filters: list[tuple[GraphNode, Condition]] = []
        for reader in self.node.readers:
            if isinstance(reader.operator, Select):
                if reader.name not in heads:
                    filters.append((reader, reader.operator.condition))
                    reader.absorbed += rows.height
            elif reader.name not in heads:
                continue
            for cursor in reader.inputs:
                cursor.pass_by()
        # As each of them would put out, found for all of them together.
        index = FilterIndex(rows)
        for number, places in index.taken([condition for _, condition in filters]):
            filters[number][0].output.batch(Block(take_rows(rows, np.sort(places))))

    def _take_punctuation(self, rows: pl.DataFrame, answers: bool) -> None:
        """Note what rows say that are punctuation; who `answers` rejects those that are none."""
        refused, reasons = [], []
        ordered = rows.sort(str(self.stream.timestamp), maintain_order=True)
        for row in ordered.iter_rows(named=True):
            if (reason := self._read_punctuation(row, said=False)) is not None:
                refused.append(row)
                reasons.append(reason)
        if refused and answers:
            self._reject(Reason.MALFORMED, as_text(refused, self.stream.arriving, reasons))

    def close_batch(self, arrived: Arrivals) -> None:
        """Raise the bound by how far the whole stream has come, and by what was said outside."""
        generator = self.generator
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
        # Said again it would wait in front of a Merge, batch for batch, for nothing.
        new = [each for each in generator.standing() if each not in self._said]
        self._say(new, ArcOutput(self.node.output, self.node.arcs))

    # -- both ---------------------------------------------------------------------------------

    def punctuate(self, bound: int, where: Where = ()) -> None:
        self._say(self.generator.punctuate(bound, where))

    def end(self) -> None:
        self._say(self.generator.end())

    def close(self, bound: int, on: str) -> None:
        """The end of a run: what lies below the bound is answered, and rows for it are late."""
        self._say(self.generator.close(bound, on))

    def repeat_punctuation(self) -> None:
        """Say again what holds, for readers that came after it was said."""
        self._say(self.generator.standing())

    def latest(self) -> dict[str, int]:
        """The greatest times that went in; stamps below the bound were raised to it."""
        stream, state = self.stream, self.generator.state
        found = {on: state.newest_of.get(on, BEGINNING) for on in stream.times}
        if stream.timestamp is not None:
            found[stream.timestamp] = state.newest
        for on in stream.stamped:
            if found[on] > BEGINNING:
                found[on] = max(found[on], self.generator.stamp_from(on))
        return found

    def _judged(self, rows: pl.DataFrame) -> Split:
        parts = self.generator.judge(rows, by_block=self._by_batch)
        if parts.late.height and self.policy is LatePolicy.FAIL:
            raise self.generator.late_row(parts.late)
        return parts

    def _let_in(self, parts: Split) -> None:
        """Put rows into their sources; reject those that belong in neither."""
        if parts.timeless.height:
            self._reject(Reason.MALFORMED, timeless_as_text(self.stream, parts.timeless))
        rows = of_all = parts.on_time
        if parts.late.height:
            rows, of_all = self._with_late(parts)
        self.node.output.batch(Block(self.generator.number(self._ordered(rows))))
        if self.node_of_all is not None:
            numbered = self.generator.number_all(self._ordered(of_all))
            self.node_of_all.output.batch(Block(numbered))

    def _ordered(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Tasks run side by side, so blocks of a batch have no order; operators count on one."""
        if not self._by_batch or not self.stream.is_ordered or self.stream.timestamp is None:
            return rows
        return rows.sort(self.stream.timestamp, maintain_order=True)

    def _with_late(self, parts: Split) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Count late rows; gives what goes in where there are windows, and where there are none."""
        tally, late, generator = self.tally, parts.late, self.generator
        lateness = generator.lateness(parts, by_block=self._by_batch)
        tally.lateness = max(tally.lateness, int(lateness.max()))
        is_over = generator.state.ended
        if self.policy.lets_in and not is_over:
            tally.passed += late.height
            return parts.dated, parts.dated
        passes = self.policy is LatePolicy.KEEP and not is_over
        if passes and self._reads_all:
            tally.passed += late.height
            return parts.on_time, parts.dated
        is_closed = generator.is_closed(late)
        # No slack would have accepted a row that is late by punctuation.
        is_by_slack = ~is_closed.to_numpy() & (lateness > (self.stream.slack or 0))
        tally.note_lateness(lateness[is_by_slack], slack_steps(self.stream))
        closed, late = late.filter(is_closed), late.filter(~is_closed)
        for reason, rows in ((Reason.LATE, late), (Reason.CLOSED, closed)):
            if rows.height:
                self._reject(reason, rows, keep=self.policy is not LatePolicy.DROP)
        let_in = pl.concat([parts.on_time, closed]) if self._reopens else parts.on_time
        return let_in, parts.dated if passes else parts.on_time

    @property
    def _reads_all(self) -> bool:
        """Whether no query that reads it has anything to be late for."""
        return is_read(self.node_of_all) and not is_read(self.node)

    def passes_late(self) -> bool:
        """Whether all rows below the bound go in, and are only counted."""
        is_exact = self.generator.on_time_from() == self.generator.state.bound
        lets_in = self.policy.lets_in or (self.policy is LatePolicy.KEEP and self._reads_all)
        return is_exact and lets_in and not self.generator.state.ended

    def _read_punctuation(self, row: Mapping[str, Any], *, said: bool = True) -> str | None:
        """Take note of a row that is punctuation; gives why it is none."""
        try:
            found = self.generator.read_punctuation(row)
        except BadPunctuation as refused:
            return refused.message
        if said:
            self._say(found)
        return None

    def _say(self, punctuation: Iterable[Punctuation], out: Output | None = None) -> None:
        for each in punctuation:
            (out or self.node.output).punctuation(each)

    def _reject(self, reason: Reason, rows: pl.DataFrame, *, keep: bool = True) -> None:
        """Count rows that do not go in, and hand them on unless nobody wants them."""
        self.tally.reject(reason, rows)
        if reason is Reason.MALFORMED:
            self.tally.read += rows.height
        if keep:
            declared = rows.drop((each.name for each in self.stream.computed), strict=False)
            self._rejected(RejectedRows(self.stream.name, reason, declared))


def is_read(node: GraphNode | None) -> bool:
    """Whether anybody reads what a node puts out."""
    return node is not None and bool(node.consumers or node.sinks)
