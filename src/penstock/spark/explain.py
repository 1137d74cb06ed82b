"""What `explain` says of queries on Spark.

The operators of a pipeline with all its queries, by what their streams are partitioned, and whether
there is state.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from penstock.catalog.catalog import StreamEntry
from penstock.errors import NotExecutable
from penstock.optimizer.explain import explain_program
from penstock.optimizer.physical import Program, from_json
from penstock.plan.explain import explain_graph
from penstock.spark.exchange.preaggregation import preaggregations
from penstock.spark.placement.partitioning import PartitionKeys
from penstock.spark.placement.pipeline_groups import PipelineGroup


def explain_planned(group: PipelineGroup, streams: Iterable[StreamEntry]) -> str:
    """A pipeline that is not started; `streams` are all that are declared."""
    try:
        return explain_pipeline(group, group.program(streams))
    except NotExecutable as error:
        return f"{explain_graph(group.queries)}\n\n{error.message}"


def explain_pipeline(
    group: PipelineGroup, program: Program, came: Mapping[str, str] = MappingProxyType({})
) -> str:
    """What a pipeline runs, and how; `came` says of queries that joined it since when they run."""
    lines = [f"Pipeline of {', '.join(group.queries)}"]
    if group.apart:
        lines.append(f"  a pipeline of its own: {group.apart}")
    lines += [f"  {name} {text}" for name, text in came.items()]
    if not (form := group.form(program)).has_groups:
        lines.append(f"  no state: {form.reason}, and tasks that read them compute the results")
    else:
        early = preaggregations(program.live, group.keys)
        for stream, keys in group.keys.items():
            spread = _SMALL if group.is_small else _spread(keys)
            # Where a query wants the rows, it depends on where its results go.
            folded = stream in early and not early[stream].queries
            lines.append(f"  {stream}: {spread}{_FOLDED if folded else ''}")
        if all(keys is None for keys in group.keys.values()):
            lines.append(f"  state: {form.reason}")
    lines += _computed(program)
    return "\n\n".join([explain_program(program.plans), "\n".join(lines)])


def _computed(program: Program) -> Iterator[str]:
    """What Spark computes of rows before the kernel has them, and of results behind it."""
    for stream in program.streams:
        for each in stream.computed:
            yield f"  {stream.name}: Spark computes in front of the exchange {each}"
    for name, after in program.on_results.items():
        for line in after.lines():
            yield f"  {name}: Spark computes on result rows {line}"


def explain_changed(groups: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What groups run by now instead; those with the same operators are explained together."""
    plans = [from_json(group) for group in groups]
    for each, count in Counter(frozenset(found.items()) for found in plans).items():
        of = f"{count} group{'s' * (count > 1)}"
        shown = explain_program(dict(sorted(each, key=lambda found: found[0])))
        yield f"Chosen again while running, by {of}:\n\n{shown}"


_FOLDED = "; rows are aggregated where they are read, if many become one"
_SMALL = "not partitioned: there is little to read, and nothing comes later"


def _spread(keys: PartitionKeys) -> str:
    if keys is None:
        return "no partitioning needed"
    if not keys:
        return "not partitioned: the query has no GROUP BY or join key"
    return f"partitioned by {', '.join(keys)}"
