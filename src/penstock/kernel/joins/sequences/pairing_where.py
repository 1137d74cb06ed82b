"""The rules of `pairing`, where a pair must also satisfy a condition: pairs are tried.

`holds` tells of pairs, given as positions of later rows and places of earlier ones, which of them
satisfy it. So many are tried at a time as fit into memory well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from penstock.kernel.joins.sequences.pairing import NOBODY, unrestricted
from penstock.kernel.joins.sequences.placing import Index
from penstock.kernel.segments import Mask

Holds = Callable[[Index, Index], Mask]

#: Pairs that are tried at a time.
AT_A_TIME = 1 << 20


def recent_where(start: Index, stop: Index, holds: Holds) -> Index:
    """For each later row the latest one before it that matches.

    The last one is tried, then the two before it, then four: twice as many as needed at most.
    """
    found = np.full(len(start), NOBODY)
    looking, top, width = np.flatnonzero(stop > start), stop.copy(), 1
    while len(looking):
        low = np.maximum(start[looking], top[looking] - width)
        for mine, theirs in _chunks(low, top[looking]):
            who = looking[mine]
            matching = holds(who, theirs)
            # Of several for one row the last one stays, which is the latest.
            found[who[matching]] = theirs[matching]
        top[looking] = low
        looking = looking[(found[looking] == NOBODY) & (low > start[looking])]
        width *= 2
    return found


def chronicle_where(start: Index, stop: Index, holds: Holds) -> Index:
    """For each later row the earliest one before it that matches and that nobody before it uses.

    Later rows come in the order of their turns, as far as they could want the same. A row has its
    wish if nobody before it could have taken that; who has lost it has another one in the next
    round.
    """
    found = np.full(len(start), NOBODY)
    used = np.zeros(int(stop.max(initial=0)), np.bool_)
    for mine, theirs in _chunks(start, stop):
        free = ~used[theirs]
        mine, theirs = mine[free], theirs[free]
        matching = holds(mine, theirs)
        mine, theirs = mine[matching], theirs[matching]
        while len(mine):
            wishes = np.concatenate(([True], mine[1:] != mine[:-1]))  # of each row the earliest
            before_all = np.full(int(theirs.max()) + 1, len(start))
            np.minimum.at(before_all, theirs, mine)
            granted = wishes & (before_all[theirs] == mine)
            found[mine[granted]] = theirs[granted]
            used[theirs[granted]] = True
            left = ~used[theirs] & (found[mine] == NOBODY)
            mine, theirs = mine[left], theirs[left]
    return found


def unrestricted_where(start: Index, stop: Index, holds: Holds) -> Iterator[tuple[Index, Index]]:
    """All pairs that match, some at a time."""
    for mine, theirs in _chunks(start, stop):
        matching = holds(mine, theirs)
        yield mine[matching], theirs[matching]


def _chunks(start: Index, stop: Index) -> Iterator[tuple[Index, Index]]:
    """All pairs, as many later rows at a time as have about so many."""
    ends = np.cumsum(stop - start)
    begin = 0
    while begin < len(start):
        before = int(ends[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, before + AT_A_TIME, side="right")))
        mine, theirs = unrestricted(start[begin:end], stop[begin:end])
        yield mine + begin, theirs
        begin = end
