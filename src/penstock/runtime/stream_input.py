"""StreamInput: a stream's way into the graph.

Rows are fitted to the stream's columns, stamped if time is internal, judged by what the stream has
promised, numbered, and appended to the source's buffer; behind them come the new promises. Rows
that cannot go in are set aside with the reason: counted, and handed to whoever collects them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum

import polars as pl

from penstock.errors import BadPunctuation
from penstock.kernel.block import Block
from penstock.kernel.conform import Fitted, Rows, as_text, fit, timeless_as_text
from penstock.kernel.graph import Node
from penstock.kernel.progress.generate import Generator
from penstock.kernel.progress.late import LatePolicy, Split, is_ahead
from penstock.kernel.rejected import NO_ROW, Rejected
from penstock.kernel.state import SavedState, State
from penstock.model.punctuation import Punctuation, Where
from penstock.model.streams import Stream


class Reason(Enum):
    """Why rows are set aside."""

    LATE = "late"
    AHEAD = "ahead"
    MALFORMED = "malformed"


@dataclass(frozen=True)
class SetAside:
    """Rows that did not go in.

    Late ones, and those ahead of their time, are in the stream's own columns. Malformed ones are
    text, because nothing else holds them all, with a further column `reason`.
    """

    stream: str
    reason: Reason
    rows: pl.DataFrame


@dataclass
class StreamCounts(State):
    """How many rows went in, and how many were late or set aside.

    Late rows are set aside, but for the `passed` ones: no query that reads them has windows.
    """

    rows: int = 0
    late: int = 0
    malformed: int = 0
    ahead: int = 0
    passed: int = 0
    lateness: int = 0  # how far the latest row lay behind the newest before it
    reasons: dict[str, int] = field(default_factory=dict)  # malformed ones, by what is wrong
    samples: list[dict[str, str]] = field(default_factory=list)  # the first malformed ones

    @property
    def total(self) -> StreamCounts:
        """The same: there is no earlier run to continue."""
        return self

    @property
    def late_by_pipeline(self) -> dict[str, int]:
        """Here all queries judge as one, and there is nothing to tell apart."""
        return {}

    @property
    def closed(self) -> int:
        """Late rows because of runs that ended before: in this process there are none."""
        return 0


class StreamInput:
    """Feeds one source."""

    def __init__(
        self,
        stream: Stream,
        node: Node,
        policy: LatePolicy,
        set_aside: Callable[[SetAside], None],
    ) -> None:
        self.stream = stream
        self.node = node
        #: A second source, of late rows too, for queries that have nothing to be late for.
        self.node_of_all: Node | None = None
        self.counts = StreamCounts()
        self.policy = policy
        self._set_aside = set_aside
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
        fitted = fit(self.stream, rows)
        marker = self.stream.timing.marker
        if marker is None or not fitted.rows.get_column(marker).any():
            self._take_in(fitted, now)
            return
        # Rows that are punctuation stand among the others: what they promise holds behind them.
        marked = fitted.rows.get_column(marker).fill_null(False).arg_true().to_list()
        start = 0
        for place in marked:
            self._take_in(Fitted(fitted.rows.slice(start, place - start)), now)
            row = fitted.rows.row(place, named=True)
            try:
                self._promise(self._generator.read_punctuation(row))
            except BadPunctuation as refused:
                self._keep_malformed(as_text([row], self.stream.arriving, [refused.message]))
            start = place + 1
        self._take_in(Fitted(fitted.rows.slice(start), fitted.misfits), now)

    def _take_in(self, fitted: Fitted, now: int) -> None:
        stamped, ahead = self._not_ahead(self._generator.stamp(fitted.rows, now), now)
        parts = self._generator.judge(stamped)
        if parts.late.height and self.policy is LatePolicy.FAIL:
            raise self._generator.late_row(parts.late)
        if fitted.misfits is not None:
            self._keep_malformed(fitted.misfits)
        if ahead is not None:
            self.counts.ahead += ahead.height
            self._set_aside(SetAside(self.stream.name, Reason.AHEAD, ahead))
        if parts.timeless.height:
            self._keep_malformed(timeless_as_text(self.stream, parts.timeless))
        let_in = of_all = parts.on_time
        if parts.late.height:
            let_in, of_all = self._with_late(parts)
        self.counts.rows += let_in.height
        self.node.output.batch(Block(self._generator.number(let_in)))
        if self.node_of_all is not None:
            self.node_of_all.output.batch(Block(self._generator.number_all(of_all)))
        on = self.stream.timestamp
        came = stamped.get_column(on) if on is not None and parts.late.height else None
        promises = self._generator.after(parts.on_time, now, came)
        self._promise(p for p in promises if self.useful is None or p.on in self.useful)

    def _with_late(self, parts: Split) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Count late rows; gives what goes in where there are windows, and where there are none."""
        self.counts.late += parts.late.height
        lateness = self._generator.lateness(parts.dated)
        self.counts.lateness = max(self.counts.lateness, lateness)
        is_over = self._generator.state.ended
        if self.policy.lets_in and not is_over:
            return pl.concat([parts.on_time, parts.late]), parts.dated
        passes = self.policy is LatePolicy.KEEP and not is_over
        if passes and self._has_no_windows:
            self.counts.passed += parts.late.height
            self.counts.rows += parts.late.height
        elif self.policy is not LatePolicy.DROP:
            self._set_aside(SetAside(self.stream.name, Reason.LATE, parts.late))
        return parts.on_time, parts.dated if passes else parts.on_time

    @property
    def _has_no_windows(self) -> bool:
        """Whether all who read the stream take late rows, too."""
        return is_read(self.node_of_all) and not is_read(self.node)

    def reject(self, texts: Sequence[str]) -> None:
        """Set aside what is no row at all, such as a line of a file that cannot be read."""
        if not texts:
            return
        rows = [dict.fromkeys((c.name for c in self.stream.arriving), None) for _ in texts]
        reasons = [f"{NO_ROW}{text}" for text in texts]
        self._keep_malformed(as_text(rows, self.stream.arriving, reasons))

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
        return {"promises": self._generator.state.save(), "counts": self.counts.save()}

    def restore(self, saved: dict[str, SavedState]) -> None:
        self._generator.state.restore(saved["promises"])
        self.counts.restore(saved["counts"])

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

    def _keep_malformed(self, misfits: pl.DataFrame) -> None:
        counts, found = self.counts, Rejected(Counter(self.counts.reasons), self.counts.samples)
        found.add(Rejected.of(misfits))
        counts.malformed += misfits.height
        counts.reasons, counts.samples = dict(found.reasons), found.samples
        self._set_aside(SetAside(self.stream.name, Reason.MALFORMED, misfits))


def is_read(node: Node | None) -> bool:
    """Whether anybody reads what a node puts out."""
    return node is not None and bool(node.consumers or node.sinks)
