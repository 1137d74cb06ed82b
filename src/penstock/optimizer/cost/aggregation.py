"""What a window costs, with panes and without: the model that chooses between WID and Paned-WID.

Work is counted per window; what a unit of it costs is measured (`runtime/calibrate.py`), for each
of the ways in which windows are computed:

    way          how                                                       functions
    wid          rows update all their windows                             all
    grid         panes as a table, of running sums                         counts, sums of integers
    blocks       panes as a table, put together by powers of two           also extremes
    differences  panes are added and taken away, where a table is sparse   counts, sums of integers
    merge        a window merges its panes                                 all

In a window are the rows of one SLIDE that are new in it, as *cells* (groups of a block and pane) of
as many blocks as they come in. A *closing* is a step that lets windows out; a block longer than
SLIDE closes several in one. What closes and what is put out counts by groups. A merge of panes
counts by panes and groups; WID merges the partials of its open windows as they come, each about
as often as the number of ranges that a group has can be doubled. Panes that n windows share cost
each of them an n-th.
Spec: window-queries 4.3, Eq 6.1 to 6.4, which know WID, differences and merges.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from penstock.kernel.aggregation.aggregate_set import AggregateSet
from penstock.kernel.aggregation.panes.pane_grid import FEW_PLACES, PLACES, can_be_laid_out
from penstock.model.aggregates import Aggregate
from penstock.optimizer.cost.costs import Costs
from penstock.windows.panes import common_panes
from penstock.windows.sliding import Sliding

WID, GRID, BLOCKS, DIFFERENCES, MERGE = "wid", "grid", "blocks", "differences", "merge"

#: How many groups a stream may have of which nothing is known: choices are to suit all of them.
ASSUMED_GROUPS = (1, 100, 10_000)


@dataclass(frozen=True)
class Load:
    """How much comes to an aggregate."""

    rows_per_slide: float = 1000
    rows_per_block: float = 1000
    groups: float | None = None  # None: not known
    seen: bool = False  # not assumed

    def __str__(self) -> str:
        groups = f"{ASSUMED_GROUPS[0]} to {ASSUMED_GROUPS[-1]:,}"
        groups = groups if self.groups is None else _short(self.groups)
        return (
            f"{'seen' if self.seen else 'assumed'}: {_short(self.rows_per_slide)} rows per slide "
            f"in blocks of {_short(self.rows_per_block)}, {groups} group{'s' * (groups != '1')}"
        )


def groups_in(rows: float, groups: float) -> float:
    """How many of the groups so many rows have, if all are equally frequent.

    >>> round(groups_in(100, groups=100))
    63
    """
    return groups * -math.expm1(-rows / groups)


def groups_for(rows: float, seen: float) -> float:
    """How many groups there are, if so many rows have `seen` of them; `groups_in` backwards.

    >>> round(groups_for(100, groups_in(100, groups=100)))
    100
    >>> round(groups_for(100, seen=100))  # all differ: it may be any number
    10000
    """
    low, high = seen, max(seen, rows * ASSUMED_GROUPS[1])
    for _ in range(50):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if groups_in(rows, middle) < seen else (low, middle)
    return high


class Work(NamedTuple):
    """What is done for one window."""

    blocks: float
    rows: float
    cells: float
    closings: float
    groups: float
    results: float
    merged: float


@dataclass(frozen=True)
class Estimate:
    """Microseconds a window, computed in both ways."""

    wid: float
    paned: float
    load: Load
    source: str  # of the costs

    def __str__(self) -> str:
        return (
            f"estimated {_short(self.paned)} us per window with panes, {_short(self.wid)} us "
            f"without ({self.load}; costs {self.source})"
        )


def estimate(
    window: Sliding,
    groups: Sequence[str],
    aggregates: Sequence[Aggregate],
    load: Load,
    costs: Costs,
    sharers: int = 1,
) -> Estimate:
    """What a window costs with panes, which `sharers` windows share, and without.

    Where it is not known how many groups there are: the geometric mean over all that may be.
    """
    if not groups:
        load = replace(load, groups=1)
    assumed = ASSUMED_GROUPS if load.groups is None else (load.groups,)
    columns = len(AggregateSet(groups, [(str(n), a) for n, a in enumerate(aggregates)]).partials)
    times: dict[bool, list[float]] = {False: [], True: []}
    for number in assumed:
        way = way_of_panes(window, aggregates, load.rows_per_slide, number)
        times[False].append(costs.of(WID, work(WID, window, columns, load, number)))
        times[True].append(costs.of(way, work(way, window, columns, load, number, sharers)))
    wid, paned = (math.prod(found) ** (1 / len(found)) for found in times.values())
    return Estimate(wid, paned, load, costs.source)


def way_of_panes(
    window: Sliding, aggregates: Sequence[Aggregate], rows_per_slide: float, groups: float
) -> str:
    """How windows are put together from panes (`PanedWid`, `PaneGrid`)."""
    differential = all(aggregate.is_invertible for aggregate in aggregates)
    parts = AggregateSet((), [(str(n), a) for n, a in enumerate(aggregates)]).parts
    panes = panes_per_window(window)
    rows = rows_per_slide * common_panes([window]).length / window.slide
    places = panes * groups_in(panes * rows, groups)
    is_full = places <= max(PLACES * panes * groups_in(rows, groups), FEW_PLACES)
    if can_be_laid_out(parts) and is_full:
        return GRID if differential else BLOCKS
    return DIFFERENCES if differential else MERGE


def work(
    way: str, window: Sliding, columns: int, load: Load, groups: float, sharers: int = 1
) -> Work:
    """What is done for one window, by one way to compute it; `columns` of partial aggregates."""
    rows, block = load.rows_per_slide, load.rows_per_block
    per_slide = window.slide / common_panes([window]).length
    pane = rows / per_slide
    blocks = rows / block
    cells = blocks * groups_in(block, groups)
    if block > pane:
        cells = per_slide * groups_in(pane, groups)
    closings = min(1.0, blocks)
    in_window = groups_in(rows * window.range / window.slide, groups)
    merged = 0.0
    if way == MERGE:
        merged = panes_per_window(window) * groups_in(pane, groups)
    elif way == WID:
        ranges = groups_in(rows, groups)  # new in a slide
        merged = ranges * math.log2(1 + ranges * window.range / window.slide / max(in_window, 1))
    # A column more costs a quarter of what the first one does: finding groups is most of the work.
    width = (3 + columns) / 4
    return Work(
        blocks / sharers,
        rows * width / sharers,
        cells * width / sharers,
        closings * width,
        closings * in_window * width,
        in_window * width,
        merged * width,
    )


def panes_per_window(window: Sliding) -> int:
    return common_panes([window]).per_window(window)


def _short(number: float) -> str:
    """A number to three digits.

    >>> _short(1234567), _short(0.0123)
    ('1,230,000', '0.0123')
    """
    if not number:
        return "0"
    digits = 2 - math.floor(math.log10(abs(number)))
    rounded = round(number, digits)
    return f"{rounded:,.{max(0, digits)}f}" if digits <= 0 else f"{rounded:g}"
