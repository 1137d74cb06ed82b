"""PipelineStops: pipelines whose last query was dropped, until the batch that runs there is over.

A thread stops each. Whatever may need a place that one of them has waits for all.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from penstock.errors import HostError
from penstock.spark.changing import PATIENCE
from penstock.spark.control.batch_turns import delivers

if TYPE_CHECKING:
    from penstock.spark.running_pipeline import RunningPipeline

_LOG = logging.getLogger("penstock")


class PipelineStops:
    """Those of one engine that are under way."""

    def __init__(self) -> None:
        self._threads: list[threading.Thread] = []

    def stop(self, running: RunningPipeline) -> Callable[[], str]:
        """Stop a pipeline; gives what waits for that a moment, and says whether it goes on."""
        failures: list[HostError] = []
        is_told = threading.Event()

        def stop() -> None:
            try:
                running.stop()
            except HostError as failure:
                failures.append(failure)
                if is_told.is_set():
                    _LOG.warning("%s", failure)

        thread = threading.Thread(target=stop, name="penstock-drop", daemon=True)
        thread.start()
        self._threads = [each for each in self._threads if each.is_alive()] + [thread]

        def wait() -> str:
            thread.join(0 if delivers() else PATIENCE)
            is_told.set()
            if failures:
                raise failures[0]
            names = ", ".join(running.group.queries)
            return f"{names} ends with the micro-batch that runs" if thread.is_alive() else ""

        return wait

    def wait(self) -> None:
        """Until all have stopped; a thread that delivers a batch waits for none."""
        for thread in [] if delivers() else self._threads:
            thread.join()
