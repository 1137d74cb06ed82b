"""Grain: how finely promises about an attribute are of use.

A window that slides by a minute learns nothing from a bound within the minute. So a bound can be
rolled down to the last *grid* point before it without anybody noticing; where several windows
listen, to the last point of any of their grids.  Spec: window-queries 1.2, 1.4 (Describe).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from penstock.model.timestamps import BEGINNING, END


@dataclass(frozen=True)
class Grid:
    """The points origin + n * step.

    >>> Grid(60, 10).floor(125)
    70
    """

    step: int
    origin: int = 0

    def __post_init__(self) -> None:
        # Grids with the same points are equal.
        object.__setattr__(self, "origin", self.origin % self.step)

    def floor(self, bound: int) -> int:
        return bound - (bound - self.origin) % self.step


Grain: TypeAlias = frozenset[Grid] | None
"""The grids on which bounds are used; None: every bound counts."""

#: Nobody uses any.
UNUSED: Grain = frozenset()


def grain_of(grid: tuple[int, int] | None) -> Grain:
    """The grain of one window, by the step and origin of its grid."""
    return None if grid is None else frozenset([Grid(*grid)])


def both(one: Grain, other: Grain) -> Grain:
    """What is of use to one or the other.

    >>> both(frozenset([Grid(5)]), frozenset([Grid(10), Grid(5, 5)]))
    frozenset({Grid(step=5, origin=0)})
    """
    if one is None or other is None:
        return None
    grids = one | other
    return frozenset(g for g in grids if not any(_within(g, o) for o in grids if o != g))


def _within(grid: Grid, finer: Grid) -> bool:
    """Whether every point of a grid is one of another."""
    return grid.step % finer.step == 0 and (grid.origin - finer.origin) % finer.step == 0


def rolled(bound: int, grain: Grain) -> int:
    """The last bound that says as much to all who listen; BEGINNING: there is none.

    >>> rolled(125, frozenset([Grid(60), Grid(50)]))
    120
    """
    if grain is None or bound >= END or bound <= BEGINNING:
        return bound
    return max((grid.floor(bound) for grid in grain), default=BEGINNING)
