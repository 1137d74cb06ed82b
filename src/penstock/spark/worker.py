"""What makes a Python worker of Spark's slow between tasks, and is none of our work.

Spark has a worker collect garbage after each task, in front of the next one. That goes through all
objects of the process, and with our packages it took 40 ms for each step of a micro-batch: more
than the step. What was imported stays for good, and Python can be told to leave it out.

Not while state is alive: a graph that is dropped later has cycles, which only the collector finds;
left out, its segments would stay for ever.

What a worker keeps of a query is gone through as well, after every task of any query. A thousand
queries are half a million objects. So the driver tells tasks which queries run (`Told.running`),
and a worker forgets what it has kept of others.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Collection, Sequence

#: So many new modules make it worth while to leave them out, too.
_MANY = 20

_left_out = 0

#: What forgets all but these queries, by whoever keeps something of queries.
_FORGETTING: list[Callable[[Collection[str]], None]] = []
_running: Sequence[str] = ()


def leave_out_modules() -> None:
    """Called in front of work, when packages are imported and no state is alive."""
    global _left_out
    if len(sys.modules) < _left_out + _MANY:
        return
    _left_out = len(sys.modules)
    gc.collect()
    gc.freeze()


def forgetting(forget: Callable[[Collection[str]], None]) -> None:
    """Have somebody told which queries run, when others have ended."""
    _FORGETTING.append(forget)


def forget_ended(running: Sequence[str]) -> None:
    """Forget what is kept of queries that do not run any more; what they were is in their stores.

    Nothing is said, if there are none.
    """
    global _running
    if running and running != _running:
        _running = running
        for forget in _FORGETTING:
            forget(running)
