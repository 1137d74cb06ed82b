"""AliveGraphs: kernel graphs that a Python worker keeps between micro-batches.

Spark hands a group to one worker now and to another then, and queries end while their workers go on
with others. So a graph that nobody has asked for in a while is let go, with all the state that it
holds: whoever asks later gets it from the state store. Spark ends workers of its own accord that
had nothing to do for as long.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.spark.catching_up.group_hosts import GroupHosts

#: Seconds after which Spark ends a worker that has nothing to do.
IDLE = 60.0


class AliveGraphs:
    """By query and group, a graph, and the token of the state that it was left with."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._graphs: dict[tuple[str, int], tuple[float, str, GroupHosts]] = {}

    def __len__(self) -> int:
        return len(self._graphs)

    def take(self, query: str, group: int, token: str | None) -> GroupHosts | None:
        """The graph of a group, if it was left with this token; it is not kept any longer."""
        self._forget_idle()
        _, left, host = self._graphs.pop((query, group), (0.0, "", None))
        return host if token is not None and left == token else None

    def leave(self, query: str, group: int, token: str, host: GroupHosts) -> None:
        self._graphs[query, group] = (self._clock(), token, host)

    def forget_others(self, running: Collection[str]) -> None:
        """Let go the graphs of queries that are not among these."""
        for key in [key for key in self._graphs if key[0] and key[0] not in running]:
            del self._graphs[key]

    def _forget_idle(self) -> None:
        since = self._clock() - IDLE
        for key in [key for key, (left, _, _) in self._graphs.items() if left < since]:
            del self._graphs[key]
