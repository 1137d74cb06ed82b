"""MeasuredJoin: what is to be measured of the inputs of a join, in whatever shape it runs.

Inputs, pairs and conditions have *keys*, under which their figures are kept: these name what rows
are looked at and which of their columns, and neither the query nor the operators.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.model.expressions import Expression
from penstock.model.schema import Column


@dataclass(frozen=True)
class MeasuredInput:
    """One input: its name in the join, its columns, and the one that carries its time.

    `shift` is how much later than the first input's its rows are that meet those, in the middle.
    """

    key: str
    title: str
    name: str
    columns: tuple[Column, ...]
    on: str
    shift: int = 0


@dataclass(frozen=True)
class MeasuredPair:
    """What must be equal of two inputs for their rows to match, over the columns of each.

    `implied`: it follows from other equalities of the join.
    """

    key: str
    title: str
    ends: tuple[int, int]
    mine: tuple[Expression, ...]
    theirs: tuple[Expression, ...]
    implied: bool = False


@dataclass(frozen=True)
class MeasuredCondition:
    """Another condition on rows of some inputs, over the columns of the join."""

    key: str
    title: str
    inputs: tuple[int, ...]
    condition: Expression


@dataclass(frozen=True)
class MeasuredJoin:
    """A join of any number of inputs; `width` is that of its widest window, in ticks."""

    inputs: tuple[MeasuredInput, ...]
    pairs: tuple[MeasuredPair, ...]
    conditions: tuple[MeasuredCondition, ...]
    width: int
    is_time: bool  # whether ticks are those of the clock, or some number's

    @property
    def key(self) -> str:
        """Names all that is measured."""
        keys = [each.key for each in self.inputs]
        keys += [each.key for each in self.pairs] + [each.key for each in self.conditions]
        return " ".join([*keys, str(self.width)])
