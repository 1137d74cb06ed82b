"""What statements assign to settings, options of queries and parameters.

A value is what was written, read as far as the language goes. Which settings there are, and what
each can be, the catalog knows (`catalog/settings.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, TypeGuard

from penstock.errors import Position
from penstock.model.ets import Ets
from penstock.model.timestamps import END, format_duration


@dataclass(frozen=True)
class Duration:
    """A duration, in ticks."""

    ticks: int

    def __str__(self) -> str:
        return format_duration(self.ticks)


@dataclass(frozen=True)
class Rows:
    """A number of rows."""

    count: int

    def __str__(self) -> str:
        return f"{self.count} row{'s' * (self.count != 1)}"


ParameterValue: TypeAlias = int | Duration | Rows
"""What a parameter stands for: a length in the unit of an integer column, of time, or in rows."""

Value: TypeAlias = str | float | Ets | ParameterValue
"""What SET can assign: a word, a number, a length, or a way to make timestamps; an empty word if
nothing stands there."""


@dataclass(frozen=True)
class OptionChange:
    """One `option = value` of ALTER QUERY, and where it stands."""

    name: str
    value: Value
    position: Position


def is_parameter(value: Value) -> TypeGuard[ParameterValue]:
    """Whether a parameter can be that."""
    return isinstance(value, Duration | Rows) or (isinstance(value, int) and abs(value) < END)
