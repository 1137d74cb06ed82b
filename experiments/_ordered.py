"""In-order joins on a virtual clock: two Poisson streams, and what joining a row costs.

Joining a row takes C = c w l1, whichever stream it is of, with l1 the slower rate: the cost model
of the analysis, under which a join keeps up while c w l1 l2 < 1. (To charge every pair where it is
found, a row of the slow stream would cost c w l2 instead; both streams together would then take
2 c w l1 l2 of the time, and be overloaded within the published range of c.) A row's response ends
when it has been joined and both streams have come as far as its timestamp, for then its results can
leave in order. Spec: ordered-joins 4, 6.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from penstock.kernel.block import Block
from penstock.kernel.joins.spec import JoinSpec, SideSpec
from penstock.kernel.joins.tactics.adaptive import Adaptive
from penstock.kernel.joins.tactics.filter_order import FilterOrder
from penstock.kernel.joins.tactics.sync_filter import SyncFilter
from penstock.kernel.joins.tactics.tactic import Tactic
from penstock.kernel.joins.window_join import WindowJoin
from penstock.model.punctuation import Punctuation
from penstock.model.schema import Column
from penstock.model.timestamps import SECOND
from penstock.model.types import Type
from penstock.windows import sliding_band

WINDOW = 60 * SECOND
#: The threshold of the published runs.
ALPHA = 0.3
COLUMNS = (Column("k", Type.INT), Column("ts", Type.TIMESTAMP))


class _Clock:
    """The virtual time, when each row was joined, and what a row costs."""

    def __init__(self, cost: float) -> None:
        self.now = 0.0
        self.busy = 0.0
        self.arrived = 0.0  # when the last row of a block came
        self.cost = cost
        self.joined: dict[tuple[int, int], float] = {}

    def wait_for(self, ts: int) -> None:
        self.now = max(self.now, ts)

    def spend(self, cost: float) -> None:
        self.now += cost
        self.busy += cost


def _charge(join: WindowJoin, clock: _Clock) -> None:
    """Let joining a row take virtual time."""
    meet = join.inputs.meet

    def charged(port: int, rows: pl.DataFrame) -> Iterator[pl.DataFrame]:
        for ts in rows.get_column("ts").to_list():
            clock.wait_for(ts)
            clock.spend(clock.cost)
            clock.joined[port, ts] = clock.now
        return meet(port, rows)

    join.inputs.meet = charged  # type: ignore[method-assign]


ALGORITHMS = ("Sync-Filter", "Filter-Order", "Adaptive")


@dataclass(frozen=True)
class Measured:
    """What a run comes to."""

    response: float  # of a row on average, in seconds
    ordering_output: float = 0.0  # share of the rows that came while Adaptive was Filter-Order
    load: float = 0.0  # Adaptive's estimate of c w l1 l2 in the end


def measured(
    name: str,
    rates: tuple[float, float],
    cost: float,
    seconds: int,
    seed: int,
    alpha: float = ALPHA,
) -> Measured:
    """Run an algorithm for so many seconds of the streams; a pair costs `cost` seconds."""
    clock = _Clock(cost * WINDOW * min(rates))
    join = _join(name, clock, alpha)
    adaptive = join.tactic if isinstance(join.tactic, Adaptive) else None
    pending: dict[tuple[int, int], None] = {}
    total = count = arrived = ordering = 0.0
    for port, times in _turns(rates, seconds, seed):
        clock.wait_for(times[0])
        clock.arrived = times[-1]
        rows = pl.DataFrame(
            {"k": [ts % 997 for ts in times], "ts": times},
            schema={"k": pl.Int32, "ts": pl.Int64},
        )
        pending |= dict.fromkeys((port, ts) for ts in times)
        join.on_batch(port, Block(rows), _Nowhere())
        arrived += len(times)
        if adaptive is not None and adaptive.orders_output(join.inputs):
            ordering += len(times)
        trigger = join.state.trigger
        for key in [key for key in pending if key[1] <= trigger]:
            del pending[key]
            end = max(clock.joined.pop(key), times[0])
            total, count = total + (end - key[1]) / SECOND, count + 1
    load = 0.0 if adaptive is None else adaptive.load(join.inputs)
    return Measured(total / count, ordering / arrived, load)


def _join(name: str, clock: _Clock, alpha: float) -> WindowJoin:
    sides = (SideSpec("l", COLUMNS, "ts"), SideSpec("r", COLUMNS, "ts"))
    spec = JoinSpec(sides, sliding_band(WINDOW, WINDOW), (("k", "k"),))
    tactics: dict[str, Callable[[], Tactic]] = {
        "Sync-Filter": SyncFilter,
        "Filter-Order": FilterOrder,
        "Adaptive": lambda: Adaptive(alpha, lambda: clock.busy, lambda: clock.arrived),
    }
    join = WindowJoin(spec, tactics[name]())
    _charge(join, clock)
    return join


def _turns(rates: tuple[float, float], seconds: int, seed: int) -> Iterator[tuple[int, list[int]]]:
    """Who speaks when: a row of the slow stream, the fast one's next, then the rest up to the next.

    Nothing can leave between the rows of the rest, so they may come as one block.
    """
    draw = np.random.default_rng(seed)
    slow, fast = (
        np.unique(np.cumsum(draw.exponential(SECOND / rate, int(rate * seconds) + 2)).astype(int))
        for rate in rates
    )
    place = 0
    for ts, after in itertools.pairwise(slow):
        yield 0, [int(ts)]
        upto = int(np.searchsorted(fast, after))
        rows = fast[place:upto]
        place = upto
        if len(rows):
            yield 1, [int(rows[0])]
        if len(rows) > 1:
            yield 1, [int(ts) for ts in rows[1:]]


class _Nowhere:
    def batch(self, block: Block) -> None:
        pass

    def punctuation(self, punctuation: Punctuation) -> None:
        pass
