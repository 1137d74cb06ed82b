"""Functions that the host has besides ours: on Spark, all of Spark SQL's and the session's own.

Binding asks for the type of an expression that the kernel does not know; a host without such
functions has no answer, and the expression is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from penstock.model.schema import Column
from penstock.model.types import Type


@dataclass(frozen=True)
class HostType:
    """The type of an expression, as the host calls it, and ours; None: we have none like it."""

    name: str
    type: Type | None


class HostFunctions(Protocol):
    """What the host can compute."""

    def type_of(self, sql: str, columns: Sequence[Column], zone: str) -> HostType:
        """The type of SQL over columns of these names and types, computed in a time zone.

        QueryError if it cannot be computed, or not twice with the same result.
        """
