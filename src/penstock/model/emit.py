"""Emit: when the results of windows come, if not only when they are over.

    EMIT ON WINDOW CLOSE    once, when nothing can change them any more; what a query does anyway
    EMIT EVERY d            also whenever the bound passes a multiple of d: what changed since
    EMIT CHANGES            also after every block of rows, on Spark after every micro-batch

What comes early is a *revision*: the value so far of a group in a window that is still open. The
column `is_final` tells it from the result that stands, which comes once and as the last. Whoever
keeps the newest row for each group and window has what is known, and nothing that is final is ever
contradicted.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.model.timestamps import format_duration


@dataclass(frozen=True)
class Emit:
    """Early results; `every` so much of the windowing attribute, or None: with every change."""

    every: int | None = None
    is_time: bool = True

    def __str__(self) -> str:
        """As it is written.

        >>> str(Emit(60_000_000)), str(Emit())
        ('EMIT EVERY 1 minute', 'EMIT CHANGES')
        """
        if self.every is None:
            return "EMIT CHANGES"
        return f"EMIT EVERY {format_duration(self.every) if self.is_time else self.every}"
