"""Pairing: which of the earlier rows a later one is paired with, by the rule of each mode.

Earlier rows are placed by key and time (`placing`), and those before a later row are the places
`start` to `stop`. For one row each of these functions is a line; here they are for all at once.
Spec: execution-model 6.
"""

from __future__ import annotations

import numpy as np

from penstock.kernel.aggregation.wid.overlay import repeat_ranges
from penstock.kernel.joins.sequences.placing import Index
from penstock.kernel.segments import Mask

#: The place of no row.
NOBODY = -1


def recent(start: Index, stop: Index) -> Index:
    """For each later row the latest one before it.

    >>> recent(np.array([0, 2]), np.array([2, 2]))
    array([ 1, -1])
    """
    return np.where(stop > start, stop - 1, NOBODY)


def chronicle(start: Index, stop: Index, first: Mask) -> Index:
    """For each later row the earliest one before it that none of its key before it has used.

    Later rows come key by key in the order of time; `first` tells the first one of each key. The
    next one that is free, after a row has had its turn, is

        next(x) = min(max(x, start) + 1, stop)         x: the next free one before

    for in the order of time neither end of the stretch ever falls. Such functions can be put
    together: one after another is again of the form min(max(x + a, b), c). So all are computed as
    any prefix sum is, in as many rounds as the logarithm of the most later rows of a key.

    >>> chronicle(np.array([0, 0, 0]), np.array([1, 1, 2]), np.array([True, False, False]))
    array([ 0, -1,  1])
    """
    if not len(start):
        return start
    # What the first one of a key leaves free depends on nothing before it.
    fixed = np.minimum(start + 1, stop)
    a = np.where(first, 0, 1)
    b = np.where(first, fixed, start + 1)
    c = np.where(first, fixed, stop)
    begins = np.flatnonzero(first)
    most = int(np.diff(np.append(begins, len(first))).max())
    step = 1
    while step < most:
        # What comes `step` rows before goes first.
        a1, b1, c1, a2, b2, c2 = a[:-step], b[:-step], c[:-step], a[step:], b[step:], c[step:]
        c[step:], b[step:], a[step:] = (
            np.minimum(np.maximum(c1 + a2, b2), c2),
            np.maximum(b1 + a2, b2),
            a1 + a2,
        )
        step *= 2
    free = np.empty_like(c)
    free[1:] = c[:-1]
    free[begins] = start[begins]
    taken = np.maximum(free, start)
    return np.where(taken < stop, taken, NOBODY)


def unrestricted(start: Index, stop: Index) -> tuple[Index, Index]:
    """All pairs: positions of later rows, and places of earlier ones.

    >>> unrestricted(np.array([0, 1]), np.array([2, 2]))
    (array([0, 0, 1]), array([0, 1, 1]))
    """
    counts = stop - start
    return np.repeat(np.arange(len(start)), counts), repeat_ranges(start, counts)
