"""WindowJoin: has its semantics in `windows.bands` and no operator yet; refused before it runs."""

from __future__ import annotations

from penstock.errors import NotExecutable
from penstock.lower.physical import Physical
from penstock.plan import nodes


def lower_window_join(node: nodes.WindowJoin) -> Physical:
    raise NotExecutable(
        f"cannot run the join of `{node.names[0]}` and `{node.names[1]}`: "
        "there is no operator for window joins",
        hint="EXPLAIN shows its plan; queries over one stream or a union of streams run",
    )
