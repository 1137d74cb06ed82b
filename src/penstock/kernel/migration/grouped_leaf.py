"""GroupedLeaf: a leaf whose rows a new box gets aggregated, and the old one as they are.

    old    Join(a, b)
    new    Join(a, groups of b)    b > WidAggregate > Project, one row for each group and window

Rows of the leaf that the old box stores have met all that has come of the others, and are part of
the aggregate above; they have to meet what is still to come. So the new box stores the groups that
they make, with the start of their window as their time. The aggregate below begins empty: rows that
come from now on are in groups of their own, which meet all the others at the end of their window.
No pair is lost, none is counted twice. A bound is that of the window that it lies in.

The aggregate above keeps its partials, too: those of the new one are made of the same rows, under
other names (`move_aggregate`), since the sum of counts of parts is the count of all.
Spec: dynamic-optimization 3.6, 8.3.
"""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from penstock.kernel.aggregates.keys import code_integers
from penstock.kernel.aggregation.driver import IdDriver, present
from penstock.kernel.aggregation.wid.bucket import WID_END, WID_START
from penstock.kernel.aggregation.wid.wid import WidAggregate
from penstock.kernel.migration.box import BoxInput, producers_of, sides_of
from penstock.kernel.operators.project import Project
from penstock.kernel.segments import Segment
from penstock.model.punctuation import Punctuation
from penstock.model.schema import WINDOW_END, WINDOW_START
from penstock.model.timestamps import END
from penstock.windows import Sliding


class GroupedLeaf:
    """The leaf of a new box that reads an aggregate through projections."""

    def __init__(self, leaf: BoxInput) -> None:
        self.on = leaf.on
        self._projects: list[Project] = []  # the lowest first
        below = producers_of(leaf.node)[leaf.port]
        while isinstance(below.operator, Project):
            self._projects.insert(0, below.operator)
            [below] = producers_of(below)
        assert isinstance(below.operator, IdDriver) and isinstance(below.operator.window, Sliding)
        self._aggregates, self._window = below.operator.aggregates, below.operator.window

    def groups_of(self, before: BoxInput) -> pl.DataFrame | None:
        """The rows that another box stores of the leaf, aggregated; None: there are none."""
        stored = list(before.stored())
        if not stored:
            return None
        side = sides_of(before.join.spec)[before.port]
        names = {*self._aggregates.groups, *self._aggregates.arguments, self._window.on}
        as_they_came = [pl.col(side.column(name)).alias(name) for name in sorted(names)]
        rows = self._aggregates.prepare(pl.concat(rows.select(as_they_came) for rows in stored))
        times = rows.get_column(self._window.on).cast(pl.Int64).to_numpy()
        wids, _ = self._window.wid_range(times)
        cells = self._aggregates.cells(rows.to_dict(), code_integers(wids))
        columns = self._aggregates.answers(self._aggregates.started(rows, cells))
        groups = present(columns, *self._window.covers(wids[cells.members]))
        for project in self._projects:
            groups = project.projected(groups)
        return groups

    def bounds_of(self, told: Iterable[Punctuation]) -> list[Punctuation]:
        """What bounds of the rows say of the groups."""
        found: list[Punctuation] = []
        for each in told:
            if each.on == self._window.on:
                wid = END if each.is_final else self._window.closed_below(each.bound)
                start, end = (END, END) if wid >= END else self._window.covers(wid)
                found += [Punctuation(WINDOW_START, start), Punctuation(WINDOW_END, end)]
        for project in self._projects:
            found = [behind for each in found for behind in project.translate(each)]
        return found


def move_aggregate(before: WidAggregate, now: WidAggregate) -> int:
    """Have an aggregate of groups go on from one of rows; gives how many partials moved."""
    for fact, value in before.state.facts().items():
        setattr(now.state, fact, value)
    now.look_anew()  # other rows come from now on
    same = now.aggregates.counterparts(before.aggregates)
    assert same is not None, "partials of another form"
    columns = [WID_START, WID_END, *now.aggregates.groups]
    renamed = [pl.col(theirs).alias(mine) for mine, theirs in same.items()]
    segments = [Segment(rows.select(*columns, *renamed)) for rows in before.state.partials]
    now.state.partials.segments = segments
    return now.state.partials.rows
