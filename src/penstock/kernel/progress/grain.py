"""Grain: how finely bounds on an attribute are used.

A window that slides by a minute learns nothing from a bound within the minute. So a bound can be
rolled down to the last *grid* point before it without changing results; where several windows
use it, to the last point of any of their grids.  Spec: window-queries 1.2, 1.4 (Describe).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from penstock.model.monotone import Computed, Monotone, MonotoneStep, Passed
from penstock.model.timestamps import BEGINNING, DAY, END, EVEN_UNITS

T = TypeVar("T", int, npt.NDArray[np.int64])


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

    def floor(self, bound: T) -> T:
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


def grain_before(computed: Monotone, behind: Grain) -> Grain:
    """How finely bounds of columns are of use to what is computed of them, and used so finely.

    >>> from penstock.model.expressions import Call, Literal, Ref
    >>> from penstock.model.monotone import monotone
    >>> from penstock.model.types import Type
    >>> ten = monotone(Call("div", (Ref("n", Type.BIGINT), Literal(10, Type.BIGINT))))
    >>> sorted(map(str, grain_before(ten, frozenset([Grid(6)]))))
    ['Grid(step=60, origin=0)', 'Grid(step=60, origin=51)']
    """
    while isinstance(computed, Computed):
        behind = _before(computed.step, behind)
        computed = computed.input
    # Of several columns each is computed by itself: to let all bounds pass breaks nothing.
    return behind if behind == UNUSED or isinstance(computed, Passed) else None


def _before(step: MonotoneStep, behind: Grain) -> Grain:
    by = step.by
    match step.how:
        case "shift" if behind is not None:
            return frozenset(Grid(g.step, g.origin - by) for g in behind)
        case "times" | "to time" if behind is not None:
            fits = all(g.step % by == 0 and g.origin % by == 0 for g in behind)
            return frozenset(Grid(g.step // by, g.origin // by) for g in behind) if fits else None
        case "divide" | "div":
            used = (Grid(1),) if behind is None else behind
            grids = {Grid(g.step * by, g.origin * by) for g in used}
            if step.how == "div":  # below zero a quotient changes behind the multiples
                grids |= {Grid(g.step * by, (g.origin - 1) * by + 1) for g in used}
            return frozenset(grids)
        case "truncate":
            if by not in EVEN_UNITS:  # months begin with days, and have no one length
                return UNUSED if behind == UNUSED else frozenset([Grid(DAY)])
            own = Grid(*EVEN_UNITS[by])
            used = (own,) if behind is None else behind
            return frozenset(g if _within(g, own) else own for g in used)
    return None


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


def rolled_all(bounds: npt.NDArray[np.int64], grain: Grain) -> npt.NDArray[np.int64]:
    """The same for many bounds.

    >>> rolled_all(np.array([BEGINNING, 99, 125]), frozenset([Grid(60), Grid(50)]))[1:].tolist()
    [60, 120]
    """
    if grain is None:
        return bounds
    nothing = np.full(len(bounds), BEGINNING)
    found = reduce(np.maximum, (grid.floor(bounds) for grid in grain), nothing)
    return np.where(bounds <= BEGINNING, BEGINNING, found)
