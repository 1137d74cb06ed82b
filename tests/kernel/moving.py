"""State that goes from one operator to another, as every host saves and restores it."""

from __future__ import annotations

import json
from dataclasses import dataclass

from penstock.kernel.graph import Graph
from penstock.kernel.segments import Segment
from penstock.kernel.state import State, from_ipc, to_ipc
from penstock.runtime import snapshot
from penstock.runtime.snapshot import States


@dataclass(frozen=True)
class Snapshot:
    """Directory and segments in memory: JSON, and Arrow IPC by id."""

    directory: str
    segments: dict[int, bytes]

    @classmethod
    def of(cls, states: States, graph: Graph) -> Snapshot:
        directory, segments = snapshot.describe(states, graph)
        return cls(
            json.dumps(directory), {number: to_ipc(s.whole) for number, s in segments.items()}
        )

    def put_into(self, states: States, graph: Graph) -> None:
        """Go on from here in a graph of the same shape that has not run yet."""
        found, directory = dict(states), json.loads(self.directory)
        if found.keys() != directory["states"].keys():
            raise ValueError("saved state of another graph: the operators differ")

        def segment(number: int, purged: int) -> Segment:
            return Segment(from_ipc(self.segments[number]), number, purged)

        snapshot.restore(found.items(), graph, directory, segment)


def saved(state: State) -> Snapshot:
    """What it is now: plain data, which does not change with it."""
    return Snapshot.of([("state", state)], Graph())


def restore(state: State, kept: Snapshot) -> None:
    """Put what was saved in place of what is there."""
    kept.put_into([("state", state)], Graph())


def move(before: State, after: State) -> None:
    """Go on with another one."""
    restore(after, saved(before))
