"""Union: Meld unless order is asked for, then Merge.

Meld passes rows at once. Merge keeps the order of timestamps and waits for it, so it needs inputs
that are ordered themselves. With latent timestamps there is no order to keep.
Inputs whose columns have other names or types than the union's are adapted in front of it.
"""

from __future__ import annotations

from functools import partial

from penstock.errors import NotExecutable
from penstock.kernel.operators.meld import Meld
from penstock.kernel.operators.merge import Merge
from penstock.model.expressions import Cast, Named, Ref
from penstock.optimizer.physical import Physical
from penstock.plan import nodes


def lower_union(node: nodes.Union, union: str) -> Physical:
    if union == "merge":
        return _merge(node)
    return Physical(
        (partial(Meld, len(node.parts)),), ("Meld",), "rows pass at once, only bounds wait"
    )


def _merge(node: nodes.Union) -> Physical:
    on = node.order
    if on is None:
        raise NotExecutable(
            "cannot merge this union: not all of its inputs are ordered by one column",
            hint="declare every stream of it TIMESTAMP BY … ORDERED, or SET union = meld",
        )
    return Physical(
        (partial(Merge, len(node.parts), on),), ("Merge",), f"keeps the order of {on}, by waiting"
    )


def adapt(part: nodes.Node, union: nodes.Union) -> nodes.Node:
    """An input with the union's own column names and types."""
    if [(c.name, c.type) for c in part.schema] == [(c.name, c.type) for c in union.schema]:
        return part
    return nodes.Project(
        part,
        tuple(
            Named(
                mine.name,
                Ref(theirs.name, theirs.type)
                if mine.type is theirs.type
                else Cast(Ref(theirs.name, theirs.type), mine.type),
            )
            for mine, theirs in zip(union.schema, part.schema, strict=True)
        ),
    )
