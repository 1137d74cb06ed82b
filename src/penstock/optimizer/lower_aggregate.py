"""WindowAggregate: an algorithm for every kind of window."""

from __future__ import annotations

from functools import partial

from penstock.errors import PenstockBug
from penstock.kernel.aggregation.adapt.adapt_wid import AdaptWid
from penstock.kernel.aggregation.baselines.buffering import Buffering
from penstock.kernel.aggregation.baselines.buffering_incremental import BufferingIncremental
from penstock.kernel.aggregation.partitioned import PartitionedAggregate
from penstock.kernel.aggregation.session import SessionAggregate
from penstock.kernel.aggregation.wid.bins import BinsAggregate
from penstock.kernel.aggregation.wid.bucket import Bucket
from penstock.kernel.aggregation.wid.landmark import LandmarkAggregate
from penstock.kernel.aggregation.wid.wid import WidAggregate
from penstock.optimizer.lower_align_windows import lower_align_windows
from penstock.optimizer.lower_emit import lower_emitting
from penstock.optimizer.lower_panes import paned
from penstock.optimizer.lower_two_level import two_level
from penstock.optimizer.physical import AUTO, Physical
from penstock.plan import nodes
from penstock.plan.row_windows import counted_stream
from penstock.windows import Cumulating, EndedByRows, Landmark, Partitioned, Session, Sliding

#: The baselines that keep rows.
BUFFERING = ("buffering", "buffering_incremental")


def lower_window_aggregate(node: nodes.WindowAggregate, aggregation: str = AUTO) -> Physical:
    if node.has_several_windows:
        return lower_align_windows(node)
    if node.emit is not None:
        return lower_emitting(node, node.emit)
    on_panes = paned(node, aggregation)
    if on_panes is not None:
        return on_panes
    in_two_levels = two_level(node, aggregation)
    if in_two_levels is not None:
        return in_two_levels
    results = tuple((result.name, result.aggregate) for result in node.results)
    if aggregation == "adapt" and isinstance(node.window, Sliding):
        return Physical(
            (partial(Bucket, node.window), partial(AdaptWid, node.groups, results, node.window)),
            ("Bucket", "AdaptWid"),
            "asked for; per group partial aggregates or rows, whichever takes less memory",
        )
    if aggregation in BUFFERING and isinstance(node.window, Sliding):
        return _lower_buffering(node, node.window, aggregation)
    match node.window:
        case Sliding() | Cumulating() as window:
            return Physical(
                (partial(Bucket, window), partial(WidAggregate, node.groups, results, window)),
                ("Bucket", "WidAggregate"),
                "ids follow from the row alone; one partial aggregate per group and open window"
                + _not_adapted(node, aggregation),
            )
        case Landmark() as window:
            return Physical(
                (partial(Bucket, window), partial(LandmarkAggregate, node.groups, results, window)),
                ("Bucket", "LandmarkAggregate"),
                "one partial aggregate per group and open step, and one of everything before",
            )
        case EndedByRows() as window:
            return Physical(
                (partial(Bucket, window), partial(BinsAggregate, node.groups, results, window)),
                ("Bucket", "BinsAggregate"),
                "rows yet to come decide where windows end; one bin per place where it can change",
            )
        case Partitioned() as window:
            return Physical(
                (partial(PartitionedAggregate, node.groups, results, window),),
                ("PartitionedAggregate",),
                "each partition counts its own rows; one partial aggregate per group and pane",
            )
        case Session() as window:
            return Physical(
                (partial(SessionAggregate, node.groups, results, window),),
                ("SessionAggregate",),
                "one partial aggregate per group and piece of a session, joined when it is over",
            )
    raise PenstockBug(f"no operator for {type(node.window).__name__} windows")


def _lower_buffering(node: nodes.WindowAggregate, window: Sliding, aggregation: str) -> Physical:
    results = tuple((result.name, result.aggregate) for result in node.results)
    operator: type[Buffering] = Buffering
    reason = "asked for; a baseline: rows are kept, and each window is computed from its own"
    if aggregation == "buffering_incremental":
        if all(result.aggregate.is_invertible for result in node.results):
            operator = BufferingIncremental
            reason = "asked for; a baseline: windows change by the rows that come and that leave"
        else:
            reason += ", since not all of the functions can be taken away again"
    return Physical(
        (partial(Bucket, window), partial(operator, node.groups, results, window)),
        ("Bucket", operator.__name__),
        reason,
    )


def goes_beyond_rows(node: nodes.WindowAggregate) -> bool:
    """Whether rows are also in windows that end after the last row: see `UpToLastRow`."""
    window = node.window
    return (
        isinstance(window, Sliding)
        and window.range > window.slide
        and not node.has_several_windows
        and counted_stream(node) is not None
    )


def watches_sources(node: nodes.Node, union: str, aggregation: str) -> bool:
    """Whether rows that come out of a union have to say by which input they came."""
    return (
        aggregation == "adapt"
        and union == "meld"
        and isinstance(node, nodes.WindowAggregate)
        and node.emit is None
        and not node.has_several_windows
        and isinstance(node.window, Sliding)
        and isinstance(node.input, nodes.Union)
    )


def _not_adapted(node: nodes.WindowAggregate, aggregation: str) -> str:
    """Why it is not AdaptWID that was chosen, where it could have been."""
    if aggregation != AUTO or not node.groups or not isinstance(node.window, Sliding):
        return ""
    return "; AdaptWID takes less where most groups have few rows"
