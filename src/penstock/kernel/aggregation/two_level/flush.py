"""When aggregates of windows that are over leave the fixed-size table of the low level.

    lazy       collisions throw them out; what is older than m windows is flushed
    slow       besides, one leaves for every i rows that come
    in_order   one leaves for every row, and all of them before any of a newer window does: what
               rolls up behind gets windows in order, at the price of surges

All of them at once, when a window ends, would be a surge that a low level may not survive. None
changes the answers; they come up to m windows later.  Spec: window-queries 7.6.
"""

from __future__ import annotations

from dataclasses import dataclass

LAZY, SLOW, IN_ORDER = "lazy", "slow", "in_order"


@dataclass(frozen=True)
class Flush:
    """A policy; `windows` is m, `rows` is i."""

    policy: str = SLOW
    windows: int = 2
    rows: int = 160

    @property
    def keeps_order(self) -> bool:
        return self.policy == IN_ORDER

    def overdue_below(self, received: int, before: int) -> int:
        """Windows that must have left when those below `received` are over, and before it others.

        >>> Flush("lazy", windows=2).overdue_below(received=10, before=9)
        8
        >>> Flush("in_order").overdue_below(received=10, before=9)
        9
        """
        return before if self.keeps_order else received - self.windows

    def leaving(self, rows: int) -> tuple[int, int]:
        """How many may leave after so many rows, and how many rows count for the next.

        >>> Flush("slow", rows=160).leaving(400)
        (2, 80)
        """
        if self.policy == LAZY:
            return 0, 0
        return divmod(rows, 1 if self.keeps_order else self.rows)
