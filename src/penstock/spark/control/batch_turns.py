"""BatchTurns: which batch is over, for whoever waits for one that has begun."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: Seconds to wait for a running batch before it is cut off; it is repeated at the next start.
PATIENCE = 60.0
#: Seconds between two looks whether Spark has committed a batch: nobody tells.
_POLL = 0.005


class BatchTurns:
    """The batches of one pipeline, of which `finished` is the last that was over when it began."""

    def __init__(self, finished: int) -> None:
        self._over = finished
        self._told = threading.Condition()
        self._delivering: int | None = None  # the thread that delivers one now

    @property
    def last_over(self) -> int:
        """The last batch that is over, -1 if none is."""
        return self._over

    @contextmanager
    def delivering(self) -> Iterator[None]:
        """This thread delivers a batch."""
        self._delivering = threading.get_ident()
        try:
            yield
        finally:
            self._delivering = None

    def over(self, batch: int) -> None:
        """A batch is over."""
        with self._told:
            self._over = max(self._over, batch)
            self._told.notify_all()

    def wait_until_over(
        self, batch: int, is_active: Callable[[], bool], is_noted: Callable[[], bool]
    ) -> None:
        """Until a batch that has begun is over, and something is noted when Spark has committed it.

        However long that takes, unless the pipeline ends. Whoever delivers the batch cannot wait.
        """

        def waits() -> bool:
            return self._delivering != threading.get_ident() and is_active()

        with self._told:
            while self._over < batch and waits():
                self._told.wait(0.1)
        while not is_noted() and waits():
            time.sleep(_POLL)
