"""EngineLock: one thread at a time works on an engine, and user code runs outside the lock.

The lock is reentrant, and fair: threads get it in the order in which they ask for it. A thread that
runs the graph says so (`running`). When the graph calls user code, a subscriber or a function, the
lock is released (`outside`), so that user code and other threads can call the engine. The run is
then *suspended*: what it has begun is not over.

Polars calls functions from its own threads, several at a time. The thread that calls `outside`
therefore need not be the one that holds the lock, and the run resumes when the last of these calls
has returned.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import get_ident


class FairLock:
    """A lock that is handed to the thread that has waited longest.

    A thread that releases Python's own lock and takes it again at once mostly gets it, however long
    others have waited.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._is_held = False
        self._waiting: deque[threading.Lock] = deque()  # each is released when its turn comes

    def acquire(self, blocking: bool = True) -> bool:
        with self._guard:
            if not self._is_held:
                self._is_held = True
                return True
            if not blocking:
                return False
            turn = threading.Lock()
            turn.acquire()
            self._waiting.append(turn)
        turn.acquire()
        return True

    def release(self) -> None:
        with self._guard:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._is_held = False

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *raised: object) -> None:
        self.release()


@dataclass
class _Suspension:
    """A run that waits for user code: who held the lock, how often, and calls that go on."""

    owner: int
    depth: int
    runs: int
    in_step: bool
    outer: _Suspension | None
    calls: int = 0
    resumes: bool = False


class EngineLock:
    """Use it as a context manager."""

    def __init__(self) -> None:
        self._lock = FairLock()
        self._over = threading.Condition(self._lock)  # type: ignore[arg-type]  # any lock will do
        self._owner: int | None = None
        self._depth = 0
        self._runs = 0  # of the owner; more than one if user code called the engine
        self._calls = threading.Lock()  # guards what follows
        self._suspension: _Suspension | None = None
        self._user_threads: Counter[int] = Counter()

    def acquire(self, blocking: bool = True) -> bool:
        me = get_ident()
        if self._owner != me:
            if not self._lock.acquire(blocking):
                return False
            self._owner = me
        self._depth += 1
        return True

    def release(self) -> None:
        self._depth -= 1
        if not self._depth:
            self._owner = None
            self._lock.release()

    def __enter__(self) -> EngineLock:
        self.acquire()
        return self

    def __exit__(self, *raised: object) -> None:
        self.release()

    @property
    def is_suspended(self) -> bool:
        """Whether a run waits for user code; for the owner."""
        return self._suspension is not None

    @property
    def is_in_step(self) -> bool:
        """Whether an operator waits for a function in the middle of a step; for the owner."""
        found = self._suspension
        while found is not None and not found.in_step:
            found = found.outer
        return found is not None

    @property
    def is_user_code(self) -> bool:
        """Whether this thread is in user code that the engine has called."""
        return get_ident() in self._user_threads

    @contextmanager
    def running(self) -> Iterator[None]:
        """Say that the owner runs the graph."""
        self._runs += 1
        try:
            yield
        finally:
            self._runs -= 1
            if not self._runs and self._suspension is None:
                self._over.notify_all()

    def wait_for_runs(self, timeout: float | None = None) -> None:
        """Let others work until no run is suspended; for the owner, outside user code."""
        if self._suspension is None or self.is_user_code:
            return
        depth = self._depth
        self._owner, self._depth = None, 0
        try:
            self._over.wait_for(lambda: self._suspension is None, timeout)
        finally:
            self._owner, self._depth = get_ident(), depth

    @contextmanager
    def outside(self, *, in_step: bool) -> Iterator[None]:
        """Call user code without the lock; `in_step`: an operator waits for its answer."""
        me = get_ident()
        with self._calls:
            self._user_threads[me] += 1
            if self._runs and self._owner is not None:
                self._suspension = _Suspension(
                    self._owner, self._depth, self._runs, in_step, self._suspension
                )
                self._owner, self._depth, self._runs = None, 0, 0
                self._lock.release()
            suspension = self._suspension
            if suspension is not None:
                suspension.calls += 1
        try:
            yield
        finally:
            resumes = False
            with self._calls:
                self._user_threads[me] -= 1
                if not self._user_threads[me]:
                    del self._user_threads[me]
                if suspension is not None:
                    suspension.calls -= 1
                    resumes = not suspension.calls and not suspension.resumes
                    suspension.resumes |= resumes
            if suspension is not None and resumes:
                self._resume(suspension)

    def _resume(self, suspension: _Suspension) -> None:
        # The guard is free while this waits: whoever has the lock now may call user code, too.
        self._lock.acquire()
        with self._calls:
            suspension.resumes = False
            if suspension.calls:
                self._lock.release()  # another call of the same run began; its end resumes
                return
            self._suspension = suspension.outer
            self._owner, self._depth = suspension.owner, suspension.depth
            self._runs = suspension.runs
