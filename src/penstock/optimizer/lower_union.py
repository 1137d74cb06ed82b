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
    on = order_of(node)
    if on is None:
        raise NotExecutable(
            "cannot merge this union: not all of its inputs are ordered by one column",
            hint="declare every stream of it TIMESTAMP BY … ORDERED, or SET union = meld",
        )
    return Physical(
        (partial(Merge, len(node.parts), on),), ("Merge",), f"keeps the order of {on}, by waiting"
    )


def order_of(node: nodes.Node) -> str | None:
    """The column by which a node's rows come in order, if there is one (besides `row_num`)."""
    if isinstance(node, nodes.Source):
        return node.stream.timestamp if node.stream.is_ordered else None
    if isinstance(node, nodes.Ordered):
        return node.on
    if isinstance(node, nodes.Select):
        return order_of(node.input)
    if isinstance(node, nodes.TableJoin):
        on = order_of(node.input)
        return None if on is None else f"{node.names[0]}.{on}"
    if isinstance(node, nodes.Project):
        on = order_of(node.input)
        kept = [c.name for c in node.columns if isinstance(c.value, Ref) and c.value.name == on]
        return kept[0] if kept else None
    if isinstance(node, nodes.Union):
        places = {
            part.schema.names.index(on) if (on := order_of(part)) else None for part in node.parts
        }
        place = places.pop()
        return node.schema.names[place] if place is not None and not places else None
    return None


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
