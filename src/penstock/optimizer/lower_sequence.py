"""Sequence: the operator of its mode; nothing else computes it."""

from __future__ import annotations

from penstock.kernel.joins.sequences.spec import SequenceSpec
from penstock.kernel.joins.spec import SideSpec
from penstock.model.expressions import conjunction
from penstock.model.sequences import SequenceMode
from penstock.optimizer.physical import Chosen
from penstock.optimizer.specs import SequenceJoinSpec
from penstock.plan import nodes

_WAITS = {
    SequenceMode.RECENT: "rows of {last} wait until no row before them can come; of the steps "
    "before it, the latest row of each key is stored",
    SequenceMode.CHRONICLE: "rows of {last} wait for their turn, in the order of time; of the "
    "steps before it, rows are stored until they are used",
    SequenceMode.UNRESTRICTED: "rows of {last} wait until no row before them can come; of the "
    "steps before it, all rows are stored",
}


def lower_sequence(node: nodes.Sequence) -> Chosen:
    sides = tuple(
        SideSpec(name, child.schema.columns, on)
        for name, (child, on) in zip(node.names, node.timed, strict=True)
    )
    spec = SequenceSpec(
        (sides[0], sides[1]),
        node.times,
        node.mode,
        node.within,
        tuple((node.origin(a).column, node.origin(b).column) for a, b in node.equalities),
        conjunction(node.conditions),
    )
    reason = _WAITS[node.mode].format(last=node.names[1])
    if node.within is not None:
        reason += ", or too old"
    elif node.mode is not SequenceMode.RECENT or not spec.only_keys:
        reason += "; without WITHIN none gets too old"
    return Chosen((SequenceJoinSpec(spec),), reason)
