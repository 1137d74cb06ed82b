"""What makes a Python worker of Spark's slow between tasks, and is none of our work.

Spark has a worker collect garbage after each task, in front of the next one. That goes through all
objects of the process, and with our packages it took 40 ms for each step of a micro-batch: more
than the step. What was imported stays for good, and Python can be told to leave it out.

Not while state is alive: a graph that is dropped later has cycles, which only the collector finds;
left out, its segments would stay for ever.
"""

from __future__ import annotations

import gc
import sys

#: So many new modules make it worth while to leave them out, too.
_MANY = 20

_left_out = 0


def leave_out_modules() -> None:
    """Called in front of work, when packages are imported and no state is alive."""
    global _left_out
    if len(sys.modules) < _left_out + _MANY:
        return
    _left_out = len(sys.modules)
    gc.collect()
    gc.freeze()
