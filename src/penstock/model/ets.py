"""ETS: when a stream that is asked for nothing but the time gives an enabling timestamp.

An *enabling timestamp* is punctuation made not because rows came, but because an operator waits. It
can be made *on demand*, exactly when an operator waits and control has come back to an empty
source; *periodically*, whether or not anybody waits (a heartbeat); or not at all.  Spec: timestamps
1.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from penstock.model.timestamps import format_duration


class EtsKind(Enum):
    """When enabling timestamps are made."""

    NONE = "none"
    PERIODIC = "periodic"
    ON_DEMAND = "on demand"


@dataclass(frozen=True)
class Ets:
    """A way to make enabling timestamps; `every` is the period, in ticks.

    >>> str(ON_DEMAND), str(periodic(500_000))
    ('on demand', 'periodic 500 milliseconds')
    """

    kind: EtsKind
    every: int | None = None

    def __str__(self) -> str:
        return self.kind.value + (f" {format_duration(self.every)}" if self.every else "")


NO_ETS = Ets(EtsKind.NONE)
ON_DEMAND = Ets(EtsKind.ON_DEMAND)


def periodic(every: int) -> Ets:
    """One every so many ticks."""
    return Ets(EtsKind.PERIODIC, every)
