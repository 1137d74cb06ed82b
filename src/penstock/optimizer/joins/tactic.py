"""Which tactic a join follows, and in which order rows come where everybody follows theirs.

`SET join` names a tactic. Where it leaves the choice, and order is kept everywhere (`SET mode =
iop`), joins whose inputs are in order keep it, too; others cannot.

A plan node says by which columns its rows would come in order; whether they do depends on the
operators that it gets: unions that merge, joins in order.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.model.joins import JoinKind
from penstock.optimizer.options import AUTO, Options
from penstock.plan import nodes

#: The settings by which all inputs meet at once: in no order, and in that of the latest timestamp,
#: for which inputs must be in order themselves.
MJOIN = "mjoin"
IN_ORDER = ("sync_filter", "filter_order", "adaptive", "tsm")
#: Those by which two inputs meet, and results come in the order of the left time.
BY_LEFT = ("opob", "opib")


def tactic_of(join: nodes.Join, options: Options) -> str:
    """The setting by which a join runs."""
    if options.join != AUTO or options.mode != "iop":
        return options.join
    can = join.kind is JoinKind.INNER and has_ordered_inputs(join, options)
    return "filter_order" if can else AUTO


def will_be_in_order(join: nodes.Join, options: Options) -> bool:
    """Whether a join will have its inputs sorted in front of it (`rules/in_order.py`)."""
    nullable = any(on in child.schema.nullable for child, on in join.timed)
    return options.join == AUTO and options.mode == "iop" and not nullable


def has_ordered_inputs(join: nodes.Join, options: Options) -> bool:
    """Whether every input comes in the order of the column that times it."""
    return all(order_of(child, options) == {on} for child, on in join.timed)


def order_of(node: nodes.Node, options: Options) -> frozenset[str]:
    """The columns by the greatest of which rows do come in order; none: in no order."""
    kept = all(_keeps_order(each, options) for each in _until_ordered(node))
    return node.order if kept else frozenset()


def _until_ordered(node: nodes.Node) -> Iterator[nodes.Node]:
    """The nodes on which the order of a node depends."""
    yield node
    if not isinstance(node, nodes.Ordered):
        for child in node.children:
            yield from _until_ordered(child)


def _keeps_order(node: nodes.Node, options: Options) -> bool:
    match node:
        case nodes.Union():
            return options.merges
        case nodes.Join():
            return tactic_of(node, options) in IN_ORDER
        case nodes.Source() | nodes.Select() | nodes.Project() | nodes.TableJoin() | nodes.Table():
            return True
        case nodes.Explode():
            return True
        case nodes.WindowAggregate() | nodes.Sequence() | nodes.Ordered() | nodes.Numbered():
            return True
        case nodes.MatchRecognize():
            return True
    raise nodes.unknown(node)
