"""Small files written side by side.

A thousand queries write a thousand files in every batch, one after the other for more than a
second. Most of that is Arrow's and the file system's, who need no lock of Python's meanwhile.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

#: Of fewer, threads cost more than they save.
FEW = 16
THREADS = 4


def side_by_side(work: Sequence[Callable[[], None]]) -> None:
    """Do all of it; raises what one of those that failed has raised, when all are over.

    What has not begun by then is left out.
    """
    if len(work) < FEW:
        for each in work:
            each()
        return
    failed = threading.Event()
    with ThreadPoolExecutor(THREADS, "write results") as pool:
        parts = [pool.submit(_do, work[n::THREADS], failed) for n in range(THREADS)]
    for part in parts:
        part.result()


def _do(work: Sequence[Callable[[], None]], failed: threading.Event) -> None:
    for each in work:
        if failed.is_set():
            return
        try:
            each()
        except BaseException:
            failed.set()
            raise
