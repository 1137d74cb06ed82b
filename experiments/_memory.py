"""Joins run over two streams in small blocks: the most they hold, how long results wait, time.

Memory is the most bytes that the operators' states hold after any block, and queued rows beside
them; latency is stream time, from when both rows of a result are there to when it comes out; time
is processor time, as published, which ran from files at full speed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

from penstock.kernel.block import Block
from penstock.kernel.joins.spec import JoinSpec, SideSpec
from penstock.kernel.joins.tactics.tactic import Tactic
from penstock.kernel.joins.window_join import WindowJoin
from penstock.model.punctuation import Punctuation
from penstock.model.schema import Column
from penstock.model.timestamps import END, SECOND
from penstock.model.types import Type
from penstock.windows import sliding_band

COLUMNS = (
    Column("srcIP", Type.INT),
    Column("destIP", Type.INT),
    Column("len", Type.INT),
    Column("ts", Type.TIMESTAMP),
)
#: Blocks a second.
BLOCKS = 10
#: Rows a second on each link, as published.
RATE = 4000


@dataclass(frozen=True)
class Cost:
    """What one run took."""

    peak_bytes: int
    median_latency: float  # in seconds of stream time
    seconds: float  # of the processor
    results: int


class _Sink:
    def __init__(self) -> None:
        self.now = 0
        self.latencies: list[np.ndarray[tuple[int], np.dtype[np.float64]]] = []

    def batch(self, block: Block) -> None:
        later = block.rows.select(pl.max_horizontal("M1.ts", "M2.ts")).to_series().to_numpy()
        self.latencies.append((self.now - later) / SECOND)

    def punctuation(self, punctuation: Punctuation) -> None:
        pass


def conversations(rate: int, seconds: int, seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Two ordered, synchronised links of packets; what one sends the other answers."""
    draw = np.random.default_rng(seed)

    def link() -> pl.DataFrame:
        count = rate * seconds
        times = np.sort(draw.integers(0, seconds * SECOND, count))
        source = draw.integers(0, rate // 4, count)
        values = {"srcIP": source, "destIP": source, "len": source % 1500, "ts": times}
        schema = {"srcIP": pl.Int32, "destIP": pl.Int32, "len": pl.Int32, "ts": pl.Int64}
        return pl.DataFrame(values, schema=schema)

    return link(), link()


def run_join(
    tactic: Callable[[], Tactic], links: tuple[pl.DataFrame, pl.DataFrame], reach: int
) -> Cost:
    """Q7-2's join with windows of `reach` seconds."""
    sides = (SideSpec("M1", COLUMNS, "ts"), SideSpec("M2", COLUMNS, "ts"))
    keys = (("srcIP", "destIP"), ("destIP", "srcIP"))
    band = sliding_band(reach * SECOND, reach * SECOND)
    join, out, peak = WindowJoin(JoinSpec(sides, band, keys), tactic()), _Sink(), 0
    step = SECOND // BLOCKS
    cuts = [
        np.searchsorted(link.get_column("ts").to_numpy(), np.arange(0, _end(links) + step, step))
        for link in links
    ]
    begun = time.process_time()
    for place in range(len(cuts[0]) - 1):
        out.now = (place + 1) * step
        for port, link in enumerate(links):
            start, stop = int(cuts[port][place]), int(cuts[port][place + 1])
            if stop > start:
                join.on_batch(port, Block(link.slice(start, stop - start)), out)
        for port in (0, 1):
            join.on_punctuation(port, Punctuation("ts", out.now), out)
        peak = max(peak, sum(size.bytes for size in join.state.sizes()))
    for port in (0, 1):
        join.on_punctuation(port, Punctuation("ts", END), out)
    seconds = time.process_time() - begun
    waited = np.concatenate(out.latencies)
    return Cost(peak, float(np.median(waited)), seconds, len(waited))


def _end(links: tuple[pl.DataFrame, pl.DataFrame]) -> int:
    return max(int(link.get_column("ts")[-1]) for link in links)
