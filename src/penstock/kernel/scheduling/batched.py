"""Depth first in batches: an operator consumes up to k rows, then its results are carried on.

Encore while there is more and fewer than k rows were consumed since it got control, else Forward,
else Backtrack. A batch that gave no result is followed by another one: with rows at hand there is
no reason to send for others. With k = 1 this is depth first.  Spec: execution-model 2, DFS with
k-tuple batches.
"""

from __future__ import annotations

from penstock.errors import BadSetting
from penstock.kernel.scheduling import depth_first
from penstock.kernel.scheduling.row import (
    Control,
    Execute,
    Move,
    backtrack,
    encore,
    forward,
    leave,
)
from penstock.kernel.scheduling.strategy import Strategy


def batched(size: int) -> Strategy:
    """Batches of `size` rows."""
    if size < 1:
        raise BadSetting(f"a batch cannot have {size} rows", hint="give 1 or more")

    def fill(at: Control) -> Execute | None:
        return encore(at) if at.processed < size else None

    def source(at: Control) -> Move:
        return fill(at) or forward(at) or encore(at) or leave(at)

    def nos(at: Control) -> Move:
        return fill(at) or forward(at) or encore(at) or backtrack(at)

    return Strategy(
        name=f"batched {size}",
        prefix=f"Batch{size}",
        source=source,
        nos=nos,
        # Before a sink and at a fork there is no batch to carry on.
        sink=depth_first.sink,
        source_sink=depth_first.source_sink,
        fork=depth_first.fork,
    )
