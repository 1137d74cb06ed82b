"""Ordered: Order, unless rows come in that order already; with the price of it.

The price is how far behind the newest row of its streams a row comes out, and what is buffered for
it: all that came since. It is made of what streams allow rows to be late (slack), and where rows
come out of a join, of how much later a partner can be (band).
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.kernel.joins.purge import keep_from
from penstock.model.schema import WINDOW_END
from penstock.model.timestamps import format_duration
from penstock.model.types import Type
from penstock.optimizer.joins.shape import two_by_two
from penstock.optimizer.joins.tactic import order_of
from penstock.optimizer.options import Options
from penstock.optimizer.physical import Chosen
from penstock.optimizer.specs import OrderSpec
from penstock.plan import nodes
from penstock.plan.graph import below, trace
from penstock.windows import Band, JoinBand


def lower_ordered(node: nodes.Ordered, options: Options) -> Chosen:
    if order_of(node.input, options) == {node.on}:
        return Chosen((), f"rows are in the order of {node.on} already")
    reason = f"rows wait until no earlier row can come; {_told(node)}"
    others = tuple(sorted(node.schema.progressing - {node.on}))
    return Chosen((OrderSpec(node.on, others),), reason)


@dataclass(frozen=True)
class Price:
    """How far below the newest times a bound is, and what that results from."""

    ticks: int
    parts: tuple[str, ...] = ()

    def further(self, ticks: int, why: str) -> Price:
        """The same, and so much more."""
        return Price(max(0, self.ticks + ticks), (*self.parts, why))


def _told(node: nodes.Ordered) -> str:
    """The price in words."""
    if _of_window(node.input, node.on):
        return "results leave when their window closes, so only those of one step are buffered"
    found = price(node.input, node.on)
    if found is None:
        return "how long depends on the bounds of the streams"
    length = _length(found.ticks, node.schema[node.on].type)
    parts = f" ({' + '.join(found.parts)})" if found.parts else ""
    return f"rows of the last {length} are buffered{parts}"


def price(node: nodes.Node, on: str) -> Price | None:
    """The price of a bound on the column; None: that depends on others."""
    match node:
        case nodes.Source():
            stream = node.stream
            slacks = {time.column: time.slack for time in stream.further}
            slack = stream.slack if on == stream.timestamp else slacks.get(on)
            if slack is None:
                return None
            length = _length(slack, node.schema[on].type)
            return Price(slack, (f"slack {length} of {stream.name}",) if slack else ())
        case nodes.WindowAggregate() | nodes.MatchRecognize():
            return None
        case nodes.Join():
            return _price_of_join(two_by_two(node), on)
        case nodes.Sequence():
            return _price_of_sequence(node, on)
    return _longest([price(*each) for each in below(node, on)])


def _price_of_join(node: nodes.Join, on: str) -> Price | None:
    """A row comes out with its last partner, which may lie so much later as the bands reach."""
    side, own = node.origin(on)
    mine = price(node.children[side], own)
    theirs = price(node.children[1 - side], node.on[1 - side])
    ways = ((node.edges[0].band, side), *node.carried.get(on, ()))
    reach = sum(_reach(*way) for way in ways)
    if theirs is not None:
        length = _length(abs(reach), node.children[side].schema[own].type)
        sign = "-" if reach < 0 else ""
        theirs = theirs.further(reach, f"band {sign}{length} to {node.titles[1 - side]}")
    return _longest([mine, theirs])


def _price_of_sequence(node: nodes.Sequence, on: str) -> Price | None:
    """A row comes out when both inputs are past its last step, which may lie so much later."""
    found = _longest([price(*each) for each in node.timed])
    if found is None or on == node.times[-1] or node.within is None:
        return found
    length = _length(node.within, node.schema[on].type)
    return found.further(node.within, f"within {length}")


def _reach(band: JoinBand, side: int) -> int:
    return -keep_from(band, side, 0) if isinstance(band, Band) else band.width


def _longest(waits: list[Price | None]) -> Price | None:
    known = [wait for wait in waits if wait is not None]
    complete = known and len(known) == len(waits)
    return max(known, key=lambda wait: wait.ticks) if complete else None


def _of_window(node: nodes.Node, on: str) -> bool:
    """Whether a column is the end of an aggregate's window."""
    found = trace(node, on, nodes.WindowAggregate)
    return found is not None and found[1] == WINDOW_END


def _length(ticks: int, of: Type) -> str:
    return format_duration(ticks) if of.is_time else str(ticks)
