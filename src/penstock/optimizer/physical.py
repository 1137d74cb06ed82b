"""Physical: the operators that compute one plan node, and why these."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from penstock.kernel.operator import Operator

#: The choice of a setting that leaves it to us.
AUTO = "auto"


@dataclass(frozen=True)
class Physical:
    """A chain of operators: the first reads the node's inputs, the last gives its answer."""

    operators: tuple[Callable[[], Operator], ...]
    names: tuple[str, ...]
    reason: str

    def __str__(self) -> str:
        return f"{' > '.join(self.names)}: {self.reason}"
