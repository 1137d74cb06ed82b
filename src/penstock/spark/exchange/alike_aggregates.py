"""AlikeAggregates: aggregates that differ only in the rows they take, folded in one go.

A thousand queries of one kind are a thousand filters over the same stream, and one window, one
set of functions. Which rows pass which filter is found for all of them together (`filter_index`);
which group and window a row is in, once. The rows that each takes are laid one behind the other,
and whose they are is one more column to group by:

    region = 3          rows 0 4 9           whose  shop  wid   n
    region = 5      ─►  rows 2 4         ─►    17      1    6   2
    price > 100         rows 0 1 4 8           17      2    6   1
                                               23      1    6   2   …

So what is done once for a block costs the same for one as for all, and what is done for every row
is done for those that are taken. Where filters look at columns of few different values, as regions
and quantities, rows of one group and window that agree in these pass the same ones: they are
aggregated once, and filters pick from what that gives (`condensed`).

A group gets one table for all of them, merges those of several tasks as one, and only then gives
each aggregate its own (`apart`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import TypeAlias

import polars as pl

from penstock.kernel.aggregates.grouping import Ids, frame, take
from penstock.kernel.aggregates.keys import Codes, Groups, code_column, combine
from penstock.kernel.aggregation.preaggregating import WHOSE, Preaggregating, Selections
from penstock.kernel.expressions.filter_index import Condition, FilterIndex
from penstock.kernel.operator import Operator
from penstock.model.expressions import Expression
from penstock.optimizer.build import operator_of
from penstock.optimizer.codec import canonical
from penstock.optimizer.specs import BucketSpec, PaneStoreSpec, SelectSpec, Spec, WindowSpec
from penstock.spark.exchange.preaggregate import Preaggregate, aggregate_of
from penstock.spark.exchange.row_query import through

#: Rows that are laid one behind the other before they are aggregated: few enough for a cache.
LAID = 1 << 18

#: It pays to condense rows for so many filters, if on average so many rows become one.
FILTERS, FEWER = 8, 4

_Kind: TypeAlias = tuple[str, ...]
_Names: TypeAlias = tuple[str, ...]


class ReadBlock:
    """Rows that are to be folded, and what is found out about them for one kind or another."""

    def __init__(self, rows: pl.DataFrame) -> None:
        self.rows = rows
        self.index = FilterIndex(rows)
        #: By groups and windows, the rows with their windows, and the cells that they are in.
        self.tagged: dict[_Kind, tuple[pl.DataFrame, Groups]] = {}
        #: By these and by columns, which rows agree in all of it, and one of each.
        self.condensed: dict[tuple[_Kind, _Names], tuple[Groups, FilterIndex] | None] = {}


@dataclass(frozen=True)
class AlikeAggregates:
    """One or several aggregates; several differ in their filters alone."""

    members: tuple[Preaggregate, ...]

    @property
    def number(self) -> int:
        """By which its partial aggregates are known."""
        return self.members[0].number

    @property
    def keys(self) -> tuple[str, ...]:
        return self.members[0].keys

    def fold(self, block: ReadBlock) -> pl.DataFrame | None:
        """What they keep of rows, None: nothing; a table of several has the column WHOSE."""
        if len(self.members) == 1:
            return self.members[0].fold(block.rows)
        index, known = block.index, block.tagged.get(self._where)
        rows, cells = known or (through(self._steps, block.rows), None)
        if rows.height != index.rows.height:
            index = FilterIndex(rows)  # some are in no window
        if not rows.height:
            return None
        selections = self._aggregate.selections(rows, cells)
        block.tagged[self._where] = (rows, selections.cells)
        tables = [
            of.started(some)
            for by, members in self._by_columns.items()
            for asked, of in [self._looked_at(by, len(members), block, index, selections)]
            for some in _at_once(_taken(asked, members))
        ]
        return self._of_all.settled(pl.concat(tables)) if tables else None

    def _looked_at(
        self, by: _Names, filters: int, block: ReadBlock, index: FilterIndex, rows: Selections
    ) -> tuple[FilterIndex, Selections]:
        """Where filters that look at these columns find rows: as they are, or condensed."""
        if not by or filters < FILTERS:
            return index, rows
        known = (self._where, by)
        if known not in block.condensed:
            block.condensed[known] = condensed(index.rows, by, rows.cells)
        found = block.condensed[known]
        return (index, rows) if found is None else (found[1], rows.condensed(found[0]))

    @cached_property
    def _by_columns(self) -> dict[_Names, list[tuple[int, Condition]]]:
        """Members with their filters, by the columns that these look at and nothing else."""
        found: dict[_Names, list[tuple[int, Condition]]] = {}
        for member in self.members:
            condition = Condition(_filter_of(member))
            names = sorted(name for name, _ in condition.filter.columns)
            by = () if condition.filter.rest is not None else tuple(names)
            found.setdefault(by, []).append((member.number, condition))
        return found

    @cached_property
    def _where(self) -> _Kind:
        """What those have in common of whom a row is in the same group and window."""
        spec, steps = self.members[0].spec, self.members[0].steps
        assert isinstance(spec, WindowSpec | PaneStoreSpec)
        others = (canonical(step) for step in steps if not isinstance(step, SelectSpec))
        panes = (canonical(spec.panes),) if isinstance(spec, PaneStoreSpec) else ()
        return (type(spec).__name__, *spec.groups, "by", *others, *panes)

    @cached_property
    def _steps(self) -> list[Operator]:
        """What is done to rows before the filters, since it is the same for all."""
        others = (step for step in self.members[0].steps if not isinstance(step, SelectSpec))
        return [operator_of(step, ()) for step in others]

    @cached_property
    def _aggregate(self) -> Preaggregating:
        return aggregate_of(self.members[0].spec)

    @cached_property
    def _of_all(self) -> Preaggregating:
        return aggregate_of(by_whose(self.members[0].spec))


def condensed(rows: pl.DataFrame, by: _Names, cells: Groups) -> tuple[Groups, FilterIndex] | None:
    """Which rows of a cell agree in these columns, and the columns of one of each.

    None: too few do, by how far apart the values lie.
    """
    columns = {name: rows.get_column(name) for name in by}
    codes = [Codes(cells.ids, cells.size), *map(code_column, columns.values())]
    if prod(each.size for each in codes) * FEWER > rows.height:
        return None
    alike = combine(codes, rows.height).groups()
    return alike, FilterIndex(frame(take(columns, alike.members)))


def _taken(
    index: FilterIndex, members: Sequence[tuple[int, Condition]]
) -> Iterator[tuple[int, Ids]]:
    """Whose rows these are, and their places."""
    for number, places in index.taken([condition for _, condition in members]):
        yield members[number][0], places


def _at_once(taken: Iterable[tuple[int, Ids]]) -> Iterator[list[tuple[int, Ids]]]:
    """Places of rows, and whose they are, so many at a time."""
    waiting: list[tuple[int, Ids]] = []
    count = 0
    for each in taken:
        waiting.append(each)
        count += len(each[1])
        if count >= LAID:
            yield waiting
            waiting, count = [], 0
    if waiting:
        yield waiting


def alike(aggregates: Iterable[Preaggregate]) -> tuple[AlikeAggregates, ...]:
    """All aggregates, with those together that can be folded together."""
    found: dict[_Kind, list[Preaggregate]] = {}
    for each in aggregates:
        found.setdefault(_kind(each), []).append(each)
    return tuple(AlikeAggregates(tuple(members)) for members in found.values())


def _kind(aggregate: Preaggregate) -> _Kind:
    """What those have in common that are folded together."""
    spec, steps = aggregate.spec, aggregate.steps
    others = [step for step in steps if not isinstance(step, SelectSpec)]
    selects = [step for step in steps[:1] if isinstance(step, SelectSpec)]
    # A filter that is not the first may look at what the steps before it have made of a row, and
    # what is computed for rows that are left out must not fail for them: windows never do.
    plain = len(selects) == 1 and len(others) == len(steps) - 1
    plain = plain and all(isinstance(step, BucketSpec) for step in others)
    if not plain or not _is_by_groups(spec):
        return (str(aggregate.number),)
    return (canonical(spec), *map(canonical, others), *aggregate.keys)


def _is_by_groups(spec: Spec) -> bool:
    """Whether a further column to group by keeps everything apart: in sessions it does not."""
    is_wid = isinstance(spec, WindowSpec) and spec.algorithm == "WidAggregate"
    return is_wid or isinstance(spec, PaneStoreSpec)


def by_whose(spec: Spec) -> Spec:
    """The same aggregate for several, whose rows are told apart by one more column."""
    assert isinstance(spec, WindowSpec | PaneStoreSpec)
    return replace(spec, groups=(WHOSE, *spec.groups))


def _filter_of(aggregate: Preaggregate) -> Expression:
    [select] = (step for step in aggregate.steps if isinstance(step, SelectSpec))
    return select.predicate


def apart(folded: Sequence[pl.DataFrame], spec: Spec) -> Iterator[tuple[int, pl.DataFrame]]:
    """Of tables of several aggregates that are alike, what each of them keeps; `spec` is one's."""
    whole = folded[0] if len(folded) == 1 else aggregate_of(by_whose(spec)).merged(folded)
    parts = whole.partition_by(WHOSE, include_key=False, maintain_order=True, as_dict=True)
    for (number,), part in parts.items():
        yield number, part
