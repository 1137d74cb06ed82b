"""Short lines on stderr: what set-up is doing, and for how long.

On a terminal the line of the step under way is rewritten in place; in a log it would become
hundreds of lines, so there it is repeated only every few seconds.
"""

from __future__ import annotations

import math
import subprocess
import time
from collections.abc import Callable
from typing import TextIO

POLL_SECONDS = 0.2
QUIET_SECONDS = 5.0  # between two lines about one step, where lines cannot be rewritten


class Progress:
    """Tells what is going on; `say` for what is done, `step` for what is under way."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._rewrites = out.isatty()
        self._begun = self._spoken = time.monotonic()
        self._pending = ""

    @property
    def seconds(self) -> int:
        """Whole seconds since set-up began."""
        return int(time.monotonic() - self._begun)

    def say(self, text: str) -> None:
        """A line that stays."""
        self._erase()
        self._write(f"penstock: {text}\n")

    def step(self, text: str) -> None:
        """The state of the step under way; call it as often as you like."""
        if self._rewrites:
            self._erase()
            self._pending = f"penstock: {text}, {self.seconds} s"
            self._write(self._pending)
        elif time.monotonic() - self._spoken >= QUIET_SECONDS:
            self._write(f"penstock: {text}, {self.seconds} s\n")

    def wait_for(
        self, process: subprocess.Popen[bytes], state: Callable[[], str], limit: float = math.inf
    ) -> None:
        """Tell the state of a process until it ends; one that takes longer is ended, as we are."""
        begun = time.monotonic()
        try:
            while process.poll() is None and time.monotonic() - begun < limit:
                self.step(state())
                time.sleep(POLL_SECONDS)
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()

    def _erase(self) -> None:
        if self._pending:
            self._write("\r" + " " * len(self._pending) + "\r")
            self._pending = ""

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()
        self._spoken = time.monotonic()
