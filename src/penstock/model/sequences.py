"""What a sequence is asked for: which earlier rows a later one is paired with.

Rows of two steps in the order of time, those of the first step as letters, of the second as
numbers, and what each mode makes of them:

    a  b  1  2         RECENT         b1, b2            the latest one at or before it
                       CHRONICLE      a1, b2            the earliest one that no other has used
                       UNRESTRICTED   a1, b1, a2, b2    all at or before it

Spec: execution-model 6.
"""

from __future__ import annotations

from enum import Enum

from penstock.model.schema import ROW_NUM


class SequenceMode(Enum):
    """Which earlier rows a later one is paired with."""

    RECENT = "recent"
    CHRONICLE = "chronicle"
    UNRESTRICTED = "unrestricted"

    @property
    def in_turn(self) -> bool:
        """Whether later rows take their turn in the order of time: each uses up an earlier one."""
        return self is SequenceMode.CHRONICLE


def tie_break(columns: list[str]) -> list[str]:
    """The columns that put rows of one time in order, whatever the order in which they came.

    Row numbers, which tell that, come last: rows that differ in nothing else are told apart by
    them where somebody asks for them.

    >>> tie_break(["k", "row_num", "v"]), tie_break(["a.row_num", "a.k"])
    (['k', 'v', 'row_num'], ['a.k', 'a.row_num'])
    """
    return sorted(columns, key=lambda name: name.rpartition(".")[2] == ROW_NUM)
