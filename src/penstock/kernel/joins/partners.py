"""Partner times: for every row of a column, from when to when its partners can lie.

The vectorised twin of `Band.joins`, both ends included. Either end rises with the row's own time,
so what is sorted by time stays sorted.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from penstock.windows import Band, JoinBand

Times = npt.NDArray[np.int64]


def partners(band: JoinBand, side: int, times: Times) -> tuple[Times, Times]:
    """First and last time of a partner, for rows of that side.

    >>> partners(Band(low=-2, high=3), 0, np.array([10, 20]))
    (array([ 8, 18]), array([13, 23]))
    """
    if isinstance(band, Band):
        first, last = (band.low, band.high) if side == 0 else (-band.high, -band.low)
        return times + first, times + last
    start = band.origin + (times - band.origin) // band.width * band.width
    return start, start + (band.width - 1)


def widest(band: JoinBand) -> int:
    """How many times a row's partners can have.

    >>> widest(Band(low=-2, high=3))
    6
    """
    return band.high - band.low + 1 if isinstance(band, Band) else band.width
