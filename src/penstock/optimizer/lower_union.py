"""Union: Meld unless order is asked for, then Merge.

Meld passes rows at once. Merge keeps the order of timestamps and waits for it, so it needs inputs
that are ordered themselves. With latent timestamps there is no order to keep.
"""

from __future__ import annotations

from penstock.errors import NotExecutable
from penstock.optimizer.joins.tactic import order_of
from penstock.optimizer.options import Options
from penstock.optimizer.physical import Chosen
from penstock.optimizer.specs import MeldSpec, MergeSpec
from penstock.plan import nodes


def lower_union(node: nodes.Union, options: Options) -> Chosen:
    if options.merges:
        return _merge(node, options)
    return Chosen((MeldSpec(len(node.parts)),), "rows pass at once, only bounds wait")


def _merge(node: nodes.Union, options: Options) -> Chosen:
    order = order_of(node, options)
    if len(order) != 1 or not all(node.schema[on].type.can_progress for on in order):
        raise NotExecutable(
            "cannot merge this union: not all of its inputs are ordered by one column",
            hint=f"{_way_to_order(options)}, or {_meld(options)}",
        )
    [on] = order
    if on in node.schema.nullable:
        raise NotExecutable(
            f"cannot merge this union by `{on}`: a row without a partner has NULL there, so it has "
            "no place in the order",
            hint=_meld(options),
        )
    others = tuple(sorted(node.schema.progressing - order))
    reason = f"rows wait, to keep the order of {on}"
    return Chosen((MergeSpec(len(node.parts), on, others),), reason)


def _meld(options: Options) -> str:
    """How to have unions that do not wait."""
    return "SET mode = oop" if options.mode == "iop" else "SET union = meld"


def _way_to_order(options: Options) -> str:
    if options.mode == "iop":  # whatever progresses is in order already
        return "SELECT a TIMESTAMP or an integer that progresses in every part"
    return "declare every stream of it TIMESTAMP BY … ORDERED"
