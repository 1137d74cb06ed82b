"""StreamInput: a stream's way into the graph.

Rows are made to conform to the stream's columns, stamped if time is internal, judged by the
stream's bound, numbered, and appended to the source's buffer; the new punctuation follows. Rows
that cannot go in are rejected with the reason: counted, and handed to whoever collects them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import polars as pl

from penstock.errors import BadPunctuation
from penstock.kernel.block import Block
from penstock.kernel.conform import Conformed, Rows, as_text, conform, timeless_as_text
from penstock.kernel.graph import Node
from penstock.kernel.progress.generate import Generator
from penstock.kernel.progress.late import LatePolicy, Split, is_ahead
from penstock.kernel.rejected import NO_ROW, Reason
from penstock.kernel.state import SavedState
from penstock.model.punctuation import Punctuation, Where
from penstock.model.streams import Stream
from penstock.runtime.counts import RejectedRows, Tally


class StreamInput:
    """Feeds one source."""

    def __init__(
        self,
        stream: Stream,
        node: Node,
        policy: LatePolicy,
        rejected: Callable[[RejectedRows], None],
    ) -> None:
        self.stream = stream
        self.node = node
        #: A second source, of late rows too, for queries that have nothing to be late for.
        self.node_of_all: Node | None = None
        self.tally = Tally()
        self.policy = policy
        self._rejected = rejected
        self._generator = Generator(stream)
        #: What promises are used about that follow from rows; None: anything.
        self.useful: frozenset[str] | None = None

    @property
    def bound(self) -> int:
        """What is promised on the stream's timestamp."""
        return self._generator.state.bound

    def promised(self, on: str) -> int:
        """What is promised about a column."""
        return self._generator.promised(on)

    @property
    def heard(self) -> int | None:
        """When rows last came, by the clock; None: never."""
        return self._generator.state.heard

    def push(self, rows: Rows, now: int) -> None:
        conformed = conform(self.stream, rows)
        marker = self.stream.timing.marker
        if marker is None or not conformed.rows.get_column(marker).any():
            self._take_in(conformed, now)
            return
        # Rows that are punctuation stand among the others: what they promise holds behind them.
        marked = conformed.rows.get_column(marker).fill_null(False).arg_true().to_list()
        start = 0
        for place in marked:
            self._take_in(Conformed(conformed.rows.slice(start, place - start)), now)
            row = conformed.rows.row(place, named=True)
            try:
                self._promise(self._generator.read_punctuation(row))
            except BadPunctuation as refused:
                self._reject(
                    Reason.MALFORMED, as_text([row], self.stream.arriving, [refused.message])
                )
            start = place + 1
        self._take_in(Conformed(conformed.rows.slice(start), conformed.rejected), now)

    def _take_in(self, conformed: Conformed, now: int) -> None:
        stamped, ahead = self._not_ahead(self._generator.stamp(conformed.rows, now), now)
        parts = self._generator.judge(stamped)
        if parts.late.height and self.policy is LatePolicy.FAIL:
            raise self._generator.late_row(parts.late)
        self.tally.read += conformed.rows.height - parts.timeless.height
        if conformed.rejected is not None:
            self._reject(Reason.MALFORMED, conformed.rejected)
        if ahead is not None:
            self._reject(Reason.AHEAD, ahead)
        if parts.timeless.height:
            self._reject(Reason.MALFORMED, timeless_as_text(self.stream, parts.timeless))
        let_in = of_all = parts.on_time
        if parts.late.height:
            let_in, of_all = self._with_late(parts)
        self.node.output.batch(Block(self._generator.number(let_in)))
        if self.node_of_all is not None:
            self.node_of_all.output.batch(Block(self._generator.number_all(of_all)))
        promises = self._generator.after(parts.on_time, now, parts.dated)
        self._promise(p for p in promises if self.useful is None or p.on in self.useful)

    def _with_late(self, parts: Split) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Count late rows; gives what goes in where there are windows, and where there are none."""
        tally, late = self.tally, parts.late
        tally.lateness = max(tally.lateness, self._generator.lateness(parts.dated))
        is_over = self._generator.state.ended
        if self.policy.lets_in and not is_over:
            tally.passed += late.height
            return pl.concat([parts.on_time, late]), parts.dated
        passes = self.policy is LatePolicy.KEEP and not is_over
        if passes and self._has_no_windows:
            tally.passed += late.height
        else:
            self._reject(Reason.LATE, late, keep=self.policy is not LatePolicy.DROP)
        return parts.on_time, parts.dated if passes else parts.on_time

    @property
    def _has_no_windows(self) -> bool:
        """Whether all who read the stream take late rows, too."""
        return is_read(self.node_of_all) and not is_read(self.node)

    def reject(self, texts: Sequence[str]) -> None:
        """Reject what is not a row at all, such as a line of a file that cannot be read."""
        if not texts:
            return
        rows = [dict.fromkeys((c.name for c in self.stream.arriving), None) for _ in texts]
        reasons = [f"{NO_ROW}{text}" for text in texts]
        self._reject(Reason.MALFORMED, as_text(rows, self.stream.arriving, reasons))

    def punctuate(self, bound: int, where: Where = ()) -> None:
        self._promise(self._generator.punctuate(bound, where))

    def end(self) -> None:
        self._promise(self._generator.end())

    def enabling(self, now: int) -> list[Punctuation]:
        """An enabling timestamp, to be delivered by the caller; empty if there is nothing new."""
        return self._generator.enable(now)

    def repeat_promises(self) -> None:
        """Say again what holds, for readers that came after it was said."""
        self._promise(self._generator.standing())

    def save(self) -> dict[str, SavedState]:
        return {"promises": self._generator.state.save(), "counts": self.tally.save()}

    def restore(self, saved: dict[str, SavedState]) -> None:
        self._generator.state.restore(saved["promises"])
        self.tally.restore(saved["counts"])

    def _not_ahead(self, rows: pl.DataFrame, now: int) -> tuple[pl.DataFrame, pl.DataFrame | None]:
        """Rows without those from the future, which would close everything before it; and those."""
        limit, on = self.stream.timing.max_ahead, self.stream.timestamp
        if limit is None or on is None:
            return rows, None
        ahead = is_ahead(rows.get_column(on), now, limit)
        return (rows.filter(~ahead), rows.filter(ahead)) if ahead.any() else (rows, None)

    def _promise(self, promises: Iterable[Punctuation]) -> None:
        for promise in promises:
            self.node.output.punctuation(promise)

    def _reject(self, reason: Reason, rows: pl.DataFrame, *, keep: bool = True) -> None:
        """Count rows that do not go in, and hand them on unless nobody wants them."""
        self.tally.reject(reason, rows)
        if reason is Reason.MALFORMED:
            self.tally.read += rows.height
        if keep:
            self._rejected(RejectedRows(self.stream.name, reason, rows))


def is_read(node: Node | None) -> bool:
    """Whether anybody reads what a node puts out."""
    return node is not None and bool(node.consumers or node.sinks)
