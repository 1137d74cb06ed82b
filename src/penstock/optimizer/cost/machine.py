"""Machine: how much processor time and memory there is for joins, where nobody has set it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True)
class Machine:
    """Cores, and bytes of memory that joins may take: half of what there is."""

    cores: float
    memory: float
    source: str


#: So that choices depend on nothing but the query, where costs are those of the reference machine.
REFERENCE_MACHINE = Machine(2, 4 << 30, "of a reference machine")


def machine() -> Machine:
    """This machine, unless PENSTOCK_COSTS=reference wants the other one."""
    return REFERENCE_MACHINE if os.environ.get("PENSTOCK_COSTS") == "reference" else _this()


@cache
def _this() -> Machine:
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2
    except (AttributeError, ValueError, OSError):  # not every system tells
        memory = REFERENCE_MACHINE.memory
    return Machine(os.cpu_count() or 1, memory, "of this machine")
