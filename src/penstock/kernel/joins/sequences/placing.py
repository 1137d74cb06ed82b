"""Placing: rows in the order of key and time, and where the rows before each one lie.

Rows are placed by the hash of their keys, by their time, and those of one time by their columns.
Then what lies before a row of the next step, with the same key, is one stretch of these places: it
begins with the key, or where WITHIN does, and ends behind the last row that is not later.

Index arithmetic only. Hashes may collide; who compares keys afterwards finds out.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

Hashes = npt.NDArray[np.uint64]
Times = npt.NDArray[np.int64]
Index = npt.NDArray[np.int64]

#: A code has to have so many bits of the hash at least, or it would hardly tell keys apart.
_FEWEST_HASH_BITS = 24
#: Codes of places stay below this.
_LARGEST_CODE = 1 << 62


def placed(hashes: Hashes, times: Times) -> Index:
    """Positions in the order of hash and time.

    >>> placed(np.array([7, 3, 3], np.uint64), np.array([1, 9, 2]))
    array([2, 1, 0])
    """
    if len(hashes) < 2:
        return np.arange(len(hashes))
    low = int(times.min())
    time_bits = (int(times.max()) - low).bit_length()
    if 64 - time_bits >= _FEWEST_HASH_BITS:
        # The front of the hash and the time fit into one number, which sorts faster than two.
        codes = hashes
        if time_bits:
            front = hashes >> np.uint64(time_bits) << np.uint64(time_bits)
            codes = front | (times - low).view(np.uint64)
        order: Index = np.argsort(codes, kind="stable")
        in_order = hashes[order]
        if (in_order[1:] >= in_order[:-1]).all():
            return order
    return np.lexsort((times, hashes))


def untied(
    order: Index, hashes: Hashes, times: Times, rows: pl.DataFrame, by: Sequence[str]
) -> Index:
    """The same positions, those of equal hash and time in the order of the columns `by`."""
    if len(order) < 2:
        return order
    hashes, times = hashes[order], times[order]
    same = (hashes[1:] == hashes[:-1]) & (times[1:] == times[:-1])
    if not same.any():
        return order
    begins = np.concatenate(([True], ~same))
    tied = ~begins
    tied[:-1] |= same
    places = np.flatnonzero(tied)
    positions = order[places]
    told = rows.select(by)[positions].with_columns(
        pl.Series("__tie", np.cumsum(begins)[places]), pl.Series("__position", positions)
    )
    order = order.copy()
    order[places] = told.sort(["__tie", *by], nulls_last=False).get_column("__position").to_numpy()
    return order


def stretches(
    earlier: tuple[Hashes, Times], later: tuple[Hashes, Times], since: Times | None = None
) -> tuple[Index, Index]:
    """For each later row the places of the earlier ones of its key: from `since` up to its time.

    Both are placed; `since` is a time for each later row.

    >>> zero = np.zeros(3, np.uint64)
    >>> stretches((zero, np.array([1, 5, 8])), (zero[:2], np.array([5, 9])))
    (array([0, 0]), array([2, 3]))
    """
    hashes, times = earlier
    begins = np.flatnonzero(np.concatenate(([True], hashes[1:] != hashes[:-1])))
    distinct = hashes[begins]
    key = np.searchsorted(distinct, later[0])
    known = distinct[np.minimum(key, len(distinct) - 1)] == later[0]
    lengths = np.diff(np.append(begins, len(hashes)))
    key_of = np.repeat(np.arange(len(begins)), lengths)
    low, high = int(times.min()), int(times.max())
    if len(begins) * (high - low + 3) < _LARGEST_CODE:
        span, low = high - low + 3, low - 1

        def numbered(given: Times) -> Times:
            return np.clip(given, low, high + 1) - low

    else:  # too far apart: the number of the time instead
        all_times = np.unique(times)
        span = len(all_times) + 1

        def numbered(given: Times) -> Times:
            return np.searchsorted(all_times, given)

    codes = key_of * span + numbered(times)
    stop = np.searchsorted(codes, key * span + numbered(later[1] + 1))
    if since is None:
        start = begins[np.minimum(key, len(begins) - 1)]
    else:
        start = np.searchsorted(codes, key * span + numbered(since))
    return np.where(known, start, 0), np.where(known, stop, 0)
