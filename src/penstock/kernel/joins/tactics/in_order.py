"""What in-order tactics share: inputs in order, and results in the order of their latest timestamp.

Each input comes in the order of its own timestamps; they are not synchronised with each other. Up
to `trigger`, the time that all have reached, nothing earlier can come on any, so results up to it
can leave in order.

    …_queue    rows that are not joined yet
    held       results that are not let out yet, sorted by their latest timestamp

Stored rows are purged by what the other inputs have reached, for they are in order.
Spec: ordered-joins 1 to 3; dynamic-optimization 1.7.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import polars as pl

from penstock.kernel.joins.inputs import Inputs
from penstock.kernel.joins.tactics.tactic import Tactic
from penstock.kernel.progress.release import Times, Waiting

if TYPE_CHECKING:
    from penstock.kernel.buffer import Cursor
    from penstock.kernel.joins.window_join import WindowJoin

#: The column that tells a held result's place in the order.
LATER = "__later"


class InOrder(Tactic):
    """Results leave in the order of their latest timestamp; subclasses say who waits."""

    in_order = True

    def tables(self, inputs: Inputs) -> dict[str, str]:
        queues = zip(inputs.names, inputs.on, strict=True)
        return {f"{name}_queue": on for name, on in queues} | {"held": LATER}

    def come(self, join: WindowJoin) -> Sequence[int]:
        """What is joined from now on is not below what an input has reached, or not below the
        trigger where rows of it wait."""
        state = join.state
        queues = (state.table(f"{name}_queue") for name in join.inputs.names)
        return [
            state.trigger if queue.segments else reached
            for queue, reached in zip(queues, state.reached, strict=True)
        ]

    def complete(self, join: WindowJoin) -> Sequence[int]:
        """What comes later has a time behind the trigger, and the others within reach of it."""
        return [join.state.trigger] * join.ports

    # -- parts --------------------------------------------------------------------------------

    def wait(self, join: WindowJoin, port: int, rows: pl.DataFrame) -> None:
        """Rows that are not joined yet."""
        join.state.table(f"{join.inputs.names[port]}_queue").append_sorted(rows)

    def join_waiting(self, join: WindowJoin, up_to: int) -> Iterator[pl.DataFrame]:
        """Join the rows that wait, as far as that time."""
        for port, name in enumerate(join.inputs.names):
            rows = join.state.table(f"{name}_queue").take_in_order(up_to + 1)
            if rows is not None:
                yield from self.meet(join, port, rows)

    def meet(self, join: WindowJoin, port: int, rows: pl.DataFrame) -> Iterable[pl.DataFrame]:
        """Join rows now."""
        return join.inputs.meet(port, rows)

    def hold(self, join: WindowJoin, results: Iterable[pl.DataFrame]) -> None:
        for rows in results:
            join.state.table("held").append_sorted(rows.with_columns(later(join)))

    def let_out(self, join: WindowJoin) -> Iterator[pl.DataFrame]:
        """Held results, as far as all inputs have come."""
        rows = join.state.table("held").take_in_order(join.state.trigger + 1)
        if rows is not None:
            yield rows.drop(LATER)

    # -- what it waits for --------------------------------------------------------------------

    def held(self, join: WindowJoin, inputs: Sequence[Cursor]) -> Iterable[Waiting]:
        for port, name in enumerate(join.inputs.names):
            time = join.state.table(f"{name}_queue").lowest()
            if time is not None:
                yield from self.passes(join, port, {join.inputs.on[port]: time})
        latest = join.state.table("held").lowest()
        if latest is not None:
            yield _at(join, latest, certain=True)

    def passes(self, join: WindowJoin, port: int, times: Times) -> Iterable[Waiting]:
        time = times[join.inputs.on[port]]
        if time is not None:
            yield _at(join, time, certain=False)

    def needed(self, join: WindowJoin, port: int, bound: int) -> Sequence[int]:
        return [max(join.inputs.reach.needed(port, bound))] * join.ports


def later(join: WindowJoin) -> pl.Expr:
    """A result's place in the order."""
    return pl.max_horizontal(join.inputs.times).alias(LATER)


def in_order_of_latest(join: WindowJoin, results: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """All these results, in order."""
    found = list(results)
    if found:
        rows = pl.concat(found).with_columns(later(join))
        yield rows.sort(LATER, maintain_order=True).drop(LATER)


def _at(join: WindowJoin, latest: int, *, certain: bool) -> Waiting:
    """A result whose latest time this is; the others lie at most so far back."""
    reach, inputs = join.inputs.reach, join.inputs
    least = [latest] * join.ports
    times = {inputs.times[port]: reach.output_bound(port, least) for port in inputs.promised}
    return Waiting(inputs.needs(least), times, certain)
