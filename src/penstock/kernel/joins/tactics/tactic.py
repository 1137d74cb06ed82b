"""Tactic: when the rows of a join meet, and when its results leave.

    tactic         rows meet                             results leave
    OA-Join        when they come                        at once, in no order
    Sync-Filter    when all inputs have come as far      at once; so they are in order
    Filter-Order   when they come                        when all inputs have come as far
    Adaptive       one or the other, by what is measured
    TSM            when all inputs have come as far; until then they stay in the inputs' buffers
    OPOB           when they come                        when none can come before them
    OPIB           left ones when all partners are there at once; so they are in order

Sync-Filter, Filter-Order, Adaptive and TSM count on inputs that are in order, and order by the
latest timestamp of a result (`in_order`); OPOB and OPIB order by the first input's.

A tactic keeps nothing itself: what waits stands in tables of the join's state. The root is OA-Join,
which asks for no order and gives none.  Spec: window-queries 6.1, 6.5; ordered-joins;
execution-model 4.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import polars as pl

from penstock.kernel.buffer import Cursor
from penstock.kernel.joins.inputs import Inputs
from penstock.kernel.progress.release import Times, Waiting


class Tactic:
    """OA-Join: rows meet when they come, and results leave at once."""

    name = "OAJoin"
    #: Whether inputs come in order: a row then tells how far its input is.
    in_order = False

    @property
    def is_plain(self) -> bool:
        """Whether nothing is held back: then a bound about some keys can be passed on."""
        return type(self) is Tactic

    def tables(self, inputs: Inputs) -> dict[str, str]:
        """The tables for what waits, and the column that tells their time."""
        return {}

    def take(self, inputs: Inputs, port: int, rows: pl.DataFrame) -> Iterable[pl.DataFrame]:
        """New rows: join them now, or let them wait; gives what leaves."""
        return inputs.meet(port, rows)

    def release(self, inputs: Inputs) -> Iterable[pl.DataFrame]:
        """Let go what waited for an input to come so far; gives what leaves."""
        return ()

    def waiting(self, inputs: Inputs) -> Iterator[tuple[int, pl.DataFrame]]:
        """Rows that have not met others yet, as they came, by input."""
        return iter(())

    def held_results(self, inputs: Inputs) -> Iterator[pl.DataFrame]:
        """Results that have not left yet."""
        return iter(())

    def take_over(self, inputs: Inputs, results: Iterable[pl.DataFrame]) -> Iterable[pl.DataFrame]:
        """Results that another tactic has held back; gives those that leave."""
        return results

    def come(self, inputs: Inputs) -> Sequence[int]:
        """For each input the first time that may still be joined."""
        return inputs.state.reached

    def complete(self, inputs: Inputs) -> Sequence[int]:
        """By which bounds of the inputs results are all out."""
        return inputs.state.bounds

    # -- what it waits for --------------------------------------------------------------------

    def held(self, inputs: Inputs, cursors: Sequence[Cursor]) -> Iterable[Waiting]:
        return inputs.held()

    def passes(self, inputs: Inputs, port: int, times: Times) -> Iterable[Waiting]:
        return inputs.passes(port, times)

    def needed(self, inputs: Inputs, port: int, bound: int) -> Sequence[int]:
        """The bound that each input must have for such a bound on one's timestamps."""
        return inputs.reach.needed(port, bound)
