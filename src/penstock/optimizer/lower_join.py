"""Join: OA-Join, unless `SET join` names another algorithm.

OA-Join needs no order and makes nothing wait. The others keep an order, and pay for it; those that
order by the later timestamp need inputs that are ordered themselves.

    oa             pairs leave as soon as they exist
    sync_filter    rows wait until the other inputs have come as far
    filter_order   results wait until all inputs have come as far
    adaptive       one or the other, by what is measured
    tsm            rows wait in the inputs' buffers until all inputs have come as far
    opob, opib     results in the order of the left timestamp: results or left rows wait
    mjoin          three inputs and more at once: no results of two are kept, and none reused
"""

from __future__ import annotations

from dataclasses import replace

from penstock.errors import NotExecutable
from penstock.kernel.joins.spec import JoinSpec
from penstock.model.expressions import conjunction
from penstock.model.joins import JoinKind
from penstock.optimizer.joins.mjoin import mjoin_spec, side_specs
from penstock.optimizer.joins.tactic import IN_ORDER, MJOIN, has_ordered_inputs, tactic_of
from penstock.optimizer.options import AUTO, Options
from penstock.optimizer.physical import Chosen
from penstock.optimizer.specs import PLAIN, WindowJoinSpec
from penstock.plan import nodes

#: Setting -> the tactic, and why one would want it.
TACTICS = {
    AUTO: (
        PLAIN,
        "results leave at once, in no order; rows are stored until no partner can come",
    ),
    "oa": (PLAIN, "as set; results leave at once, in no order"),
    "sync_filter": (
        "SyncFilter",
        "as set; rows wait until the other inputs have reached their time, so results are in order",
    ),
    "filter_order": (
        "FilterOrder",
        "as set; rows join at once; results wait until all inputs have reached their time",
    ),
    "adaptive": (
        "AdaptiveOrder",
        "as set; SyncFilter, and FilterOrder where c w l1 l2 >= {alpha}",
    ),
    "tsm": (
        "TSMJoin",
        "as set; the row with the least time joins next; rows wait in the input buffers",
    ),
    "opob": (
        "OPOBJoin",
        "as set; results wait in a buffer that is sorted by the left timestamp",
    ),
    "opib": (
        "OPIBJoin",
        "as set; left rows wait until their partners have arrived, and join in order",
    ),
}


def lower_join(node: nodes.Join, options: Options) -> Chosen:
    chosen = _lowered(node, options)
    return replace(chosen, reason=f"{chosen.reason}; {node.note}") if node.note else chosen


def _lowered(node: nodes.Join, options: Options) -> Chosen:
    join, count = tactic_of(node, options), len(node.inputs)
    several = mjoin_spec(node) if count > 2 else None
    spec = several or join_spec(node)
    if join == MJOIN and several is None:
        return Chosen((WindowJoinSpec(PLAIN, spec),), "an MJoin of two inputs is an OA-Join")
    if several is not None and join in (MJOIN, AUTO, "oa"):
        told = "as set; " if join == MJOIN else ""
        reason = (
            f"{told}{count} inputs are joined at once, {_order(node)}: only their rows are stored, "
            "and no intermediate results"
        )
        return Chosen((WindowJoinSpec(PLAIN, spec),), reason)
    tactic, reason = TACTICS[join]
    alpha = options.join_alpha if join == "adaptive" else None
    if join not in (AUTO, "oa"):
        _check(node, join, options)
    elif any(map(_is_join, node.inputs)):
        reason += "; two by two: results of the join below are stored and not computed again"
    if options.join == AUTO and join in IN_ORDER:
        reason = reason.replace("as set", "order is kept everywhere")
    if several is not None:
        reason += f"; {count} inputs at once"
    if options.mode == "iop" and node.kind is JoinKind.FULL:
        reason += "; order ends here, for results may lack either time"
    return Chosen((WindowJoinSpec(tactic, spec, alpha=alpha),), reason.format(alpha=alpha))


def _order(node: nodes.Join) -> str:
    """In which order inputs of an MJoin meet the others, in words."""
    if not node.orders:
        return "the smallest store first"
    titles = [f"({title})" if ", " in title else title for title in node.titles]
    orders = (
        f"{titles[port]} with {', '.join(titles[each] for each in order)}"
        for port, order in enumerate(node.orders)
    )
    return f"rows of {'; '.join(orders)}"


def _is_join(node: nodes.Node) -> bool:
    """Whether the columns that are read of a node are those of a join."""
    below = node.input if isinstance(node, nodes.Project) else node
    return isinstance(below, nodes.Join)


def _check(node: nodes.Join, join: str, options: Options) -> None:
    names = " and ".join(f"`{name}`" for name in node.titles)
    if node.kind is not JoinKind.INNER:
        raise NotExecutable(
            f"cannot run the {node.kind.value} join of {names} with join = {join}, which only does "
            "inner joins",
            hint="SET join = auto",
        )
    if join in IN_ORDER and not has_ordered_inputs(node, options):
        raise NotExecutable(
            f"cannot run the join of {names} with join = {join}: not all of its inputs are ordered "
            "by their time",
            hint=_way_to_order(node),
        )


def _way_to_order(node: nodes.Join) -> str:
    """How inputs of a join come in order: results of a join below do by their greatest time."""
    for child in node.children:
        below = _join_below(child)
        if below is not None and below.kind is JoinKind.INNER:
            return (
                "results of a join come in the order of their greatest time, so join by "
                f"greatest({', '.join(below.times)}); or SET join = auto, with SET mode = iop if "
                "order is to be kept"
            )
    return "declare the streams TIMESTAMP BY … ORDERED, or SET join = auto"


def _join_below(node: nodes.Node) -> nodes.Join | None:
    """The join whose results a node passes on."""
    while not isinstance(node, nodes.Join):
        if len(node.children) != 1:
            return None
        [node] = node.children
    return node


def join_spec(node: nodes.Join) -> JoinSpec:
    """What a join of two asks for, in the kernel's words."""
    left, right = side_specs(node)
    equalities = tuple((node.origin(a).column, node.origin(b).column) for a, b in node.equalities)
    residual = conjunction(node.conditions)
    return JoinSpec((left, right), node.edges[0].band, equalities, residual, node.kind)
