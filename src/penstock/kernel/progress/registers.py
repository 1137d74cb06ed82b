"""TSM registers: what an operator knows about the time on each of its inputs.

An input's register holds the timestamp of the item at its front (for a punctuation: its bound), and
keeps its value when the input runs empty. `low` is the least of all registers: an item at `low` may
pass, for nothing earlier can come on any input. Because an empty input keeps its last value, rows
with the same timestamp never wait for each other.  Spec: execution-model 4.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from penstock.kernel.block import Block
from penstock.kernel.buffer import Cursor
from penstock.model.timestamps import BEGINNING


def beginning(ports: int) -> list[int]:
    """Registers of an operator that has seen nothing."""
    return [BEGINNING] * ports


def holder(registers: list[int], inputs: Sequence[Cursor], on: Sequence[str]) -> int | None:
    """The relaxed `more`: an input that holds an item at `low`, or None.

    Sets each register to what stands at the front of its input; an empty one keeps its value. `on`
    is the time column of each. Punctuation that is not about it tells no time, and may always pass.
    """
    full = []
    for port, cursor in enumerate(inputs):
        front = cursor.peek()
        if front is None:
            continue
        full.append(port)
        if isinstance(front, Block):
            registers[port] = front.first(on[port])
        elif front.on == on[port] and not front.where:
            registers[port] = max(registers[port], front.bound)
        else:
            return port
    low = min(registers)
    for port in full:
        if registers[port] == low:
            return port
    return None


def starved(registers: list[int], inputs: Sequence[Cursor]) -> int:
    """The input to go back to: of those that are empty, the one that is furthest behind."""
    empty = [port for port, cursor in enumerate(inputs) if cursor.empty]
    return min(empty, key=registers.__getitem__, default=0)


def take(
    registers: list[int],
    inputs: Sequence[Cursor],
    on: Sequence[str],
    port: int,
    limit: int | None,
) -> dict[int, Block]:
    """Take the rows that no input can still undercut, the first `limit` of them, by their input.

    `port` is an input whose first row is among them.
    """
    taken = {}
    for each, count in _counts(registers, inputs, on, port, limit).items():
        if count:
            block = inputs[each].take(count)
            assert isinstance(block, Block)
            taken[each] = block
            # What an input has reached must be remembered when it runs empty.
            registers[each] = block.last(on[each])
    return taken


def _counts(
    registers: list[int],
    inputs: Sequence[Cursor],
    on: Sequence[str],
    port: int,
    limit: int | None,
) -> dict[int, int]:
    if limit == 1:
        return {port: 1}  # the one at the front that was found may go
    items = [cursor.peek() for cursor in inputs]
    blocks = {each: item for each, item in enumerate(items) if isinstance(item, Block)}
    if len(blocks) == 1 and len(blocks[port]) == 1:
        return {port: 1}
    reached = min(
        blocks[each].last(on[each]) if each in blocks else registers[each]
        for each in range(len(inputs))
    )
    times = [block.rows.get_column(on[each]).to_numpy() for each, block in blocks.items()]
    times = [values[: np.searchsorted(values, reached, side="right")] for values in times]
    return dict(zip(blocks, first_rows(times, limit), strict=True))


def first_rows(times: Sequence[npt.NDArray[np.int64]], limit: int | None) -> list[int]:
    """How many rows of each ordered input are among the first `limit` of all.

    >>> first_rows([np.array([1, 4]), np.array([2, 3])], limit=3)
    [1, 2]
    """
    lengths = [len(values) for values in times]
    if limit is None or sum(lengths) <= limit:
        return lengths
    order = np.argsort(np.concatenate(times), kind="stable")[:limit]
    ports = np.repeat(np.arange(len(times)), lengths)
    return [int(n) for n in np.bincount(ports[order], minlength=len(times))]
