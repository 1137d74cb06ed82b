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

import polars as pl

from penstock.kernel.buffer import Cursor
from penstock.kernel.joins.inputs import Inputs
from penstock.kernel.joins.tactics.tactic import Tactic
from penstock.kernel.progress.release import Times, Waiting

#: The column that tells a held result's place in the order.
LATER = "__later"


class InOrder(Tactic):
    """Results leave in the order of their latest timestamp; subclasses say who waits."""

    in_order = True

    def tables(self, inputs: Inputs) -> dict[str, str]:
        queues = zip(inputs.names, inputs.on, strict=True)
        return {f"{name}_queue": on for name, on in queues} | {"held": LATER}

    def waiting(self, inputs: Inputs) -> Iterator[tuple[int, pl.DataFrame]]:
        for port, name in enumerate(inputs.names):
            for rows in inputs.state.table(f"{name}_queue"):
                yield port, rows

    def held_results(self, inputs: Inputs) -> Iterator[pl.DataFrame]:
        return (rows.drop(LATER) for rows in inputs.state.table("held"))

    def take_over(self, inputs: Inputs, results: Iterable[pl.DataFrame]) -> Iterable[pl.DataFrame]:
        self.hold(inputs, results)
        return ()

    def come(self, inputs: Inputs) -> Sequence[int]:
        """What is joined from now on is not below what an input has reached, or not below the
        trigger where rows of it wait."""
        state = inputs.state
        queues = (state.table(f"{name}_queue") for name in inputs.names)
        return [
            state.trigger if queue.segments else reached
            for queue, reached in zip(queues, state.reached, strict=True)
        ]

    def complete(self, inputs: Inputs) -> Sequence[int]:
        """What comes later has a time behind the trigger, and the others within reach of it."""
        return [inputs.state.trigger] * inputs.ports

    # -- parts --------------------------------------------------------------------------------

    def wait(self, inputs: Inputs, port: int, rows: pl.DataFrame) -> None:
        """Rows that are not joined yet."""
        inputs.state.table(f"{inputs.names[port]}_queue").append_sorted(rows)

    def join_waiting(self, inputs: Inputs, up_to: int) -> Iterator[pl.DataFrame]:
        """Join the rows that wait, as far as that time."""
        for port, name in enumerate(inputs.names):
            rows = inputs.state.table(f"{name}_queue").take_in_order(up_to + 1)
            if rows is not None:
                yield from self.meet(inputs, port, rows)

    def meet(self, inputs: Inputs, port: int, rows: pl.DataFrame) -> Iterable[pl.DataFrame]:
        """Join rows now."""
        return inputs.meet(port, rows)

    def hold(self, inputs: Inputs, results: Iterable[pl.DataFrame]) -> None:
        for rows in results:
            inputs.state.table("held").append_sorted(rows.with_columns(later(inputs)))

    def let_out(self, inputs: Inputs) -> Iterator[pl.DataFrame]:
        """Held results, as far as all inputs have come."""
        rows = inputs.state.table("held").take_in_order(inputs.state.trigger + 1)
        if rows is not None:
            yield rows.drop(LATER)

    # -- what it waits for --------------------------------------------------------------------

    def held(self, inputs: Inputs, cursors: Sequence[Cursor]) -> Iterable[Waiting]:
        for port, name in enumerate(inputs.names):
            time = inputs.state.table(f"{name}_queue").lowest()
            if time is not None:
                yield from self.passes(inputs, port, {inputs.on[port]: time})
        latest = inputs.state.table("held").lowest()
        if latest is not None:
            yield _at(inputs, latest, certain=True)

    def passes(self, inputs: Inputs, port: int, times: Times) -> Iterable[Waiting]:
        time = times[inputs.on[port]]
        if time is not None:
            yield _at(inputs, time, certain=False)

    def needed(self, inputs: Inputs, port: int, bound: int) -> Sequence[int]:
        return [max(inputs.reach.needed(port, bound))] * inputs.ports


def later(inputs: Inputs) -> pl.Expr:
    """A result's place in the order."""
    return pl.max_horizontal(inputs.times).alias(LATER)


def in_order_of_latest(inputs: Inputs, results: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """All these results, in order."""
    found = list(results)
    if found:
        rows = pl.concat(found).with_columns(later(inputs))
        yield rows.sort(LATER, maintain_order=True).drop(LATER)


def _at(inputs: Inputs, latest: int, *, certain: bool) -> Waiting:
    """A result whose latest time this is; the others lie at most so far back."""
    least, bound = [latest] * inputs.ports, inputs.reach.output_bound
    times = {inputs.times[port]: bound(port, least) for port in inputs.progressing}
    return Waiting(inputs.needs(least), times, certain)
