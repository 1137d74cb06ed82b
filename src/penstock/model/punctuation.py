"""Punctuation: a promise that travels with the rows.

`Punctuation("ts", b)` says: no later row of this stream has `ts < b`. The comparison is strict, so
a row with `ts = b` may still come. Spec: window-queries 1.2.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.model.timestamps import END


@dataclass(frozen=True)
class Punctuation:
    """No later row has `on` below `bound`."""

    on: str
    bound: int

    @property
    def is_final(self) -> bool:
        """Whether it promises that no row comes at all."""
        return self.bound >= END
