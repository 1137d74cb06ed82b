"""The strategies, by the names people give them. A rule is its words, the first that applies.

    dfs            Forward, else Encore, else Backtrack: a row is carried to the end before the next
                   one is touched. Buffers stay short and the first result is out soonest.
    bfs            Encore, else Forward, else Backtrack: each operator runs in one go, and the first
                   result of a burst waits for the last row of it.
    round robin    Encore, else Forward, else Exit: a path is run once from its first operator to
                   its last, then the next path has its turn. A Fork or an operator with several
                   inputs is no part of a path, so the table cuts the graph there.
    batched k      Encore while there is more and fewer than k rows were consumed since it got
                   control, else Forward, else Backtrack. A batch that gave no result is followed by
                   another one: with rows at hand there is no reason to send for others. With k = 1
                   this is depth first.

Spec: execution-model 2.
"""

from __future__ import annotations

import re

from penstock.errors import BadSetting
from penstock.kernel.scheduling.row import (
    Control,
    Execute,
    backtrack,
    encore,
    forward,
    leave,
    serve,
)
from penstock.kernel.scheduling.strategy import Role, Strategy

DEPTH_FIRST = Strategy(
    "dfs",
    "DFS",
    {
        Role.SOURCE: (forward, encore, leave),
        Role.NOS: (forward, encore, backtrack),
        Role.SINK: (encore, backtrack),
        Role.SOURCE_SINK: (encore, leave),
        Role.FORK: (serve, backtrack),
    },
)

# Where there is one way to go, both go it.
BREADTH_FIRST = Strategy(
    "bfs",
    "BFS",
    {
        **DEPTH_FIRST.rules,
        Role.SOURCE: (encore, forward, leave),
        Role.NOS: (encore, forward, backtrack),
    },
)

# Nobody goes back, so being first makes no difference.
ROUND_ROBIN = Strategy(
    "round robin",
    "RR",
    {
        Role.SOURCE: (encore, forward, leave),
        Role.NOS: (encore, forward, leave),
        Role.SINK: (encore, leave),
        Role.SOURCE_SINK: (encore, leave),
    },
)


def batched(size: int) -> Strategy:
    """Batches of `size` rows."""
    if size < 1:
        raise BadSetting(f"a batch cannot have {size} rows", hint="give 1 or more")

    def fill(at: Control) -> Execute | None:
        return encore(at) if at.processed < size else None

    return Strategy(
        f"batched {size}",
        f"Batch{size}",
        {
            # Before a sink and at a fork there is no batch to carry on.
            **DEPTH_FIRST.rules,
            Role.SOURCE: (fill, forward, encore, leave),
            Role.NOS: (fill, forward, encore, backtrack),
        },
    )


_NAMED = {strategy.name: strategy for strategy in (DEPTH_FIRST, BREADTH_FIRST, ROUND_ROBIN)}

#: Rows a batch, where none are named.
BATCH = 100


def strategy_named(name: str) -> Strategy:
    """The strategy of that name, in any spelling of case and blanks.

    >>> str(strategy_named("Round_Robin")), str(strategy_named("batched 100"))
    ('round robin', 'batched 100')
    """
    plain = re.sub(r"[\s_]+|-(?=[a-z])", " ", name.strip().lower())
    if plain in _NAMED:
        return _NAMED[plain]
    sized = re.fullmatch(r"batched ?(\d*)", plain)
    if sized:
        return batched(int(sized[1] or BATCH))
    raise BadSetting(
        f"no scheduling strategy `{name}`",
        hint=f"there are: {', '.join(_NAMED)}, batched N (N rows a batch, by default {BATCH})",
    )
