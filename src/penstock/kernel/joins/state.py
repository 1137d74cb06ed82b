"""JoinState: what a window join keeps, whichever tactic it follows.

Which tables there are depends on the inputs and on the tactic: stored rows of each input, rows that
wait to be joined, rows that may turn out to have no partner, results that wait.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, make_dataclass
from typing import Any

from penstock.kernel.joins.keys import HASHED_BY
from penstock.kernel.segments import SegmentTable, table
from penstock.kernel.state import State
from penstock.model.timestamps import BEGINNING


@dataclass
class JoinState(State):
    """Facts that all have; lists have an entry for each input."""

    reached: list[int]  # how far an input has come
    bounds: list[int]  # nothing below is joined any more
    sent: list[int]  # bounds that were sent on
    # bounds on single keys, by key pattern: what came, and what was sent on
    keyed: list[dict[str, int]]
    keyed_sent: list[dict[str, int]]
    left_below: list[int]  # rows without a partner below have left
    numbered: int = 0  # rows that it must be known of whether they have met a partner
    hashed_by: str = HASHED_BY
    noted: dict[str, Any] = field(default_factory=dict)  # by the tactic
    # further columns that progress, as results call them: what came, and what was sent on
    carried: dict[str, int] = field(default_factory=dict)
    carried_sent: dict[str, int] = field(default_factory=dict)
    # the latest of several times: what each input said of its own, and what was sent on
    latest: list[dict[str, int]] = field(default_factory=list)
    latest_sent: dict[str, int] = field(default_factory=dict)
    # rows of an input below may have been forgotten, or were never stored
    forgotten: list[int] = field(default_factory=list)

    def table(self, name: str) -> SegmentTable:
        found: SegmentTable = getattr(self, name)
        return found

    @property
    def trigger(self) -> int:
        """All inputs have come this far."""
        return min(self.reached)


def join_state(ports: int, tables: Mapping[str, str]) -> JoinState:
    """A state with these tables: name -> the column that tells its rows' time."""
    fields = [(name, SegmentTable, table(on)) for name, on in tables.items()]
    made: JoinState = make_dataclass("JoinState", fields, bases=(JoinState,))(
        *([BEGINNING] * ports for _ in range(3)),
        *([{} for _ in range(ports)] for _ in range(2)),
        [BEGINNING] * ports,
    )
    made.latest = [{} for _ in range(ports)]
    made.forgotten = [BEGINNING] * ports
    return made
