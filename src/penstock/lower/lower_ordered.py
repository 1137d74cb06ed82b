"""Ordered: Order, unless rows come in that order already; with the price of it.

The price is how long a row waits behind the newest one of its stream: what its streams allow rows
to be late, and where it comes out of a join, how much later a partner can be.
"""

from __future__ import annotations

from functools import partial

from penstock.kernel.joins.purge import keep_from
from penstock.kernel.operators.order import Order
from penstock.lower.lower_union import order_of
from penstock.lower.physical import Physical
from penstock.model.expressions import Ref
from penstock.model.timestamps import format_duration
from penstock.plan import nodes
from penstock.plan.graph import walk
from penstock.windows import Band


def lower_ordered(node: nodes.Ordered, union: str) -> Physical:
    if order_of(node.input) == node.on and (union == "merge" or not _unites(node)):
        return Physical((), ("nothing",), f"rows come in the order of {node.on} already")
    waits = price(node.input, node.on)
    length = "" if waits is None else f", {format_duration(waits)} behind the newest"
    return Physical(
        (partial(Order, node.on),),
        ("Order",),
        f"rows wait until nothing earlier can come{length}; without ORDER BY they would not",
    )


def price(node: nodes.Node, on: str) -> int | None:
    """How far below the newest times a promise on the column is; None: that depends on others."""
    match node:
        case nodes.Source():
            return node.stream.slack if node.stream.timestamp == on else None
        case nodes.Select() | nodes.Ordered():
            return price(node.input, on)
        case nodes.Project():
            value = next(column.value for column in node.columns if column.name == on)
            return price(node.input, value.name) if isinstance(value, Ref) else None
        case nodes.Union():
            place = node.schema.names.index(on)
            return _longest([price(part, part.schema.names[place]) for part in node.parts])
        case nodes.TableJoin():
            return price(node.input, on.removeprefix(f"{node.names[0]}."))
        case nodes.WindowJoin():
            side = 0 if on == f"{node.names[0]}.{node.on[0]}" else 1
            mine, theirs = (price(node.inputs[s], node.on[s]) for s in (side, 1 - side))
            band = node.band
            reach = -keep_from(band, side, 0) if isinstance(band, Band) else band.width
            return _longest([mine, None if theirs is None else max(0, theirs + reach)])
    return None


def _longest(waits: list[int | None]) -> int | None:
    known = [wait for wait in waits if wait is not None]
    return max(known) if len(known) == len(waits) else None


def _unites(node: nodes.Node) -> bool:
    return any(isinstance(below, nodes.Union) for below in walk(node))
