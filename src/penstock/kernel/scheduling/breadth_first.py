"""Breadth first: an operator consumes all it has before the next one starts.

Encore, else Forward, else Backtrack. Each operator runs in one go, and the first result of a burst
waits for the last row of it.  Spec: execution-model 2, BFS.
"""

from __future__ import annotations

from penstock.kernel.scheduling import depth_first
from penstock.kernel.scheduling.row import Control, Move, backtrack, encore, forward, leave
from penstock.kernel.scheduling.strategy import Strategy


def source(at: Control) -> Move:
    return encore(at) or forward(at) or leave(at)


def nos(at: Control) -> Move:
    return encore(at) or forward(at) or backtrack(at)


# Where there is one way to go, both go it.
BREADTH_FIRST = Strategy(
    "bfs", "BFS", source, nos, depth_first.sink, depth_first.source_sink, depth_first.fork
)
