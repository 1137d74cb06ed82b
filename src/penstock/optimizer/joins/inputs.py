"""Sets of inputs of a join, as bits of a number: optimisers look up and unite them all the time.

>>> members(inputs_of([0, 3]))
(0, 3)
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import TypeAlias

Inputs: TypeAlias = int
"""Bit i is set: input i is among them."""


def inputs_of(numbers: Iterable[int]) -> Inputs:
    """The set of these inputs."""
    found = 0
    for number in numbers:
        found |= 1 << number
    return found


@lru_cache(maxsize=1 << 16)
def members(inputs: Inputs) -> tuple[int, ...]:
    """The inputs of a set, ascending."""
    return tuple(number for number in range(inputs.bit_length()) if inputs >> number & 1)
