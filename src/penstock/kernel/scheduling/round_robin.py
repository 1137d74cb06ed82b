"""Round robin: paths take turns.

Encore, else Forward, else Exit: a path is run once from its first operator to its last, then the
next path has its turn. A Fork or an operator with several inputs is no part of a path, so the
table cuts the graph there.  Spec: execution-model 2, round robin.
"""

from __future__ import annotations

from penstock.kernel.scheduling.row import Control, Move, encore, forward, leave
from penstock.kernel.scheduling.strategy import Strategy


def nos(at: Control) -> Move:
    return encore(at) or forward(at) or leave(at)


def sink(at: Control) -> Move:
    return encore(at) or leave(at)


# Nobody goes back, so being first makes no difference.
ROUND_ROBIN = Strategy("round robin", "RR", nos, nos, sink, sink, fork=None)
