"""AlignWindows: aggregates over windows of different lengths that end together, in one row.

Each input has the results of one window. Rows wait until the bounds of all inputs say that the
windows of their instant are over; then those of one group and instant become one row. A window that
has no rows gives what its aggregates come to over nothing: 0, an empty list or NULL. The row tells
the end that they share, and the start of the longest. Several windows in one query are ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from penstock.kernel.aggregates.grouping import Grouping
from penstock.kernel.aggregation.aggregate_set import AggregateSet
from penstock.kernel.aggregation.driver import Results, announce_ends, end_for
from penstock.kernel.block import Block
from penstock.kernel.buffer import Cursor
from penstock.kernel.operator import Operator, Output
from penstock.kernel.progress.release import Need, Needs, Times, Waiting
from penstock.kernel.segments import SegmentTable, table, where
from penstock.kernel.state import State
from penstock.kernel.types import polars_type
from penstock.model.aggregates import Aggregate
from penstock.model.expressions import Ref
from penstock.model.punctuation import Punctuation
from penstock.model.schema import WINDOW_END, WINDOW_START
from penstock.model.timestamps import BEGINNING
from penstock.windows.sliding import Sliding


@dataclass
class AlignWindowsState(State):
    """Results that wait for those of other inputs, and the bound of each input."""

    waiting: SegmentTable = table(WINDOW_END)
    bounds: list[int] = field(default_factory=list)
    sent: int = BEGINNING


class AlignWindows(Operator):
    """Joins the results of `sides`, in the order of `columns`; `longest` is the longest window."""

    state: AlignWindowsState

    def __init__(
        self,
        groups: Sequence[str],
        sides: Sequence[Results],
        columns: Sequence[str],
        longest: Sliding,
    ) -> None:
        super().__init__()
        self.ports = len(sides)
        self.state = AlignWindowsState(bounds=[BEGINNING] * len(sides))
        self._groups = list(groups)
        results = [result for side in sides for result in side]
        self._nothing = {name: _literal(over_nothing(a)) for name, a in results}
        self._columns = [*groups, *columns, WINDOW_START, WINDOW_END]
        self._range = longest.range

    def useful(self, wanted: frozenset[str] | None) -> frozenset[str]:
        return frozenset([WINDOW_END])

    def on_batch(self, port: int, block: Block, out: Output) -> None:
        self.state.waiting.append(block.rows.drop(WINDOW_START))

    def on_punctuation(self, port: int, punctuation: Punctuation, out: Output) -> None:
        state = self.state
        if punctuation.on != WINDOW_END:
            return
        state.bounds[port] = max(state.bounds[port], punctuation.bound)
        bound = min(state.bounds)
        if bound <= state.sent:
            return
        state.sent = bound
        complete = state.waiting.take_where(where(pl.col(WINDOW_END) < bound))
        if complete:
            out.batch(Block(self._joined(pl.concat(complete, how="diagonal"))))
        announce_ends(bound, self._range, out)

    def held(self, inputs: Sequence[Cursor]) -> Iterable[Waiting]:
        ends = self.state.waiting.extent()
        return () if ends is None else self._from(ends[0])

    def passes(self, port: int, times: Times) -> Iterable[Waiting]:
        end = times[WINDOW_END]
        return () if end is None else self._from(end)

    def _from(self, end: int) -> tuple[Waiting]:
        needs = tuple(Need(port, WINDOW_END, end + 1) for port in range(self.ports))
        return (Waiting(needs, {WINDOW_START: end - self._range, WINDOW_END: end}),)

    def needed(self, on: str, bound: int) -> Needs | None:
        end = end_for(on, bound, self._range)
        return Needs(tuple(Need(port, WINDOW_END, end) for port in range(self.ports)))

    def known(self, port: int, on: str) -> int:
        return self.state.bounds[port] if on == WINDOW_END else BEGINNING

    def _joined(self, rows: pl.DataFrame) -> pl.DataFrame:
        there = [name for name in self._nothing if name in rows.columns]
        cells = rows.group_by(*self._groups, WINDOW_END, maintain_order=True)
        found = cells.agg(pl.col(there).drop_nulls().first())
        # A result that is NULL is that over nothing, too: aggregates skip NULL.
        results = (
            pl.coalesce(name, nothing) if name in there else nothing.alias(name)
            for name, nothing in self._nothing.items()
        )
        start = (pl.col(WINDOW_END) - self._range).alias(WINDOW_START)
        return found.with_columns(start, *results).select(self._columns)


def over_nothing(aggregate: Aggregate) -> pl.Series:
    """What an aggregate comes to where there are no rows.

    >>> over_nothing(Aggregate("count")).to_list()
    [0]
    """
    if aggregate.argument is None:
        return pl.Series([0], dtype=pl.Int64)
    # Aggregates skip NULL, so over one they are what they are over nothing.
    argument, by = aggregate.argument, aggregate.by
    null = {"x": pl.Series([None], dtype=polars_type(argument.type))}
    if by is not None:
        null["y"] = pl.Series([None], dtype=polars_type(by.type))
    of_null = replace(
        aggregate, argument=Ref("x", argument.type), by=None if by is None else Ref("y", by.type)
    )
    aggregates = AggregateSet((), [("nothing", of_null)])
    partials = aggregates.start(pl.DataFrame(null), Grouping(np.zeros(1, dtype=np.int64), 1))
    return aggregates.results(partials)["nothing"]


def _literal(value: pl.Series) -> pl.Expr:
    return pl.lit(value.item(), value.dtype)
