"""Recipients: who gets the results of a query, batch by batch.

Queries come and go while batches are under way. A batch that has begun is delivered to those who
were there when it began, so that whoever goes gets all that was computed for it, and whoever comes
nothing that was computed for another query of its name.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.plan.nodes import Node
from penstock.plan.on_results import OnResults
from penstock.spark.delivery.batch_sink import BatchSink
from penstock.spark.delivery.outputs import Held

if TYPE_CHECKING:
    from penstock.spark.query import SparkQuery


@dataclass(frozen=True)
class Recipient:
    """A query's handle, what it computes, and where its results are written, if anywhere.

    `held` is the place that they are written to, where anything stays there; `after` what Spark
    computes of them before.
    """

    query: SparkQuery
    plan: Node
    into: BatchSink | None = None
    held: Held | None = None
    after: OnResults | None = None


class Recipients:
    """By name, the recipients from some batch on; None: nobody."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # whoever changes queries is another thread than batches
        self._since: dict[str, dict[int, Recipient | None]] = {}

    def change(self, name: str, batch: int, recipient: Recipient | None) -> None:
        """Deliver to somebody else from a batch on, which has not begun."""
        with self._lock:
            self._since.setdefault(name, {})[batch] = recipient

    def of(self, batch: int) -> dict[str, Recipient]:
        """Who gets the results of a batch."""
        with self._lock:
            found = {name: _at(since, batch) for name, since in self._since.items()}
        return {name: each for name, each in found.items() if each is not None}

    def last(self) -> dict[str, Recipient]:
        """Who gets results in the end."""
        with self._lock:
            found = {name: since[max(since)] for name, since in self._since.items()}
        return {name: each for name, each in found.items() if each is not None}

    def gone(self, batch: int) -> list[tuple[str, Recipient, Recipient | None]]:
        """Those who got the results of earlier batches and none from this one on; once.

        With their names, and who has come in their place.
        """
        found = []
        with self._lock:
            for name, since in list(self._since.items()):
                now = max((n for n in since if n <= batch), default=None)
                if now is None:
                    continue
                before = [since.pop(number) for number in sorted(since) if number < now]
                if len(since) == 1 and since[now] is None:
                    del self._since[name]
                found += [(name, each, _at(since, batch)) for each in before if each is not None]
        return found


def _at(since: dict[int, Recipient | None], batch: int) -> Recipient | None:
    numbers = [number for number in since if number <= batch]
    return since[max(numbers)] if numbers else None
