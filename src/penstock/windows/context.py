"""What an operator must know besides a row to tell which windows the row belongs to.

Backward context is knowledge about the rows that came before it, forward context about
those still to come. The class of a window decides how it can be run: context-free windows
need no state to number rows, forward-context-aware ones cannot number a row when it comes.
Spec: window-queries 2.5.
"""

from __future__ import annotations

from enum import Enum


class WindowContext(Enum):
    """The three classes; each includes the one above it."""

    CONTEXT_FREE = "CF"
    """Neither context: specification and row are enough. Sliding and tumbling windows over
    a time or an explicit row number."""

    FORWARD_CONTEXT_FREE = "FCF"
    """No forward context: ids are known when the row comes. Partitioned windows over rows
    (a count per partition) and landmark windows (ids without an upper end)."""

    FORWARD_CONTEXT_AWARE = "FCA"
    """Needs forward context: which ids exist depends on rows to come, only the range they
    fall in is known. The slide-by-tuple family."""
