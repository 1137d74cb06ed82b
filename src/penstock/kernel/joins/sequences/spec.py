"""SequenceSpec: what a sequence is asked for, in the kernel's words."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from penstock.kernel.joins.keys import Keys, are_keys
from penstock.kernel.joins.spec import Match, SideSpec
from penstock.model.expressions import Expression
from penstock.model.sequences import SequenceMode, tie_break


@dataclass(frozen=True)
class SequenceSpec:
    """Rows of the last step, each with rows of the steps before it that the mode gives it.

    `times` are the times of all steps, as results have them; `within`: how far the last may lie
    behind the first.
    """

    sides: tuple[SideSpec, SideSpec]
    times: tuple[str, ...]
    mode: SequenceMode
    within: int | None = None
    equalities: tuple[tuple[str, str], ...] = ()
    residual: Expression | None = None

    @cached_property
    def match(self) -> Match:
        return Match(self.sides, self.equalities, self.residual)

    @property
    def keys(self) -> tuple[Keys, Keys]:
        """What must be equal, of each side."""
        left, right = self.match.keys
        return Keys(left, right), Keys(right, left)

    @property
    def only_keys(self) -> bool:
        """Whether rows of equal keys match, whatever else is in them."""
        left, right = self.sides
        return are_keys(self.residual, left.names, right.names)

    def tie_break(self, side: int) -> list[str]:
        """The columns that put rows of one time in order."""
        return tie_break(self.sides[side].names)
