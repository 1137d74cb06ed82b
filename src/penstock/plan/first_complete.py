"""The first window that is complete, of a query that comes to streams which had rows already.

A window is complete if none of its rows came before the query did. Rows at or before the newest
time so far may have; so the first complete one is the first that begins behind it.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.plan.graph import streams_of, walk
from penstock.plan.nodes import Node, WindowAggregate
from penstock.windows import Sliding


def first_complete(plan: Node, newest: Mapping[str, int]) -> tuple[int, int] | None:
    """From when to when it lies, given the newest time of each stream so far.

    None: the query has no windows over time, or several of them, one upon the other.
    """
    windows = [node for node in walk(plan) if isinstance(node, WindowAggregate)]
    if len(windows) != 1 or not isinstance(windows[0].window, Sliding):
        return None
    window = windows[0].window
    known = [newest[name] for name in streams_of(plan) if name in newest]
    if window.unit != "time" or not known:
        return None
    first = max(known) + 1
    # The least w with m + (w+1)s - r >= first, as `windows/sliding.py` has it.
    wid = -(-(first + window.range - window.origin) // window.slide) - 1
    end = window.origin + (wid + 1) * window.slide
    return end - window.range, end
