"""AlignWindows: aggregates over windows of different lengths that end together, in one row.

Each input has the results of one window. Rows wait until the bounds of all inputs say that the
windows of their instant are over; then those of one group and instant become one row. A window that
has no rows gives what its aggregates come to over nothing: 0, an empty list or NULL. The row tells
the end that they share, and the start of the longest. Several windows in one query are ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from penstock.kernel.aggregates.grouping import Grouping
from penstock.kernel.aggregation.aggregate_set import AggregateSet
from penstock.kernel.aggregation.behind_windows import BehindWindows
from penstock.kernel.aggregation.driver import Results
from penstock.kernel.block import Block
from penstock.kernel.operator import Output
from penstock.kernel.progress.release import Need, Times, Waiting
from penstock.kernel.segments import where
from penstock.kernel.types import polars_type
from penstock.model.aggregates import Aggregate
from penstock.model.expressions import Ref
from penstock.model.schema import WINDOW_END, WINDOW_START
from penstock.windows.sliding import Sliding


class AlignWindows(BehindWindows):
    """Joins the results of `sides`, in the order of `columns`; `longest` is the longest window."""

    def __init__(
        self,
        groups: Sequence[str],
        sides: Sequence[Results],
        columns: Sequence[str],
        longest: Sliding,
    ) -> None:
        super().__init__([WINDOW_END] * len(sides), longest.range)
        self._groups = list(groups)
        results = [result for side in sides for result in side]
        self._nothing = {name: _literal(over_nothing(a)) for name, a in results}
        self._columns = [*groups, *columns, WINDOW_START, WINDOW_END]

    def on_batch(self, port: int, block: Block, out: Output) -> None:
        self.state.waiting.append(block.rows.drop(WINDOW_START))

    def _release(self, out: Output) -> int:
        bound = min(self.state.bounds)
        if bound > self.state.sent:
            complete = self.state.waiting.take_where(where(pl.col(WINDOW_END) < bound))
            if complete:
                out.batch(Block(self._joined(pl.concat(complete, how="diagonal"))))
        return bound

    def passes(self, port: int, times: Times) -> Iterable[Waiting]:
        end = times[WINDOW_END]
        return () if end is None else self._waiting(end)

    def _lets_out(self, end: int) -> tuple[Need, ...]:
        return self._passes_on(end + 1)

    def _passes_on(self, end: int) -> tuple[Need, ...]:
        return tuple(Need(port, WINDOW_END, end) for port in range(self.ports))

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
    others = tuple(Ref(f"x{n}", each.type) for n, each in enumerate(aggregate.others))
    null |= {each.name: pl.Series([None], dtype=polars_type(each.type)) for each in others}
    of_null = replace(
        aggregate,
        argument=Ref("x", argument.type),
        by=None if by is None else Ref("y", by.type),
        others=others,
    )
    aggregates = AggregateSet((), [("nothing", of_null)])
    partials = aggregates.start(pl.DataFrame(null), Grouping(np.zeros(1, dtype=np.int64), 1))
    return aggregates.results(partials)["nothing"]


def _literal(value: pl.Series) -> pl.Expr:
    return pl.lit(value.item(), value.dtype)
