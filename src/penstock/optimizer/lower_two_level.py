"""Two-level aggregation, where `SET aggregation = two_level` asks for it."""

from __future__ import annotations

from penstock.kernel.aggregation.two_level.flush import LAZY, SLOW, Flush
from penstock.optimizer.options import Options
from penstock.optimizer.physical import Chosen
from penstock.optimizer.specs import BucketSpec, LowLevelSpec, WindowSpec
from penstock.plan import nodes
from penstock.windows import Cumulating, Sliding

_LEAVES = {
    LAZY: "evicts entries that collide, and those whose window closed {m} windows ago",
    SLOW: "evicts entries that collide, one closed entry per {i} rows, and those whose window "
    "closed {m} windows ago",
}


def two_level(node: nodes.WindowAggregate, options: Options) -> Chosen | None:
    """The two levels for this aggregate, if they are asked for and the window has ids."""
    window = node.window
    if options.aggregation != "two_level" or not isinstance(window, Sliding | Cumulating):
        return None
    size = options.table_size
    flush = Flush(options.flush, options.flush_windows, options.flush_rows)
    leaves = _LEAVES[flush.policy].format(m=flush.windows, i=flush.rows)
    return Chosen(
        (
            BucketSpec(window),
            LowLevelSpec(node.groups, node.named, size, flush),
            WindowSpec("HighLevel", node.groups, node.named, window),
        ),
        f"as set; a table of {size} slots {leaves}; a second level merges them",
    )
