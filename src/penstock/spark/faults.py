"""Fault points: every step between reading offsets and committing a batch has a name.

Tests make any of them fail, be killed, be delayed or be repeated, in whichever process reaches it.
The variable PENSTOCK_FAULT names a folder; without it a point costs one comparison. A file there
that has the name of a point arms it: `arm` writes it, and the processes of a run that is under way
find it, workers too, which inherit the variable. How often a point was reached is counted in the
folder, over all processes, so a fault hits exactly the occurrences it is meant for.

    fail      an exception is raised: Spark tries a task again, and ends a query
    kill      the process is killed: a Python worker, or the driver
    lose      the executor that a worker belongs to is killed, and with it all its workers
    delay     the process sleeps for a while
    hold      the process waits there until the point is armed no more
    repeat    the step is done twice, where it is one that must not mind (`step`); elsewhere as fail
"""

from __future__ import annotations

import fcntl
import os
import signal
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

VARIABLE = "PENSTOCK_FAULT"

#: In the order in which a batch comes by. Tasks of the exchange:
IN_EXCHANGE = {
    "exchange.begin": "a task of the exchange has started, and read nothing",
    "exchange.packed": "its blocks have gone out, its message of progress has not",
    "exchange.over": "everything has gone out",
}
#: Tasks of the groups, up to where Spark commits their state:
IN_GROUP = {
    "group.begin": "a group's messages are there; its state has not been read",
    "group.restored": "its graph stands as the last batch left it",
    "group.processed": "the batch has been carried through; nothing of it is kept",
    "state.segment": "(repeatable) a new segment is about to be written; some may be",
    "state.segments": "all new segments are written; those that have gone are still there",
    "state.directory": "(repeatable) they are removed; the directory is the last batch's",
    "group.kept": "the directory is written; the results have not left the worker",
    "group.over": "the results are with Spark, which has not committed the state",
}
#: The driver, up to where Spark commits the batch:
IN_DRIVER = {
    "deliver.begin": "Spark has handed a batch over, which is not computed yet",
    "deliver.computed": "it is: every group's state is on disk; nothing has been delivered",
    "deliver.query": "(repeatable) results of one query are about to be written; others may be",
    "sink.written": "results are in their sink; of a file, the list of files does not say so",
    "deliver.late": "(repeatable) rejected rows are about to be written; results are",
    "deliver.over": "everything has been delivered; nothing has been reported",
    "batch.over": "reports are made; what is left is Spark's commit",
}
#: The driver, where it takes the place of groups (`rows/host.py`):
IN_ROWS = {
    "rows.processed": "the batch has been carried through; nothing of it is delivered or kept",
    "rows.keep": "(repeatable) everything has been delivered; the state is about to be written",
    "rows.kept": "the state after the batch is there; the batch is not reported",
}
#: The driver, when it sends punctuation:
IN_CONTROL = {
    "control.send": "(repeatable) punctuation is about to be written",
    "control.written": "it is, under a name that nobody reads",
}
#: The driver, when the program of a pipeline changes:
IN_CHANGE = {
    "program.begin": "sinks of new queries are held; the log does not have the program",
    "program.write": "(repeatable) the program is about to be written",
    "program.written": "it is, and holds from the next batch on; no task has it yet",
}
#: The driver, while queries catch up, when it says what a batch reads again:
IN_CATCHING_UP = {
    "slice.begin": "what a batch reads again is decided; the log does not have it",
    "slice.write": "(repeatable) it is about to be written",
    "slice.written": "it is; the batch is not computed",
}
#: The driver, where files that cannot be read are skipped (`state/unreadable_log.py`):
IN_FILES = {
    "unreadable.begin": "the files of a batch were tried; the log does not have it",
    "unreadable.files": "(repeatable) what was skipped before is about to be written",
    "unreadable.batch": "(repeatable) it is; what the batch skips is about to be written",
    "unreadable.written": "it is; the batch is not computed",
}
POINTS = {
    **IN_EXCHANGE,
    **IN_GROUP,
    **IN_DRIVER,
    **IN_ROWS,
    **IN_CONTROL,
    **IN_CHANGE,
    **IN_CATCHING_UP,
    **IN_FILES,
}
#: Points that Python workers reach; the driver reaches the others.
IN_WORKERS = frozenset({*IN_EXCHANGE, *IN_GROUP})
#: Points that begin a step which may be done twice.
REPEATABLE = frozenset(point for point, what in POINTS.items() if what.startswith("(repeatable)"))

