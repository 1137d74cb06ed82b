"""Where the queries of a running pipeline stand that see everything, for whoever asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.optimizer.options import Options
from penstock.optimizer.physical import since_of
from penstock.plan.graph import streams_of
from penstock.plan.nodes import Node
from penstock.spark.catching_up.can_read_again import why_not_again
from penstock.spark.catching_up.catch_up import CaughtUp

if TYPE_CHECKING:
    from penstock.spark.running_pipeline import RunningPipeline


def why_not_again_there(running: RunningPipeline, plan: Node, options: Options) -> str:
    """Why a query cannot read again in a pipeline what came before it; empty: it can."""
    catch_up = running.pipeline.catch_up
    if catch_up is None:
        return "nothing there has partition groups, which would read it"
    streams, there = streams_of(plan).keys(), {each.name: each for each in running.program.streams}
    reason = why_not_again(plan, options, there)
    return reason or catch_up.why_not(streams, running.batches.last_over)


def caught_up(running: RunningPipeline, query: str) -> CaughtUp | None:
    """How far a query has caught up; None: it need not."""
    catch_up, program = running.pipeline.catch_up, running.program
    if catch_up is None or query not in program.plans:
        return None
    change = since_of(program.plans[query])
    is_behind = change in program.catching_up
    return catch_up.progress.get(change, CaughtUp(0, 0) if is_behind else None)


def how_they_came(running: RunningPipeline) -> dict[str, str]:
    """Of queries that came while a pipeline ran, or catch up: from when on, and what they see."""
    found = running.came | {name: text for name, (_, text) in running.coming.items()}
    for name in running.group.queries:
        at = caught_up(running, name)
        # One that has replaced it has other operators, which begin anew.
        if at is not None and (at.joined is None or name in running.from_start):
            found[name] = f"reads its streams from their beginning; {at}"
    return found
