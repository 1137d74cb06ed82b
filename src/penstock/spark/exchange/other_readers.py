"""OtherReaders: who reads a stream's rows beside the aggregates that the exchange folds them for.

A join needs rows, also of a stream of which a hundred aggregates need none. So rows that were
folded go to the groups all the same, those that any of the others takes; in a group they pass by
the operators for which they were folded (`group_host`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from penstock.kernel.expressions.filter_index import Condition, FilterIndex
from penstock.model.expressions import Expression
from penstock.model.streams import Stream
from penstock.optimizer.physical import PhysicalPlan
from penstock.optimizer.specs import SelectSpec, SourceSpec
from penstock.spark.exchange.preaggregate import Preaggregate


@dataclass(frozen=True)
class OtherReaders:
    """The filters of all of them; None: one takes every row."""

    filters: tuple[Expression, ...] | None

    @cached_property
    def _conditions(self) -> tuple[Condition, ...]:
        return tuple(map(Condition, self.filters or ()))

    def rows(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows that any of them takes."""
        if self.filters is None:
            return rows
        return rows.filter(FilterIndex(rows).passed_by_any(self._conditions))


NOBODY = OtherReaders(())


def other_readers(heads: Sequence[PhysicalPlan]) -> OtherReaders:
    """Those that begin with these operators, which read a source."""
    specs = [head.spec for head in heads]
    filters = [spec.predicate for spec in specs if isinstance(spec, SelectSpec)]
    return OtherReaders(tuple(filters) if len(filters) == len(specs) else None)


def can_be_others(
    stream: Stream, heads: Sequence[PhysicalPlan], aggregates: Sequence[Preaggregate]
) -> bool:
    """Whether rows can be folded although there are other readers.

    Rows in order are put in order in the groups, all of a batch together, and those that may be
    late go another way than those that are not.
    """
    sources = [below.spec for head in heads for below in head.inputs]
    passes_late = any(isinstance(spec, SourceSpec) and spec.with_late for spec in sources)
    return bool(aggregates) and not stream.is_ordered and not passes_late
