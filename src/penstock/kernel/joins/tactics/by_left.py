"""What tactics share whose results come in the order of the left timestamp.

A result leaves when no earlier one can come: when the left input is past its left row, and the
right one past all partners of that. So what is still to come has a left timestamp behind `whole`,
and its right one lies within the band of that.  Spec: window-queries 6.5.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.kernel.joins.tactics.tactic import Tactic
from penstock.kernel.progress.release import Waiting

if TYPE_CHECKING:
    from penstock.kernel.joins.window_join import WindowJoin


class ByLeft(Tactic):
    """Results leave in the order of the left timestamp; subclasses say what waits."""

    def whole(self, join: WindowJoin) -> int:
        """Left rows below have all their partners."""
        return join.inputs.reach.output_bound(0, join.state.reached)

    def complete(self, join: WindowJoin) -> Sequence[int]:
        return [self.whole(join), join.state.reached[1]]

    def waiting(self, join: WindowJoin, time: int, *, certain: bool) -> Waiting:
        """A result with a left row of that time."""
        needs = join.inputs.needs(join.inputs.reach.needed(0, time + 1))
        return Waiting(needs, join.inputs.least_times(0, time), certain)

    def needed(self, join: WindowJoin, port: int, bound: int) -> Sequence[int]:
        reach = join.inputs.reach
        if port == 0:
            return reach.needed(0, bound)
        left, right = reach.needed(0, reach.needed(1, bound)[0])
        return left, max(right, bound)
