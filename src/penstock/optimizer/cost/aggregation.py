"""What a window costs, with panes and without: the model that chooses between WID and Paned-WID.

    paned, non-differential    (a T / P + b G) SLIDE / pane + c P G
    paned, differential        (a T / P + b G) SLIDE / pane + 2 c G SLIDE / pane
    WID                        a T

per window, where T rows are in a window of P panes, G groups in a pane; a is the cost of a row, b
of a group that leaves a pane, c of one that is added to a window or taken from it. The first two
terms are printed for one pane per slide; in general there are SLIDE / pane of them.
Spec: window-queries 4.3, Eq 6.1 to 6.4.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.windows.panes import common_panes
from penstock.windows.sliding import Sliding

#: What is assumed of a stream about which nothing is known.
ROWS_PER_PANE = 100
GROUPS_PER_PANE = 10


@dataclass(frozen=True)
class Load:
    """How much comes, and what single steps cost relative to a row."""

    rows_per_pane: float = ROWS_PER_PANE
    groups_per_pane: float = GROUPS_PER_PANE
    row: float = 1.0
    closing: float = 1.0
    composing: float = 1.0


def time_wid(window: Sliding, load: Load) -> float:
    """Every row updates all its windows: per window, all its rows (Eq 6.3)."""
    return load.row * load.rows_per_pane * panes_per_window(window)


def time_paned(window: Sliding, load: Load, differential: bool) -> float:
    """Rows of the panes of one slide, and what it takes to put the window together (6.1, 6.2)."""
    per_slide = window.slide / common_panes([window]).length
    filling = load.row * load.rows_per_pane + load.closing * load.groups_per_pane
    changed = 2 * per_slide if differential else panes_per_window(window)
    return filling * per_slide + load.composing * changed * load.groups_per_pane


def panes_per_window(window: Sliding) -> int:
    return common_panes([window]).per_window(window)
