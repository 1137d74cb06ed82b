"""Depth first: a row is carried to the end before the next one is touched.

Forward, else Encore, else Backtrack. Buffers stay short and the first result is out soonest.
Spec: execution-model 2, DFS.
"""

from __future__ import annotations

from penstock.kernel.scheduling.row import (
    Control,
    Move,
    backtrack,
    encore,
    forward,
    leave,
    serve,
)
from penstock.kernel.scheduling.strategy import Strategy


def source(at: Control) -> Move:
    return forward(at) or encore(at) or leave(at)


def nos(at: Control) -> Move:
    return forward(at) or encore(at) or backtrack(at)


def sink(at: Control) -> Move:
    return encore(at) or backtrack(at)


def source_sink(at: Control) -> Move:
    return encore(at) or leave(at)


def fork(at: Control) -> Move:
    return serve(at) or backtrack(at)


DEPTH_FIRST = Strategy("dfs", "DFS", source, nos, sink, source_sink, fork)
