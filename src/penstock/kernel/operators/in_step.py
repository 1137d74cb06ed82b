"""InStep: operators that take the rows of all their inputs in the order of time, by waiting.

They have TSM registers: what they know about the time on each of their inputs. An input's register
holds the timestamp of the item at its front (for a punctuation: its bound), and keeps its value
when the input runs empty. `low` is the least of all registers: an item at `low` may pass, for
nothing earlier can come on any input. Because an empty input keeps its last value, rows with the
same timestamp never wait for each other.

A step takes every row up to the least time that all inputs are known to have reached, at most
`limit` of them.  Spec: execution-model 4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from penstock.kernel.block import Block
from penstock.kernel.buffer import Cursor
from penstock.kernel.operator import Operator, Output
from penstock.model.punctuation import Punctuation


class InStep(Operator):
    """Consumes the row with the least timestamp; each input must be in the order of its own."""

    #: The time column of each input.
    ordered_on: Sequence[str]
    _next: int | None = None  # an input that was found to hold what may pass

    @property
    def registers(self) -> list[int]:
        """Those in its state."""
        raise NotImplementedError

    def take(self, port: int, blocks: Mapping[int, Block], out: Output) -> None:
        """Rows that no input can still undercut, by their input; `port` is one of these."""
        raise NotImplementedError

    def more(self, inputs: Sequence[Cursor]) -> bool:
        # What may pass once may pass until it does: nothing earlier can come.
        if self._next is None:
            self._next = self._holder(inputs)
        return self._next is not None

    def set_register(self, port: int, punctuation: Punctuation) -> None:
        if punctuation.on == self.ordered_on[port]:
            self.registers[port] = max(self.registers[port], punctuation.bound)

    def starved(self, inputs: Sequence[Cursor]) -> int:
        """The input to go back to: of those that are empty, the one that is furthest behind."""
        empty = [port for port, cursor in enumerate(inputs) if cursor.empty]
        return min(empty, key=self.registers.__getitem__, default=0)

    def step(self, inputs: Sequence[Cursor], out: Output, limit: int | None) -> int:
        if not self.more(inputs):
            return 0
        port, self._next = self._next, None
        assert port is not None
        front = inputs[port].peek()
        if isinstance(front, Punctuation):
            inputs[port].take(1)
            (self.on_pattern if front.where else self.on_punctuation)(port, front, out)
            return 0
        taken = {}
        for each, count in self._counts(inputs, port, limit).items():
            if count:
                block = inputs[each].take(count)
                assert isinstance(block, Block)
                taken[each] = block
                # What an input has reached must be remembered when it runs empty.
                self.registers[each] = block.last(self.ordered_on[each])
        self.take(port, taken, out)
        return sum(map(len, taken.values()))

    def _holder(self, inputs: Sequence[Cursor]) -> int | None:
        """The relaxed `more`: an input that holds an item at `low`, or None.

        Sets each register to what stands at the front of its input; an empty one keeps its value.
        Punctuation that is not about the time column tells no time, and may always pass.
        """
        registers, full = self.registers, []
        for port, cursor in enumerate(inputs):
            front = cursor.peek()
            if front is None:
                continue
            full.append(port)
            if isinstance(front, Block):
                registers[port] = front.first(self.ordered_on[port])
            elif front.on == self.ordered_on[port] and not front.where:
                registers[port] = max(registers[port], front.bound)
            else:
                return port
        low = min(registers)
        return next((port for port in full if registers[port] == low), None)

    def _counts(self, inputs: Sequence[Cursor], port: int, limit: int | None) -> dict[int, int]:
        """How many rows of each input are taken; `port` has one of the first."""
        if limit == 1:
            return {port: 1}  # the one at the front that was found may go
        items = [cursor.peek() for cursor in inputs]
        blocks = {each: item for each, item in enumerate(items) if isinstance(item, Block)}
        if len(blocks) == 1 and len(blocks[port]) == 1:
            return {port: 1}
        on = self.ordered_on
        reached = min(
            blocks[each].last(on[each]) if each in blocks else register
            for each, register in enumerate(self.registers)
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
