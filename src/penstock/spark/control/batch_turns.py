"""BatchTurns: which batch is over, for whoever waits for one that has begun."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

#: Seconds to wait for a running batch before it is cut off; it is repeated at the next start.
PATIENCE = 60.0
#: Seconds between two looks whether Spark has committed a batch: nobody tells.
_POLL = 0.005


#: Whether this thread delivers a batch of some pipeline.
_HERE = threading.local()


def delivers() -> bool:
    """Whether this thread delivers a batch: it must not wait for one."""
    return getattr(_HERE, "delivers", False)


class BatchTurns:
    """The batches of one pipeline, of which `finished` is the last that was over when it began."""

    def __init__(self, finished: int) -> None:
        self._over = finished
        self._told = threading.Condition()

    @property
    def last_over(self) -> int:
        """The last batch that is over, -1 if none is."""
        return self._over

    @contextmanager
    def delivering(self) -> Iterator[None]:
        """This thread delivers a batch."""
        _HERE.delivers = True
        try:
            yield
        finally:
            _HERE.delivers = False

    def over(self, batch: int) -> None:
        """A batch is over."""
        with self._told:
            self._over = max(self._over, batch)
            self._told.notify_all()

    def wait_until_over(
        self,
        batch: int,
        is_active: Callable[[], bool],
        is_noted: Callable[[], bool],
        seconds: float = math.inf,
    ) -> bool:
        """Until a batch that has begun is over, and something is noted when Spark has committed it.

        Gives whether it is. So many seconds at the most, unless the pipeline ends before. Whoever
        delivers a batch, of whatever pipeline, does not wait: another one may wait for that.
        """
        end = time.monotonic() + seconds

        def waits() -> bool:
            return not delivers() and is_active() and time.monotonic() < end

        with self._told:
            while self._over < batch and waits():
                self._told.wait(0.1)
        while not is_noted():
            if not waits():
                return False
            time.sleep(_POLL)
        return True
