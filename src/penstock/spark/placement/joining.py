"""Joining: which running pipeline a new query joins, and since when it sees rows there.

The first that suits it is taken, the one of the query that it replaces before others. Where none
does, it gets a pipeline of its own; `apart` then says why, pipeline by pipeline.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.catalog.catalog import QueryEntry
from penstock.errors import NotExecutable
from penstock.model.begin import Begin
from penstock.optimizer.optimize import since_in_state, since_of
from penstock.optimizer.options import Options
from penstock.plan.graph import streams_of
from penstock.spark.next_program import Coming

if TYPE_CHECKING:
    from penstock.spark.query import SparkQuery
    from penstock.spark.running_pipeline import RunningPipeline


#: It is not moved later. Its windows and the batches that its results are written under belong to
#: one Spark query, whose files of a batch are others than those of the running pipeline's; to hand
#: both over, two Spark queries would have to commit as one, or a kill in between loses or repeats.
FROM_START = (
    "it begins FROM START, and stays there when it has caught up: state and batches of a Spark "
    "query cannot be handed to another in one step"
)


@dataclass(frozen=True)
class Joining:
    """A pipeline, and how a query comes to it; no pipeline: why there is none."""

    pipeline: RunningPipeline | None = None
    coming: Coming | None = None
    apart: str = ""


def joining(
    entry: QueryEntry,
    options: Options,
    pipelines: Iterable[RunningPipeline],
    replaced: SparkQuery | None = None,
) -> Joining:
    """Where a query runs that was declared; NotExecutable if it cannot begin as it says."""
    if entry.begin is Begin.START:
        return Joining(apart=FROM_START)
    own = None if replaced is None else replaced.pipeline
    streams = streams_of(entry.plan).keys()
    reading = [each for each in pipelines if each.group.keys.keys() & streams]
    reasons = []
    for each in sorted(reading, key=lambda each: each is not own):
        reason = each.why_apart(entry.plan, options)
        if not reason:
            since = _since(entry, options, each, replaced if each is own else None)
            return Joining(each, Coming(entry.plan, since, options))
        reasons.append(f"not beside {', '.join(each.group.queries)}: {reason}")
    if reasons and entry.begin is not None:
        raise NotExecutable(
            f"query `{entry.name}` cannot begin FROM {entry.begin.name}: {'; '.join(reasons)}",
            hint="without FROM it gets a pipeline of its own, which reads its streams from their "
            "beginning",
        )
    return Joining(apart="; ".join(reasons))


def _since(
    entry: QueryEntry, options: Options, pipeline: RunningPipeline, replaced: SparkQuery | None
) -> int:
    """The change since which a query sees rows in a pipeline."""
    program = pipeline.program
    if entry.begin is Begin.STATE:
        found = since_in_state(entry.plan, options, program.plans)
        return pipeline.next_change if found is None else found
    if entry.begin is None and replaced is not None:
        return since_of(program.plans[replaced.name])
    return pipeline.next_change
