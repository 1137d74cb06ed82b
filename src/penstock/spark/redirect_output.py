"""Spark's chatter goes to a file, not over the user's terminal.

The Java process and the Python workers below it write to whatever standard output and error they
were started with. So these are turned to a file while Spark starts, and back right after: what we
say ourselves is not touched. The file is named in errors, and removed at the end of a run that had
none.
"""

from __future__ import annotations

import atexit
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def redirect_output(log: Path) -> Iterator[None]:
    """Processes started inside write to `log`."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = [os.dup(1), os.dup(2)]
    with log.open("ab") as file:
        for place in (1, 2):
            os.dup2(file.fileno(), place)
        try:
            yield
        finally:
            for place, copy in zip((1, 2), kept, strict=True):
                os.dup2(copy, place)
                os.close(copy)


def new_log() -> Path:
    """A file for this process's Spark, gone when the process ends well."""
    handle, name = tempfile.mkstemp(prefix="penstock-spark-", suffix=".log")
    os.close(handle)
    log = Path(name)
    atexit.register(log.unlink, missing_ok=True)
    return log
