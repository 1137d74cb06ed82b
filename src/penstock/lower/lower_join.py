"""WindowJoin: OA-Join, which needs no order and makes nothing wait."""

from __future__ import annotations

from functools import partial

from penstock.kernel.joins.oa_join import OAJoin
from penstock.kernel.joins.spec import JoinSpec, SideSpec
from penstock.lower.physical import Physical
from penstock.plan import nodes


def lower_window_join(node: nodes.WindowJoin) -> Physical:
    return Physical(
        (partial(OAJoin, join_spec(node)),),
        ("OAJoin",),
        "pairs leave as soon as they exist, in no order; rows stay until no partner can come",
    )


def join_spec(node: nodes.WindowJoin) -> JoinSpec:
    """What the node asks for, in the kernel's words."""
    left, right = (
        SideSpec(name, side.schema.columns, on)
        for name, side, on in zip(node.names, node.inputs, node.on, strict=True)
    )
    return JoinSpec((left, right), node.band, node.equalities, node.residual, node.kind)
