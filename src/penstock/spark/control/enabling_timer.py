"""EnablingTimer: has silent streams asked, after each batch and while nothing comes."""

from __future__ import annotations

import threading
from collections.abc import Callable

from py4j.protocol import Py4JError

from penstock.errors import HostError
from penstock.model.timestamps import SECOND
from penstock.spark.control.control_stream import ControlStream
from penstock.spark.control.driver_enabling import DriverEnabling
from penstock.spark.control.spark_progress import BatchTimes
from penstock.spark.delivery.delivery import BatchReport

#: Seconds between two looks at the clock while nothing comes.
PAUSE = 0.25
#: Seconds between two looks whether a batch is over that has put out its results.
POLL = 0.02


class EnablingTimer:
    """Asks the streams of one pipeline, after each batch and while nothing comes.

    `over` gives the last batch that is over.
    """

    def __init__(
        self,
        enabling: DriverEnabling,
        control: ControlStream,
        over: Callable[[], BatchTimes | None],
        clock: Callable[[], int],
    ) -> None:
        self._enabling = enabling
        self._control = control
        self._over = over
        self._clock = clock
        self._lock = threading.RLock()
        self._reported = self._known_over = -1
        self._failure: Exception | None = None
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="penstock-enabling", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def report(self, report: BatchReport) -> None:
        """Take note of what a batch came to; new bounds are sent before the next one begins."""
        with self._lock:
            self._reported = report.batch
            self._enabling.take_report(report, self._clock())
            if self._enabling.is_prompt:
                self._ask()

    def check(self) -> None:
        """Raise what has ended it before its time: silent streams would hold results for ever."""
        if self._failure is not None:
            raise HostError(
                f"enabling timestamps for silent streams cannot be written: {self._failure}",
                hint="fix that and start again: a restart continues where it stopped",
            ) from self._failure

    def stop(self) -> None:
        """Ask nobody any more."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(POLL if self._known_over < self._reported else PAUSE):
            try:
                with self._lock:
                    self._step()
            except (Py4JError, ConnectionError):
                return  # the session is gone, and whoever uses the query sees it
            except Exception as cause:
                self._failure = cause  # nobody waits for this thread: `check` tells of it
                return

    def _step(self) -> None:
        if self._known_over < self._reported:
            times = self._over()
            if times is None or times.batch < self._reported:
                return
            self._known_over = times.batch
            self._enabling.over(times)
            self._control.forget(times.began / SECOND)
        self._ask()

    def _ask(self) -> None:
        made = None if self._stopped.is_set() else self._enabling.bounds_at(self._clock())
        if made is not None:
            self._control.send(made)
