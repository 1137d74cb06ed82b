"""Two-level aggregation, where `SET aggregation = two_level` asks for it.

Its parameters travel with the name of the algorithm, as Settings spells it out:
`two_level 4096 slow 2 160` is a table of 4096 slots, flushed slowly, m = 2, i = 160; so is
`two_level` alone.
"""

from __future__ import annotations

from functools import partial

from penstock.kernel.aggregation.two_level.flush import IN_ORDER, LAZY, SLOW, Flush
from penstock.kernel.aggregation.two_level.two_level import HighLevel, LowLevel
from penstock.kernel.aggregation.wid.bucket import Bucket
from penstock.optimizer.physical import Physical
from penstock.plan import nodes
from penstock.windows import Cumulating, Sliding

#: Slots, policy, m and i.
DEFAULTS = ("4096", SLOW, "2", "160")

_LEAVES = {
    LAZY: "throws out what collides, and what has been over for {m} windows",
    SLOW: "throws out what collides, for {i} rows one that is over, and what is so for {m} windows",
    IN_ORDER: "throws out what collides, and before it all that is over",
}


def two_level(node: nodes.WindowAggregate, aggregation: str) -> Physical | None:
    """The two levels for this aggregate, if they are asked for and the window has ids."""
    name, *parameters = aggregation.split()
    window = node.window
    if name != "two_level" or not isinstance(window, Sliding | Cumulating):
        return None
    size, policy, m, i = parameters or DEFAULTS
    flush = Flush(policy, int(m), int(i))
    results = tuple((result.name, result.aggregate) for result in node.results)
    leaves = _LEAVES[policy].format(m=m, i=i)
    return Physical(
        (
            partial(Bucket, window),
            partial(LowLevel, node.groups, results, int(size), flush),
            partial(HighLevel, node.groups, results, window),
        ),
        ("Bucket", "LowLevel", "HighLevel"),
        f"asked for; a table of {size} slots {leaves}; behind it partials are rolled up",
    )
