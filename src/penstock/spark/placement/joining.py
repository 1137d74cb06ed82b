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
from penstock.optimizer.optimize import since_in_state
from penstock.optimizer.options import Options
from penstock.optimizer.physical import since_of
from penstock.plan.graph import streams_of
from penstock.spark.catching_up.standing import why_not_again_there
from penstock.spark.next_program import Coming

if TYPE_CHECKING:
    from penstock.spark.query import SparkQuery
    from penstock.spark.running_pipeline import RunningPipeline


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
    is_again = entry.begin is Begin.START
    own = None if replaced is None else replaced.pipeline
    streams = streams_of(entry.plan).keys()
    reading = [each for each in pipelines if each.group.keys.keys() & streams]
    reasons = []
    for each in sorted(reading, key=lambda each: each is not own):
        reason = each.why_apart(entry.plan, options)
        if is_again and not reason and (reason := why_not_again_there(each, entry.plan, options)):
            reason = f"it begins FROM START, and {reason}"
        if not reason:
            since = _since(entry, options, each, replaced if each is own else None)
            return Joining(each, Coming(entry.plan, since, options, is_again))
        reasons.append(f"not beside {', '.join(each.group.queries)}: {reason}")
    if reasons and entry.begin in (Begin.NOW, Begin.STATE):
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
    if entry.begin is Begin.START:
        return -pipeline.next_change  # others that come with it see what comes
    if entry.begin is Begin.STATE:
        found = since_in_state(entry.plan, options, program.live.plans)
        return pipeline.next_change if found is None else found
    if entry.begin is None and replaced is not None:
        return since_of(program.plans[replaced.name])
    return pipeline.next_change
