"""What AdaptWID watches of a stream: how long windows are open, and how far sources are apart.

    high-watermark   the newest value seen, per source
    low-watermark    the last bound
    wed              how long a window is open: the high-watermark when it closes less the
                     low-watermark when its first row came, or that row's block's oldest value if
                     that is later; RANGE until one has closed
    offset           how far a source's high-watermark is behind that of the source furthest ahead

All of it is for the choice between two ways to keep a group, never for an answer. So windows count
as begun in their order, although disorder may have begun an earlier one later: then a list with
one entry per bound is enough.  Spec: window-queries 5.2, 5.4.
"""

from __future__ import annotations

from collections.abc import Mapping

#: Windows below `stop` that had not begun before began when the low-watermark was `low`.
Begun = list[tuple[int, int]]


def begin(begun: Begun, stop: int, low: int) -> Begun:
    """Note that windows below `stop` have begun.

    >>> begin([(5, 100)], 7, 120), begin([(5, 100)], 7, 100), begin([(5, 100)], 4, 120)
    ([(5, 100), (7, 120)], [(7, 100)], [(5, 100)])
    """
    if begun and stop <= begun[-1][0]:
        return begun
    if begun and low == begun[-1][1]:
        return [*begun[:-1], (stop, low)]
    return [*begun, (stop, low)]


def end(begun: Begun, bound: int, high: int, duration: float) -> tuple[float, Begun]:
    """How long the last window below `bound` was open (if it ever began), and what is still open.

    >>> end([(5, 100), (7, 120)], bound=6, high=190, duration=60)
    (70, [(7, 120)])
    """
    low = next((low for stop, low in begun if stop >= bound), None)
    remaining = [(stop, low) for stop, low in begun if stop > bound]
    return (duration if low is None else max(high - low, 0)), remaining


def mean_offset(highs: Mapping[str, int], shares: Mapping[str, float]) -> float:
    """How far a row's source is behind, on average over the rows.

    >>> mean_offset({"a": 100, "b": 60}, {"a": 0.75, "b": 0.25})
    10.0
    """
    furthest = max(highs.values(), default=0)
    return sum(share * (furthest - highs[name]) for name, share in shares.items())


def new_shares(shares: Mapping[str, float], counts: Mapping[str, int]) -> dict[str, float]:
    """The share of each source in the rows: half by those that came last.

    >>> new_shares({"a": 1.0}, {"a": 1, "b": 1})
    {'a': 0.75, 'b': 0.25}
    """
    total = sum(counts.values())
    if not total:
        return dict(shares)
    latest = {name: count / total for name, count in counts.items()}
    if not shares:
        return latest
    names = sorted({*shares, *latest})
    return {name: (shares.get(name, 0.0) + latest.get(name, 0.0)) / 2 for name in names}
