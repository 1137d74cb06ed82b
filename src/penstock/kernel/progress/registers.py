"""TSM registers: what an operator knows about the time on each of its inputs.

An input's register holds the timestamp of the item at its front (for a punctuation: its bound), and
keeps its value when the input runs empty. `low` is the least of all registers: an item at `low` may
pass, for nothing earlier can come on any input. Because an empty input keeps its last value, rows
with the same timestamp never wait for each other.  Spec: execution-model 4.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.kernel.block import Block
from penstock.kernel.buffer import Cursor
from penstock.model.timestamps import BEGINNING


def beginning(ports: int) -> list[int]:
    """Registers of an operator that has seen nothing."""
    return [BEGINNING] * ports


def holder(registers: list[int], inputs: Sequence[Cursor], on: str) -> int | None:
    """The relaxed `more`: an input that holds an item at `low`, or None.

    Sets each register to what stands at the front of its input; an empty one keeps its value.
    """
    full = []
    for port, cursor in enumerate(inputs):
        front = cursor.peek()
        if front is None:
            continue
        full.append(port)
        if isinstance(front, Block):
            registers[port] = front.first(on)
        elif front.on == on and not front.where:
            registers[port] = max(registers[port], front.bound)
    low = min(registers)
    for port in full:
        if registers[port] == low:
            return port
    return None