ACTIONS = ("fail", "kill", "lose", "delay", "hold", "repeat")
#: Seconds that a delay lasts.
DELAY = 0.3
#: Seconds between two looks of a process that is held.
POLL = 0.01

_ONCE, _TWICE = (None,), (None, None)
_folder: Path | None = Path(os.environ[VARIABLE]) if VARIABLE in os.environ else None


class InjectedFault(RuntimeError):
    """What a point raises that was made to fail."""


def reach(point: str) -> None:
    """The process has come to a point."""
    if _folder is not None:
        _act(_folder, point, can_repeat=False)


def step(point: str) -> Iterable[None]:
    """Once round a loop: the step that begins at a point, which may as well be done twice."""
    if _folder is None:
        return _ONCE
    return _TWICE if _act(_folder, point, can_repeat=True) else _ONCE


def folder() -> Path | None:
    """Where faults are looked for."""
    return _folder


def use(folder: Path | None) -> None:
    """Look for faults in a folder, here and in processes that are started from now on."""
    global _folder
    _folder = folder
    if folder is None:
        os.environ.pop(VARIABLE, None)
    else:
        folder.mkdir(parents=True, exist_ok=True)
        os.environ[VARIABLE] = str(folder)


def arm(folder: Path, point: str, action: str, *, occurrence: int = 1, times: int = 1) -> None:
    """Have a point act when it is reached for the so many-th time from now, so many times."""
    if point not in POINTS or action not in ACTIONS:
        raise ValueError(f"no fault `{action}` at `{point}`")
    (folder / f"{point}.count").unlink(missing_ok=True)
    hidden = folder / f".{point}"
    hidden.write_text(f"{action} {occurrence} {times}")
    hidden.replace(folder / point)


def disarm(folder: Path) -> None:
    """No more faults; counts and what was hit are forgotten."""
    for file in folder.iterdir():
        file.unlink(missing_ok=True)


def hits(folder: Path) -> Sequence[str]:
    """The faults that came about: point, action and occurrence of each."""
    file = folder / "hits"
    return file.read_text().splitlines() if file.exists() else ()


def _act(folder: Path, point: str, *, can_repeat: bool) -> bool:
    """Do what the point is armed with; gives whether its step is to be repeated."""
    try:
        armed = (folder / point).read_text()
    except OSError:
        return False
    action, first, times = armed.split()
    number = _count(folder / f"{point}.count", b".")
    if not int(first) <= number < int(first) + int(times):
        return False
    _count(folder / "hits", f"{point} {action} {number}\n".encode())
    if action == "repeat" and can_repeat:
        return True
    match action:
        case "delay":
            time.sleep(DELAY)
        case "hold":
            while (folder / point).exists():
                time.sleep(POLL)
        case "kill":
            kill(os.getpid())
        case "lose":
            kill(_executor() if point in IN_WORKERS else os.getpid())
            time.sleep(60)  # it takes this process with it
        case _:
            raise InjectedFault(f"fault at {point}")
    return False


def _count(file: Path, mark: bytes) -> int:
    """Add a mark to a file that others add to as well; gives how long it is then."""
    with file.open("ab") as marks:
        fcntl.flock(marks, fcntl.LOCK_EX)
        marks.write(mark)
        marks.flush()
        return os.fstat(marks.fileno()).st_size


def _executor() -> int:
    """The process that runs this worker: the parent of the daemon that forked it."""
    after_name = Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2]
    return int(after_name.split()[1])


def kill(process: int) -> None:
    """End a process without a word."""
    os.kill(process, signal.SIGKILL)
