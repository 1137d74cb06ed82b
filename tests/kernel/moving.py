"""State that goes from one operator to another, as every host saves and restores it."""

from __future__ import annotations

from penstock.kernel.graph import Graph
from penstock.kernel.state import State
from penstock.runtime.snapshot import Snapshot


def saved(state: State) -> Snapshot:
    """What it is now: plain data, which does not change with it."""
    return Snapshot.of([("state", state)], Graph())


def restore(state: State, snapshot: Snapshot) -> None:
    """Put what was saved in place of what is there."""
    snapshot.put_into([("state", state)], Graph())


def move(before: State, after: State) -> None:
    """Go on with another one."""
    restore(after, saved(before))
