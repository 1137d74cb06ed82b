"""What `explain` says of queries on Spark: which run together, native or in the kernel, and by what
their streams are spread over partition groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.catalog.catalog import StreamEntry
from penstock.catalog.settings import Settings
from penstock.errors import NotExecutable
from penstock.io.iterables import FORMAT as ITERABLE
from penstock.plan.nodes import Node
from penstock.spark.native.choice import LATE_INTO, MAY_NOT_FIT, NATIVE, choose
from penstock.spark.placement.partitioning import Keys
from penstock.spark.placement.pipeline_groups import PipelineGroup, assign_pipelines
from penstock.spark.sources.text_files import TEXT_FORMATS, sets_rows_aside


def explain_pipelines(
    queries: Mapping[str, Node], settings: Settings, aside: Mapping[str, str] | None = None
) -> str:
    """One paragraph per pipeline; `settings` and `aside` as in `choose`."""
    shares = assign_pipelines(queries)
    return "\n\n".join(_pipeline(share, settings, aside or {}) for share in shares)


def may_set_aside(streams: Iterable[StreamEntry]) -> dict[str, str]:
    """Streams whose rows may be set aside, as far as their declaration tells, and why."""
    found = {}
    for entry in streams:
        if entry.late is not None:
            found[entry.name] = LATE_INTO.format(name=entry.name)
        elif entry.stream.origin.format == ITERABLE or (
            entry.stream.origin.format in TEXT_FORMATS and sets_rows_aside(entry.stream)
        ):
            found[entry.name] = MAY_NOT_FIT.format(name=entry.name)
    return found


def _pipeline(share: PipelineGroup, settings: Settings, aside: Mapping[str, str]) -> str:
    mine = {name: why for name, why in aside.items() if name in share.keys}
    lines = [f"Pipeline of {', '.join(share.queries)}"]
    try:
        choice = choose(share.queries, settings, mine)
    except NotExecutable as error:
        return "\n".join([*lines, f"  {error.message}"])
    lines.append(f"  {choice}")
    if choice.lowering == NATIVE:
        lines.append("  spread by Spark's own shuffle")
    else:
        lines += (f"  {stream}: {_spread(keys)}" for stream, keys in share.keys.items())
    return "\n".join(lines)


def _spread(keys: Keys) -> str:
    if keys is None:
        return "rows are spread as they come: no operator lets them meet"
    if not keys:
        return "all rows in one group: they have no key in common by which to be spread"
    return f"spread by {', '.join(keys)}"
