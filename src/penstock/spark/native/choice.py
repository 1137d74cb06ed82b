"""Native or kernel: which of the two lowerings a pipeline gets, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.catalog.settings import SETTINGS
from penstock.errors import NotExecutable
from penstock.optimizer.options import Options
from penstock.plan.graph import streams_of, walk
from penstock.plan.nodes import Node, Union
from penstock.spark.native.lowering import objection

NATIVE, KERNEL = "native", "kernel"


@dataclass(frozen=True)
class Choice:
    """A lowering and the reason for it."""

    lowering: str
    reason: str


def choose(
    queries: Mapping[str, Node], options: Options, rejecting: Mapping[str, str] | None = None
) -> Choice:
    """The lowering for queries that share a pipeline.

    `rejecting` says of streams why their rows may be rejected (`sources/rejecting.py`).
    """
    wanted = options.lowering
    if wanted == KERNEL:
        return Choice(KERNEL, "as set by SET lowering")
    if len(queries) > 1:
        return Choice(KERNEL, f"{', '.join(queries)} share their streams and operators")
    ((name, plan),) = queries.items()
    against = next(iter(rejecting.values())) if rejecting else objection(plan)
    against = against or _derives_columns(plan) or _not_honoured(plan, options)
    if against is not None and wanted == NATIVE:
        raise NotExecutable(
            f"`{name}` cannot run as Spark SQL alone: {against}",
            hint="SET lowering = auto runs it in the kernel",
        )
    if against is not None:
        return Choice(KERNEL, against)
    if wanted == NATIVE:
        return Choice(NATIVE, "as set by SET lowering")
    return Choice(KERNEL, "faster than as Spark SQL alone, and results leave a batch sooner")


def _derives_columns(plan: Node) -> str | None:
    """A stream with columns that the kernel derives from others."""
    streams = streams_of(plan).values()
    derived = next((each for stream in streams for each in stream.derived), None)
    return None if derived is None else f"the kernel computes column `{derived.name}`"


def _not_honoured(plan: Node, options: Options) -> str | None:
    """What is set and would do nothing if Spark SQL alone computed the query."""
    unites = any(isinstance(node, Union) for node in walk(plan))
    for each in SETTINGS.values():
        if each.not_native is None or (each.name == "union" and not (unites and options.merges)):
            continue
        if getattr(options, each.name) != each.default:
            return f"`SET {each.name}` needs the kernel ({each.not_native})"
    return None
