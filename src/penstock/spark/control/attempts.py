"""A Spark query that is started again until its first batch has got through.

Before the first batch of a query Spark starts a Python of its own on the driver's side and gives it
ten seconds, which cannot be set; no task is at work yet, so none is tried again. On a busy machine
that ends a query that is quite all right. As long as no batch has come through, nothing is lost by
starting it again from its checkpoint.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql.streaming.query import StreamingQuery

from penstock.spark.failures import is_slow_worker

#: How often a query is started again. Of 33 starts 23 failed on a machine with ten times the load
#: that it has cores for.
RETRIES = 20
#: Seconds between two looks.
POLL = 0.1

T = TypeVar("T")

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

    def process_available(self) -> None:
        """Wait until everything that is there now has been processed."""
        self._of_the_last(lambda query: query.processAllAvailable())

    def await_termination(self, timeout: float | None = None) -> bool:
        """Wait until the query has ended, so many seconds; gives whether it has."""
        end = None if timeout is None else time.monotonic() + timeout

        def wait(query: StreamingQuery) -> bool:
            left = None if end is None else max(0, math.ceil(end - time.monotonic()))
            return bool(query.awaitTermination(left))

        return self._of_the_last(wait)

    def exception(self) -> StreamingQueryException | None:
        """What the query has failed with for good."""
        query = self.query
        cause = query.exception()
        return None if cause is not None and self.replaces(query) else cause

    def replaces(self, query: StreamingQuery) -> bool:
        """Whether a query that has failed was started again; waits until that is known."""
        while self.query is query and not self._settled.wait(POLL):
            pass
        return self.query is not query

    def _of_the_last(self, do: Callable[[StreamingQuery], T]) -> T:
        """What is done with the query, and again with the one that replaces it."""
        while True:
            query = self.query
            try:
                return do(query)
            except StreamingQueryException:
                if not self.replaces(query):
                    raise

    def _watch(self) -> None:
        left = RETRIES
        try:
            while not self._settled.wait(POLL):
                if self.query.isActive:
                    continue
                cause = self.query.exception()
                if cause is None or not is_slow_worker(str(cause)) or not left:
                    break
                left -= 1
                self._again()
        except (PySparkException, Py4JError):
            pass  # whoever uses the query sees it
        except Exception:
            _LOG.exception("%s: the query could not be started again", self._name)
        finally:
            self._settled.set()  # else whoever waits for a further attempt would wait for ever

    def _again(self) -> None:
        with self._lock:
            if not self._settled.is_set():
                _LOG.warning(
                    "%s: Spark gave up on a Python worker that took more than 10 s to start; "
                    "the machine is busy. Starting the query again.",
                    self._name,
                )
                self.query = self._start()
