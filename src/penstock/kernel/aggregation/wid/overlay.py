"""Overlay: ranges of wids laid over each other and cut where any of them begins or ends.

    one      ├───────────────┤            wids 0 … 7
    another          ├───────────────┤    wids 4 … 11
    pieces   ├───────┼───────┼───────┤    {one}  {one, another}  {another}

Within a piece every wid has the same rows behind it, so it needs one partial aggregate, however
long it is: the cost of a step follows the number of ends, not the number of windows a row is in.
Ranges of different groups never cut each other. Index arithmetic only; no data is touched here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.kernel.aggregates.grouping import Grouping, Ids
from penstock.kernel.aggregates.keys import Codes, code_integers, combine


@dataclass(frozen=True, eq=False)
class Overlay:
    """Pieces, and what lies on them: range `source[i]` covers piece `pieces.ids[i]`."""

    source: Ids
    pieces: Grouping
    start: Ids  # of each piece
    stop: Ids
    relative: Ids  # for each piece, some range of its group


def overlay(groups: Codes, start: Ids, stop: Ids) -> Overlay:
    """Cut ranges [start, stop) at the ends of other ranges of their group."""
    both = Codes(np.concatenate((groups.codes, groups.codes)), groups.size, groups.low)
    ends = np.concatenate((start, stop))
    # All groups stand on one line, one behind the other; cuts are places on it, in order.
    cuts = combine((both, code_integers(ends)), len(ends)).groups()
    first, last = cuts.ids[: len(start)], cuts.ids[len(start) :]
    begun = np.bincount(first, minlength=cuts.size)
    ended = np.bincount(last, minlength=cuts.size)
    covered = np.cumsum(begun - ended) > 0  # is there a piece behind the cut, or a gap?
    behind = np.flatnonzero(covered)
    number = np.cumsum(covered) - 1
    lengths = last - first
    place = ends[cuts.members]
    return Overlay(
        source=np.repeat(np.arange(len(start)), lengths),
        pieces=Grouping(repeat_ranges(number[first], lengths), len(behind)),
        start=place[behind],
        stop=place[behind + 1],
        relative=cuts.members[behind] % len(start),
    )


def repeat_ranges(start: Ids, lengths: Ids) -> Ids:
    """All integers of ranges that begin at `start`, one range behind the other.

    >>> repeat_ranges(np.array([5, 0]), np.array([2, 3]))
    array([5, 6, 0, 1, 2])
    """
    before = np.cumsum(lengths) - lengths
    repeated: Ids = np.repeat(start - before, lengths)
    repeated += np.arange(len(repeated))
    return repeated
