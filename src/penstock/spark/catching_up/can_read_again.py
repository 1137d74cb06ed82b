"""Which queries can read again what came, in a pipeline that runs, and why others cannot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from penstock.io.unreadable import skips_unreadable
from penstock.kernel.joins.tsm_join import TSM
from penstock.model.schema import ROW_NUM
from penstock.model.streams import Stream
from penstock.optimizer.optimize import optimize
from penstock.optimizer.options import Options
from penstock.optimizer.specs import MergeSpec, WindowJoinSpec
from penstock.plan import nodes
from penstock.plan.graph import columns_used, streams_of
from penstock.plan.nodes import Node
from penstock.spark.sources.direct_files import is_direct

#: Options by which files go, or are forgotten.
_FORGETTING = ("cleansource", "maxfileage")


def why_not_again(
    plan: Node, options: Options, there: Mapping[str, Stream] = MappingProxyType({})
) -> str:
    """Why a query cannot read what came before it; empty: it can, if the files are there.

    `there` are the streams as a pipeline reads them.
    """
    for name, stream in streams_of(plan).items():
        if reason := _why_not(there.get(name, stream)) or _why_not(stream):
            return reason
    for node, used in columns_used([plan]).items():
        if isinstance(node, nodes.Source) and ROW_NUM in used:
            return f"it counts rows of `{node.stream.name}`, in the order in which they come"
    for each in optimize({"": plan}, options).operators:
        is_join = isinstance(each.spec, WindowJoinSpec) and each.spec.tactic == TSM.name
        if is_join or isinstance(each.spec, MergeSpec):
            return "rows wait in front of its operators, in the order of time"
    return ""


def why_gone(stream: str, files: Iterable[str]) -> str:
    """Why not all these files can be read again; empty: they can."""
    gone: Sequence[str] = [file for file in files if not Path(file).exists()]
    return f"`{gone[0]}` of `{stream}` is gone" if gone else ""


def _why_not(stream: Stream) -> str:
    if not is_direct(stream):
        return f"`{stream.name}` is not read from files of this machine by the tasks themselves"
    for option, _ in stream.origin.options:
        if option.lower() in _FORGETTING:
            return f"with `{option}`, what was read of `{stream.name}` is not kept"
    if skips_unreadable(stream):
        return f"a file of `{stream.name}` that was skipped may come again later"
    if stream.timing.max_ahead is not None:
        return f"rows of `{stream.name}` are measured by the clock (MAX AHEAD)"
    return ""
