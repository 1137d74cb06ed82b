"""ClosingTogether: windows of aggregates that differ only in the rows they take, closed in one go.

A thousand queries of one kind are a thousand aggregates with the same windows, groups and functions
behind filters of their own. One bound closes windows of them all, with a handful of rows in each:
to handle a table takes longer than what is done with its rows. So the first of them that is told
the bound computes the results of all, whose they are being one more column to group by, and the
others find theirs ready when the same bound comes to them.

What is ready is a proposal, which changes nothing: whoever gets other rows or another bound before
it asks computes its own. Aggregates to which rows are still on their way are left out from the
start.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from penstock.kernel.aggregates.grouping import concat
from penstock.kernel.aggregation.panes.ranges import Ranges, in_order
from penstock.kernel.aggregation.preaggregating import WHOSE
from penstock.kernel.aggregation.wid.bucket import WID_END, WID_START
from penstock.kernel.aggregation.wid.wid import Closed, WidAggregate
from penstock.kernel.graph import Graph, GraphNode
from penstock.kernel.segments import Segment
from penstock.model.timestamps import BEGINNING


@dataclass(frozen=True)
class _Ready:
    """What closing will give, if the segments are still those of before."""

    before: Sequence[Segment]
    closed: Closed


class ClosingTogether:
    """Aggregates with the same windows, groups and functions."""

    def __init__(self, members: Mapping[WidAggregate, GraphNode]) -> None:
        self._members = members
        one = next(iter(members))
        self._of_all = one.by_one_more(WHOSE)
        self._bound = BEGINNING
        self._ready: dict[WidAggregate, _Ready] = {}

    def close(self, one: WidAggregate, bound: int) -> Closed | None:
        """What closing the windows of one below the bound gives; None: it is on its own."""
        if bound > self._bound:
            self._bound = bound
            self._ready = self._prepared(bound)
        ready = self._ready.pop(one, None)
        if bound != self._bound or ready is None or ready.before != one.state.partials.segments:
            return None
        return ready.closed

    def _prepared(self, bound: int) -> dict[WidAggregate, _Ready]:
        level = [each for each, node in self._members.items() if _has_all_rows(node)]
        level = [each for each in level if each.state.closed < bound]
        if len(level) == 1:
            return {}
        level = _of_one_schema(level)
        before = [[*each.state.partials.segments] for each in level]
        split = [each.state.partials.split_below(bound) for each in level]
        rows, rest = self._closed(bound, [taken for taken, _ in split])
        return {
            each: _Ready(before[number], Closed(rows(number), [*rest(number), *split[number][1]]))
            for number, each in enumerate(level)
        }

    def _closed(
        self, bound: int, taken: Sequence[Sequence[pl.DataFrame]]
    ) -> tuple[Callable[[int], pl.DataFrame | None], Callable[[int], list[Segment]]]:
        """By number, the results, and segments of what goes back to what is kept."""
        tables = [table for each in taken for table in each]
        if not tables:
            return lambda number: None, lambda number: []
        columns = concat(tables, tables[0].columns)
        start, stop = columns.pop(WID_START).to_numpy(), columns.pop(WID_END).to_numpy()
        heights = [table.height for table in tables]
        whose = np.repeat(np.arange(len(taken)), [len(each) for each in taken])
        layers = np.concatenate([np.arange(len(each)) for each in taken])
        columns = {WHOSE: pl.Series(np.repeat(whose, heights)), **columns}
        ranges = Ranges(start, stop, columns)
        below, rest = self._of_all.parted(bound, ranges, np.repeat(layers, heights))
        results = self._of_all.presented(_by_whose(below))
        kept = None if rest is None else _by_whose_and_wid(rest).table()
        found, going_back = _slices(results, len(taken)), _slices(kept, len(taken))

        def segments(number: int) -> list[Segment]:
            rows = going_back(number)
            return [] if rows is None else [Segment(rows)]

        return found, segments


def _by_whose(ranges: Ranges) -> Ranges:
    """In the order of whose they are; those of one stay in the order they are in."""
    whose = ranges.columns[WHOSE].to_numpy()
    return ranges if (np.diff(whose) >= 0).all() else ranges.take(in_order(whose))


def _by_whose_and_wid(ranges: Ranges) -> Ranges:
    """In the order of whose they are, and of each one's first wids, as its segments have to be."""
    return ranges.take(np.lexsort((ranges.start, ranges.columns[WHOSE].to_numpy())))


def _slices(rows: pl.DataFrame | None, count: int) -> Callable[[int], pl.DataFrame | None]:
    """The part of each, of rows that stand in the order of whose they are; None: it has none."""
    if rows is None:
        return lambda number: None
    ends = rows.get_column(WHOSE).to_numpy().searchsorted(np.arange(count + 1))
    others = rows.drop(WHOSE)

    def part(number: int) -> pl.DataFrame | None:
        first, stop = int(ends[number]), int(ends[number + 1])
        return others.slice(first, stop - first) if stop > first else None

    return part


def _of_one_schema(level: Sequence[WidAggregate]) -> list[WidAggregate]:
    """Those that keep the same types: groups may have a name in common and nothing else."""
    kept = [each.state.partials.segments for each in level]
    schemas = [segments[0].whole.schema if segments else None for segments in kept]
    like = next(filter(None, schemas), None)
    pairs = zip(level, schemas, strict=True)
    return [each for each, schema in pairs if schema is None or schema == like]


def _has_all_rows(node: GraphNode) -> bool:
    """Whether no row is on its way to a node."""
    return not any(cursor.rows for cursor in node.inputs) and all(
        _has_all_rows(producer) for producer in node.producers
    )


def close_together(graph: Graph) -> None:
    """Have aggregates of a graph that are alike close their windows together."""
    alike: dict[tuple[object, ...], dict[WidAggregate, GraphNode]] = {}
    for node in graph.nodes.values():
        if type(node.operator) is WidAggregate:
            node.operator.companions = None
            alike.setdefault(node.operator.kind, {})[node.operator] = node
    for members in alike.values():
        if len(members) > 1:
            together = ClosingTogether(members)
            for each in members:
                each.companions = together
