"""WindowJoin: OA-Join, unless `SET join` names another algorithm.

OA-Join needs no order and makes nothing wait. The others keep an order, and pay for it; those that
order by the later timestamp need inputs that are ordered themselves.

    oa             pairs leave as soon as they exist
    sync_filter    rows wait until the other input has come as far
    filter_order   results wait until both inputs have come as far
    adaptive       one or the other, by what is measured
    opob, opib     results in the order of the left timestamp: results or left rows wait
    mjoin          three inputs and more at once: no results of two are kept, and none reused

A baseline can be lowered and not be SET, because its answers may be wrong:

    global_order   the older algorithm, wrong where an input is late
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from penstock.errors import NotExecutable
from penstock.kernel.joins.baselines.global_order import GlobalOrder
from penstock.kernel.joins.spec import JoinSpec, SideSpec
from penstock.kernel.joins.tactics.adaptive import Adaptive
from penstock.kernel.joins.tactics.filter_order import FilterOrder
from penstock.kernel.joins.tactics.opib import OPIB
from penstock.kernel.joins.tactics.opob import OPOB
from penstock.kernel.joins.tactics.sync_filter import SyncFilter
from penstock.kernel.joins.tactics.tactic import Tactic
from penstock.kernel.joins.window_join import WindowJoin
from penstock.model.joins import JoinKind
from penstock.optimizer.joins.flatten_joins import flatten_joins, joins_several
from penstock.optimizer.physical import AUTO, Physical
from penstock.plan import nodes
from penstock.plan.graph import walk

#: Where Adaptive switches. Below it results are up to so much later than they could be, by the
#: analysis; a little more if rows come in bursts.
ALPHA = 0.05


#: Setting -> the tactic, and why one would want it.
TACTICS: dict[str, tuple[Callable[[], Tactic], str]] = {
    AUTO: (
        Tactic,
        "pairs leave as soon as they exist, in no order; rows stay until no partner can come",
    ),
    "oa": (Tactic, "asked for; pairs leave as soon as they exist, in no order"),
    "sync_filter": (
        SyncFilter,
        "asked for; rows wait until the other input has come as far, so results are in order",
    ),
    "filter_order": (
        FilterOrder,
        "asked for; rows join at once, results wait until both inputs have come as far",
    ),
    "adaptive": (
        partial(Adaptive, ALPHA, time.perf_counter),
        f"asked for; SyncFilter, and FilterOrder where c w l1 l2 >= {ALPHA}",
    ),
    "opob": (OPOB, "asked for; results wait in a buffer that is sorted by the left timestamp"),
    "opib": (OPIB, "asked for; left rows wait until their partners have come, and join in order"),
    "global_order": (
        GlobalOrder,
        "a baseline, for experiments: wrong unless rows of both inputs come in one order",
    ),
}
#: Those that give other answers than OA-Join: for experiments, which name them in the lowering.
BASELINES = ("global_order",)
#: Those that count on inputs which are in order themselves.
_NEED_ORDER = ("sync_filter", "filter_order", "adaptive")


#: For joins of three inputs and more.
MJOIN = "mjoin"


def lower_window_join(node: nodes.WindowJoin, join: str, union: str) -> Physical:
    if join == MJOIN:
        return _lower_mjoin(node)
    tactic, reason = TACTICS[join]
    if join not in (AUTO, "oa"):
        _check(node, join, union)
    elif joins_several(node):
        reason += "; two by two, so what the joins below have found is kept, and not found again"
    spec = join_spec(node)
    return Physical((lambda: WindowJoin(spec, tactic()),), (tactic().name,), reason)


def _lower_mjoin(node: nodes.WindowJoin) -> Physical:
    found = flatten_joins(node)
    if found is None:
        reason = "an MJoin of two inputs is an OA-Join; where a third is joined, it is part of that"
        return Physical((partial(WindowJoin, join_spec(node)),), ("OAJoin",), reason)
    return Physical(
        (lambda: WindowJoin(found.spec),),
        ("MJoin",),
        f"asked for; {len(found.inputs)} inputs meet at once, the smallest store first: only their "
        "own rows are kept, where binary joins would keep the results of those below as well",
    )


def inputs_of(node: nodes.WindowJoin, join: str) -> tuple[nodes.Node, ...]:
    """What the operator of a join reads: for MJoin all inputs of the joins below it too."""
    found = flatten_joins(node) if join == MJOIN else None
    return node.children if found is None else found.inputs


def _check(node: nodes.WindowJoin, join: str, union: str) -> None:
    names = " and ".join(f"`{name}`" for name in node.names)
    if node.kind is not JoinKind.INNER:
        raise NotExecutable(
            f"cannot run the {node.kind.value} join of {names} by {join}, which finds pairs only",
            hint="SET join = auto",
        )
    if join in _NEED_ORDER:
        for side, on in zip(node.children, node.on, strict=True):
            melds = union == "meld" and any(isinstance(n, nodes.Union) for n in walk(side))
            if side.order != on or melds:
                raise NotExecutable(
                    f"cannot run the join of {names} by {join}: "
                    f"not both inputs come in the order of their time",
                    hint="declare the streams TIMESTAMP BY … ORDERED, or SET join = auto",
                )


def join_spec(node: nodes.WindowJoin) -> JoinSpec:
    """What the node asks for, in the kernel's words."""
    left, right = (
        SideSpec(name, side.schema.columns, on)
        for name, side, on in zip(node.names, node.children, node.on, strict=True)
    )
    return JoinSpec((left, right), node.band, node.equalities, node.residual, node.kind)
