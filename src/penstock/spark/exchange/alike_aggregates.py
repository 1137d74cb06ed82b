"""AlikeAggregates: aggregates that differ only in the rows they take, folded in one go.

A thousand queries of one kind are a thousand filters over the same stream, and one window, one
set of functions. Filters of many are evaluated together, in one pass over the rows; the rows that
each takes are laid one behind the other, and whose they are is one more column to group by:

    region = 3          rows 0 4 9           whose  shop  wid   n
    region = 5      ─►  rows 2 4         ─►    17      1    6   2
    price > 100         rows 0 1 4 8           17      2    6   1
                                               23      1    6   2   …

So what is done once for a block costs the same for one as for all, and what is done for every row
is done for those that are taken. A group gets one table for all of them, merges those of several
tasks as one, and only then gives each aggregate its own (`apart`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
import polars as pl

from penstock.kernel.aggregates.grouping import Ids
from penstock.kernel.aggregation.preaggregating import Preaggregating
from penstock.kernel.aggregation.wid.bucket import WID_END, WID_START
from penstock.kernel.expressions import compile_expression
from penstock.kernel.operator import Operator
from penstock.model.aggregates import Aggregate
from penstock.model.expressions import Expression
from penstock.optimizer.build import operator_of
from penstock.optimizer.codec import canonical
from penstock.optimizer.specs import BucketSpec, PaneStoreSpec, SelectSpec, Spec, WindowSpec
from penstock.spark.exchange.preaggregate import Preaggregate, aggregate_of
from penstock.spark.exchange.row_query import through

#: The column that says whose partial aggregates these are: the number of an operator.
WHOSE = "__whose"
#: Filters that are evaluated in one pass.
FILTERS = 64
#: Rows that are laid one behind the other before they are aggregated.
LAID = 1 << 21

_Kind: TypeAlias = tuple[str, ...]


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

    def fold(self, rows: pl.DataFrame) -> Iterator[pl.DataFrame]:
        """What they keep of rows; tables of several have the column WHOSE."""
        if len(self.members) == 1:
            folded = self.members[0].fold(rows)
            if folded is not None:
                yield folded
            return
        rows = through(self._steps, rows)
        if not rows.height:
            return
        used = rows.select(self._columns)
        for whose, index in _laid(self._taken(rows)):
            laid = used[pl.Series(index)].with_columns(pl.Series(WHOSE, whose))
            yield self._aggregate.preaggregated(laid)

    @cached_property
    def _steps(self) -> list[Operator]:
        """What is done to rows before the filters, since it is the same for all."""
        others = (step for step in self.members[0].steps if not isinstance(step, SelectSpec))
        return [operator_of(step, ()) for step in others]

    @cached_property
    def _filters(self) -> list[pl.Expr]:
        return [compile_expression(_filter_of(member)) for member in self.members]

    @cached_property
    def _aggregate(self) -> Preaggregating:
        return aggregate_of(by_whose(self.members[0].spec))

    @cached_property
    def _columns(self) -> list[str]:
        return columns_of(self.members[0].spec)

    def _taken(self, rows: pl.DataFrame) -> Iterator[tuple[int, Ids]]:
        """By aggregate, the places of the rows that it takes."""
        for first in range(0, len(self.members), FILTERS):
            filters = self._filters[first : first + FILTERS]
            masks = rows.select(each.alias(str(n)) for n, each in enumerate(filters))
            for member, mask in zip(self.members[first:], masks.iter_columns(), strict=False):
                places = np.flatnonzero(mask.fill_null(False).to_numpy())
                if len(places):
                    yield member.number, places


def _laid(taken: Iterable[tuple[int, Ids]]) -> Iterator[tuple[Ids, Ids]]:
    """Places of rows one behind the other, and whose they are, so many at a time."""
    waiting: list[tuple[int, Ids]] = []
    count = 0
    for each in taken:
        waiting.append(each)
        count += len(each[1])
        if count >= LAID:
            yield _together(waiting)
            waiting, count = [], 0
    if waiting:
        yield _together(waiting)


def _together(taken: Sequence[tuple[int, Ids]]) -> tuple[Ids, Ids]:
    whose = np.repeat([number for number, _ in taken], [len(places) for _, places in taken])
    return whose, np.concatenate([places for _, places in taken])


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


def columns_of(spec: Spec) -> list[str]:
    """The columns of rows that an aggregate looks at."""
    if isinstance(spec, PaneStoreSpec):
        aggregates, on = spec.aggregates, [spec.panes.on]
    else:
        assert isinstance(spec, WindowSpec)
        aggregates, on = tuple(each for _, each in spec.results), [WID_START, WID_END]
    return list(dict.fromkeys([*on, *spec.groups, *sorted(_read(aggregates))]))


def _read(aggregates: Iterable[Aggregate]) -> set[str]:
    expressions = (e for each in aggregates for e in (each.argument, each.by) if e is not None)
    return {name for expression in expressions for name in expression.refs}


def _filter_of(aggregate: Preaggregate) -> Expression:
    [select] = (step for step in aggregate.steps if isinstance(step, SelectSpec))
    return select.predicate


def apart(folded: Sequence[pl.DataFrame], spec: Spec) -> Iterator[tuple[int, pl.DataFrame]]:
    """Of tables of several aggregates that are alike, what each of them keeps; `spec` is one's."""
    whole = folded[0] if len(folded) == 1 else aggregate_of(by_whose(spec)).merged(folded)
    parts = whole.partition_by(WHOSE, include_key=False, maintain_order=True, as_dict=True)
    for (number,), part in parts.items():
        yield number, part
