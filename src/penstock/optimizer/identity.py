"""Identity: what rows of a node are, however they are computed and whatever columns are read.

Statistics are kept under it, so that they outlive a change of plans, and other queries over the
same find them. Projections and sorts change no rows; columns are told by what they are computed
from below these. Joins in any shape are the same join.
"""

from __future__ import annotations

import hashlib

from penstock.model.expressions import Expression, Ref, conjuncts, substituted
from penstock.optimizer.joins.flat_join import flat_join, join_below
from penstock.plan.nodes import Join, Node, Ordered, Project, Select, Source

#: Hexadecimal digits of a digest.
DIGITS = 16


def digest(text: str) -> str:
    """A short name for something."""
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


#: Where a node keeps what it is called: those above ask for it again and again.
_KNOWN = "_identity"


def identity_of(node: Node) -> str:
    """Names the rows of a node, in words."""
    known = vars(node)
    if _KNOWN not in known:
        known[_KNOWN] = _identity(node)
    return str(known[_KNOWN])


def _identity(node: Node) -> str:
    below = join_below(node)
    if below is not None:
        return _of_join(below)
    match node:
        case Source():
            return node.stream.name
        case Project() | Ordered():
            return identity_of(node.input)
        case Select():
            return f"{identity_of(node.input)} where {_predicate(node)}"
    return f"{node.label} of ({', '.join(map(identity_of, node.children))})"


def column_of(node: Node, value: Expression) -> str:
    """Names something computed of a node's columns, by the columns that its rows have at first."""
    while isinstance(node, Project | Ordered | Select):
        if isinstance(node, Project):
            value = _below(node, value)
        node = node.input
    return str(value)


def _predicate(node: Select) -> str:
    parts = (column_of(node.input, part) for part in conjuncts(node.predicate))
    return " and ".join(sorted(parts))


def _below(node: Project, value: Expression) -> Expression:
    known = {column.name: column.value for column in node.columns}
    return substituted(value, lambda part: known[part.name] if isinstance(part, Ref) else part)


def _of_join(join: Join) -> str:
    flat = flat_join(join)
    inputs = sorted(f"{identity_of(each.node)} as {each.name}" for each in flat.inputs)
    terms = [*(f"{left} = {right}" for left, right in flat.equalities), *map(str, flat.conditions)]
    bands = [f"{edge.left}, {edge.right} {edge.band}" for edge in flat.edges]
    return f"{flat.kind.value} join of ({', '.join(inputs)}) on {sorted(terms + bands)}"
