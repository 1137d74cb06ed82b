"""Options: what a user has said about how queries are to be computed.

One frozen value goes from `SET` (`catalog/settings.py`, which says what each of them means) through
the optimizer to the hosts and into checkpoints. Whatever is set, answers stay the same; they come
in another order at most.
"""

from __future__ import annotations

from dataclasses import dataclass

#: The choice that leaves it to the optimizer.
AUTO = "auto"


@dataclass(frozen=True)
class Options:
    """Everything that decides between operators, and how they take turns."""

    union: str = "meld"
    join: str = AUTO
    join_alpha: float = 0.05
    aggregation: str = AUTO
    table_size: int = 4096
    flush: str = "slow"
    flush_windows: int = 2
    flush_rows: int = 160
    mode: str = "oop"
    late: str = "keep"
    lowering: str = AUTO
    strategy: str = "dfs"
    rows_per_step: int | None = None
    ets_by: str = "rows"

    @property
    def uses_late_rows(self) -> bool:
        """Whether late rows go on to windows that are not closed yet."""
        return self.late in ("consistent", "generous")
