"""A Spark query that is started again until its first batch has got through.

Before the first batch of a query Spark starts a Python of its own on the driver's side and gives it
ten seconds, which cannot be set; no task is at work yet, so none is tried again. On a busy machine
that ends a query that is quite all right. As long as no batch has come through, nothing is lost by
starting it again from its checkpoint.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql.streaming.query import StreamingQuery

from penstock.spark.failures import is_slow_worker

#: How often a query is started again.
RETRIES = 5
#: Seconds between two looks.
POLL = 0.1

_LOG = logging.getLogger("penstock")


class Attempts:
    """The query of a pipeline; `query` is the latest attempt, once there is one."""

    query: StreamingQuery

    def __init__(self, name: str, start: Callable[[], StreamingQuery]) -> None:
        self._name = name
        self._start = start
        self._settled = threading.Event()  # the latest attempt is the last
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._watch, name="penstock-start", daemon=True)

    def begin(self) -> None:
        self.query = self._start()
        self._thread.start()

    def settle(self) -> None:
        """A batch has got through, or nobody wants one any more: there are no further attempts."""
        with self._lock:
            self._settled.set()

    def replaces(self, query: StreamingQuery) -> bool:
        """Whether a query that has failed was started again; waits until that is known."""
        while self.query is query and not self._settled.wait(POLL):
            pass
        return self.query is not query

    def _watch(self) -> None:
        left = RETRIES
        while not self._settled.wait(POLL):
            try:
                if self.query.isActive:
                    continue
                cause = self.query.exception()
                if cause is None or not is_slow_worker(str(cause)) or not left:
                    break
                left -= 1
                self._again()
            except (PySparkException, Py4JError):
                break  # whoever uses the query hears of it
        self._settled.set()

    def _again(self) -> None:
        with self._lock:
            if not self._settled.is_set():
                _LOG.warning(
                    "%s: Spark gave up on a Python worker that took more than 10 s to start; "
                    "the machine is busy. Starting the query again.",
                    self._name,
                )
                self.query = self._start()
