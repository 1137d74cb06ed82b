"""How a query comes to a pipeline that runs, and which of its windows are complete then.

An operator that ran before under the same fingerprint has kept what came to it. One that did not
begins without the rows of earlier batches, in a new query as in one that is computed in another way
from now on.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from penstock.model.timestamps import time_text
from penstock.optimizer.optimize import STATELESS
from penstock.optimizer.physical import PhysicalPlan, Program, walk
from penstock.plan.first_complete import first_complete
from penstock.plan.nodes import Node


class Kept(Enum):
    """How much of what a query needs was kept before it came."""

    NOTHING = "nothing"
    SOME = "some"
    ALL = "all"
    HANDED = "handed over"  # all of it, by operators that others take over from


def costs_of(plan: PhysicalPlan) -> list[float | None]:
    """What the operators of a plan are estimated to cost, where that decided for them."""
    return [each.cost for each in plan.walk()]


def how_kept(query: str, program: Program, before: Program) -> Kept:
    """How much of what a query of a program needs was kept under the one before."""
    plan = program.plans[query]
    if before.plans.get(query) in program.altered.get(query, ()):
        return Kept.HANDED
    needed = {each for each in plan.walk() if not isinstance(each.spec, STATELESS)}
    there = needed.intersection(walk(before.plans.values()))
    if not there:
        return Kept.NOTHING
    return Kept.ALL if there == needed else Kept.SOME


def came(plan: Node, batch: int, kept: Kept, newest: Mapping[str, int]) -> str:
    """Since when a query runs that came to a pipeline, and from when on its windows are whole.

    `newest` are the newest times of streams so far.
    """
    text = f"runs from batch {batch} on"
    if kept is Kept.ALL:
        return f"{text}, with what running queries have kept"
    if kept is Kept.HANDED:
        when = "with windows that have no rows yet"
        if first_complete(plan, newest) is None:
            when = "what others keep, or run beside them until that is not needed any more"
        return f"{text} by other operators, which take over {when}"
    if kept is Kept.SOME:
        text += ", with some of what running queries have kept"
    window = first_complete(plan, newest)
    if window is None:
        return f"{text}, and sees the rows from then on"
    first, end = map(time_text, window)
    return f"{text}; its first complete window is from {first} to {end}"
