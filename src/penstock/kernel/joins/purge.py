"""When a row of a window join need not be stored, or may be forgotten.

A row can go once every row it could still meet has already come, and one that arrives after all its
partners is joined and never stored. Both are the same threshold: the first timestamp to keep. There
is one function per rule; none of them touches a store.

    rule        first timestamp to keep         a stored row goes when
    sliding     bound - reach                   the last partner it can have lies below the bound
    tumbling    start of the bound's window     its window lies before the bound's

`bound` is the other input's: nothing below it will come there. `reach` is how far behind a row its
last partner can lie: RANGE of its own side.  Spec: window-queries 6.1, 6.2.
"""

from __future__ import annotations

from penstock.model.timestamps import BEGINNING, END
from penstock.windows import Band, JoinBand


def sliding(bound: int, reach: int) -> int:
    """First timestamp to keep in a band join.

    >>> sliding(bound=100, reach=30)
    70
    """
    return bound - reach


def tumbling(bound: int, width: int, origin: int = 0) -> int:
    """First timestamp to keep in a tumbling join: the start of the bound's own window.

    >>> tumbling(bound=125, width=60)
    120
    """
    return origin + (bound - origin) // width * width


def keep_from(band: JoinBand, side: int, bound: int) -> int:
    """First timestamp of a side's rows to keep, given the `bound` of the other input.

    >>> keep_from(Band(low=-2, high=3), 0, bound=10), keep_from(Band(low=-2, high=3), 1, bound=10)
    (7, 8)
    """
    if bound <= BEGINNING or bound >= END:
        return bound
    if isinstance(band, Band):
        return sliding(bound, band.high if side == 0 else -band.low)
    return tumbling(bound, band.width, band.origin)


def goes_at(band: JoinBand, side: int, first: int) -> int:
    """The least bound of the other input at which rows of a side below `first` may go.

    >>> goes_at(Band(low=-2, high=3), 0, first=7), keep_from(Band(low=-2, high=3), 0, bound=10)
    (10, 7)
    """
    if first >= END:
        return END
    if isinstance(band, Band):
        return first + (band.high if side == 0 else -band.low)
    return band.origin - (band.origin - first) // band.width * band.width
