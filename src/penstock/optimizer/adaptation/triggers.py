"""Triggers: whether it is time to look for another plan, and why.

    trigger    looks when
    interval   so many seconds have passed, and rates or selectivities are no longer those by which
               the plan was chosen
    memory     what is stored comes near the limit
    queues     the rows that wait in front of the join rise from look to look
    inside     the rows that pass between its operators do: a bad order high up in a tree shows in
               front of it very late

A queue that has jumped once is a burst, not a trend, and no plan helps against it.
Spec: dynamic-optimization 6.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

#: How near to the limit memory may come, as a share.
NEAR = 0.9
#: So many looks in a row must each find more rows waiting than the one before.
RISES = 3
#: One look that finds more than this share of the whole rise has found a burst.
BURST = 0.8


@dataclass(frozen=True)
class JoinLoad:
    """What a look finds; `at` is when, in seconds of the host's clock.

    `drift` is how far rates and selectivities have gone since the plan was chosen, as a factor
    (`plan_history.drift`).
    """

    at: float
    drift: float
    memory: float = 0.0
    waiting: float = 0.0  # rows in front of the join
    inside: float = 0.0  # rows between its operators, a second


@dataclass(frozen=True)
class TriggerReason:
    """Why a plan is looked for; `is_urgent`: resources are short already."""

    text: str
    is_urgent: bool = False


@dataclass(frozen=True)
class Triggers:
    """`interval` in seconds, `drift` as a factor, `memory` in the unit of the costs."""

    interval: float = 10.0
    drift: float = 1.5
    memory: float = float("inf")

    def reason(self, seen: Sequence[JoinLoad], since: float) -> TriggerReason | None:
        """Why to look for another plan now, by the latest loads; None: there is no reason to.

        `since` is when a plan was looked for last.
        """
        now = seen[-1]
        if self.is_short(now.memory):
            share = now.memory / self.memory
            return TriggerReason(f"what is stored takes {share:.0%} of its limit", is_urgent=True)
        if is_rising([load.waiting for load in seen]):
            return TriggerReason("more and more rows wait in front of the join", is_urgent=True)
        if is_rising([load.inside for load in seen]):
            return TriggerReason("more and more rows pass between its operators", is_urgent=True)
        if now.at - since >= self.interval and now.drift >= self.drift:
            return TriggerReason(
                f"rates or selectivities have changed by a factor of {now.drift:.3g}"
            )
        return None

    def is_short(self, memory: float) -> bool:
        """Whether so much comes near the limit."""
        return memory > NEAR * self.memory


def is_rising(queue: Sequence[float]) -> bool:
    """Whether a queue has risen steadily, look by look.

    >>> is_rising([10, 20, 31, 45]), is_rising([10, 11, 12, 500]), is_rising([10, 30, 20, 40])
    (True, False, False)
    """
    last = queue[-(RISES + 1) :]
    steps = [later - before for before, later in pairwise(last)]
    if len(steps) < RISES or min(steps) <= 0:
        return False
    return max(steps) <= BURST * sum(steps)
