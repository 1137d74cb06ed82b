"""Arcs of the enhanced query graph: bounds that skip the operators which only pass them on.

An arc leads from a source or an idle-waiting-prone operator to the register of the next such
operator. What lies between could only translate the bound, so the arc does that in one go, and
no buffer is touched. A bound must not overtake rows: it goes by arc only if everything between
is empty, which is so after backtracking; else it travels behind the rows, as punctuation.

A register is *active* from when an arc writes it until its operator has used the value, so each
value travels once.  Spec: execution-model 5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from penstock.kernel.block import Block
from penstock.kernel.buffer import Buffer, Cursor
from penstock.model.punctuation import Punctuation

if TYPE_CHECKING:
    from penstock.kernel.graph import GraphNode

Translate = Callable[[Punctuation], Iterable[Punctuation]]


@dataclass(frozen=True, eq=False)
class Arc:
    """The way to one register: the readers on it, and what a bound becomes at its end."""

    target: GraphNode
    port: int
    readers: tuple[Cursor, ...]
    translations: tuple[Translate, ...]  # of operators that change a bound; most do not

    @property
    def clear(self) -> bool:
        return all(reader.empty for reader in self.readers)

    def write(self, punctuation: Punctuation) -> None:
        """Set the register, and activate it."""
        messages: Sequence[Punctuation] = (punctuation,)
        for translate in self.translations:
            messages = [new for old in messages for new in translate(old)]
        target = self.target
        for new in messages:
            if target.operator is not None:
                target.operator.set_register(self.port, new)
            others = [(p, old) for p, old in target.active if (p, old.on) != (self.port, new.on)]
            target.active = [*others, (self.port, new)]


class ArcOutput(NamedTuple):
    """Where an operator's results go when a register moved it: rows as usual, bounds by arc."""

    buffer: Buffer
    arcs: Sequence[Arc]

    def batch(self, block: Block) -> None:
        self.buffer.batch(block)

    def punctuation(self, punctuation: Punctuation) -> None:
        described = self.buffer.describe(punctuation)
        if described is None:
            return
        # A register knows nothing of patterns: what it holds is about all rows.
        if self.arcs and not described.where and all(arc.clear for arc in self.arcs):
            for arc in self.arcs:
                arc.write(described)
        else:
            self.buffer.append_as_is(described)
