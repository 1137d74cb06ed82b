"""Parallel Track: two boxes of joins run side by side, until the new one has all that counts.

Both read the same leaves, but the second box has begun empty. So the first one answers, as long as
a result to come may hold a row that only the first has: the bounds of the leaves tell when that is
over (`is_needed`), a window after the beginning. Until then results of the second, which the first
finds as well, are dropped. Then the first box can be removed, at a moment at which nothing is on
its way, and this operator with it: no result is lost, none comes twice, none is kept back, and
order stays what it is.

An aggregate above the boxes stays where it is and gets the rows of one box at a time, so no results
of aggregates have to be put together. Those of one that is to go below the joins are, in the
published form (`kernel/aggregation/sgb.py`); else it hands over at the end of a window
(`optimizer/regroup.py`).

The published form waits until the old box stores new rows only (`holds_any`). A new row that has
met an old one makes an old result, which is stored above for another window: so it takes two. There
results of new rows come from the new box, are suppressed at the root of the old one, and wait until
the old one is gone, behind others with later times.  Spec: dynamic-optimization 3.3, 8.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import polars as pl

from penstock.kernel.block import Block
from penstock.kernel.migration.box import Box
from penstock.kernel.operator import Operator, Output
from penstock.kernel.progress.release import Need, Needs, Times, Waiting
from penstock.kernel.state import State
from penstock.model.punctuation import Punctuation
from penstock.model.timestamps import BEGINNING

FIRST, SECOND = 0, 1


def is_needed(box: Box, until: Iterable[tuple[str, int]]) -> bool:
    """Whether a result to come may hold a row of a leaf up to its time."""
    return any(box.keep_from(leaf, (leaf,)) <= last for leaf, last in until)


def holds_any(box: Box, until: Iterable[tuple[str, int]]) -> bool:
    """Whether a join stores a row that is, or is made of, one of a leaf up to its time.

    One that the join keeps only for others, which may take its place, does not count; nor do times
    of leaves that nobody above has asked for, and that are not stored.
    """
    last = dict(until)
    for at in box.inputs.values():
        join = at.join
        columns = at.leaves & last.keys() & {*join.inputs.columns(at.port)}
        if not columns:
            continue
        counts = pl.col(at.on) >= join.inputs.reach.keep_from(at.port, join.state.bounds)
        old = pl.any_horizontal(pl.col(leaf) <= last[leaf] for leaf in sorted(columns))
        if any(rows.filter(counts, old).height for rows in at.stored()):
            return True
    return False


@dataclass
class TrackState(State):
    """The bounds that both boxes have said, by column."""

    bounds: list[dict[str, int]] = field(default_factory=lambda: [{}, {}])
    dropped: int = 0  # rows of the second box


class ParallelTrack(Operator):
    """Passes on what the first box gives; `until`: by leaf, the latest time that only it has.

    One by which operators above are only told apart (`twin`) reads the same box twice. `published`:
    it is not over before the first box stores no such row.
    """

    ports = 2
    state: TrackState

    def __init__(
        self, until: Sequence[tuple[str, int]], twin: int = 0, published: bool = False
    ) -> None:
        super().__init__()
        self.state = TrackState()
        self.until = until
        self.published = published

    def is_over(self, first: Box) -> bool:
        """Whether the first box can go."""
        if is_needed(first, self.until):
            return False
        return not (self.published and holds_any(first, self.until))

    def on_batch(self, port: int, block: Block, out: Output) -> None:
        if port == FIRST:
            out.batch(block)
        else:
            self.state.dropped += len(block)

    def on_punctuation(self, port: int, punctuation: Punctuation, out: Output) -> None:
        known = self.state.bounds[port]
        if punctuation.bound > known.get(punctuation.on, BEGINNING):
            known[punctuation.on] = punctuation.bound
            if port == FIRST:
                out.punctuation(punctuation)

    def on_pattern(self, port: int, punctuation: Punctuation, out: Output) -> None:
        if port == FIRST:
            out.punctuation(punctuation)

    def rest(self, out: Output) -> None:
        """A run ends with the bounds that the second box has: operators above count on them."""
        for punctuation in self.unsaid():
            self.on_punctuation(FIRST, punctuation, out)

    def unsaid(self) -> list[Punctuation]:
        """What the second box has said and the first has not: true when nothing is on its way.

        Whatever either stores, no result that is to come lies below the bounds of one of them.
        """
        first, second = self.state.bounds
        return [
            Punctuation(on, bound)
            for on, bound in second.items()
            if bound > first.get(on, BEGINNING)
        ]

    # -- what it waits for --------------------------------------------------------------------

    def passes(self, port: int, times: Times) -> Iterable[Waiting]:
        return (Waiting((), times),) if port == FIRST else ()

    def needed(self, on: str, bound: int) -> Needs:
        return Needs((Need(FIRST, on, bound),))

    def known(self, port: int, on: str) -> int:
        return self.state.bounds[port].get(on, BEGINNING)
