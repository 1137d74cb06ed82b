"""FilterIndex: which rows of a block pass each of many filters, without asking all of every row.

Most filters hold a column against constants: `region = 3`, `price BETWEEN 100 AND 200`, `product IN
(7, 9)`. The rows of a block are put in the order of such a column once; then a filter's rows lie
side by side, and are found by their first and last value. Of several such conditions the one that
fewest rows pass is taken, and the others are asked only of these rows.

    in the order of region    0 0 0 1 1 2 3 3 3 3 3 4 5 …
    region = 3                            └───────┘  then price >= 100 of these five

It pays for many filters; a few, and those that hold no column against constants, are evaluated for
all rows, several in one pass. A filter that many others have in common, of which one must hold, is
answered by what is found for these.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from penstock.kernel.aggregates.grouping import Ids, narrowed, take_rows
from penstock.kernel.aggregation.panes.ranges import in_order
from penstock.kernel.expressions import compile_expression
from penstock.model.expressions import (
    Call,
    Expression,
    Literal,
    Ref,
    conjunction,
    conjuncts,
    disjuncts,
)
from penstock.model.types import Type

#: Filters that are evaluated in one pass, and how many make it worth while to put rows in order.
FILTERS, WORTH_AN_ORDER = 64, 8
#: Values within so many of each other are counted one by one.
FEW_VALUES = 1 << 16

_LEAST, _MOST = -(1 << 63), (1 << 63) - 1
_WHOLE = (Type.TINYINT, Type.SMALLINT, Type.INT, Type.BIGINT)
#: What is left of a comparison when its sides are exchanged.
_MIRRORED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True)
class Interval:
    """The values least … most of a column."""

    least: int
    most: int


@dataclass(frozen=True)
class Filter:
    """A condition: by column the intervals that its values must be in, and what else must hold."""

    columns: tuple[tuple[str, tuple[Interval, ...]], ...]
    rest: Expression | None

    @classmethod
    def of(cls, condition: Expression) -> Filter:
        found: dict[str, tuple[Interval, ...]] = {}
        others = []
        for each in conjuncts(condition):
            known = _held_against_constants(each)
            if known is None:
                others.append(each)
            else:
                name, intervals = known
                before = found.get(name)
                found[name] = intervals if before is None else _both(before, intervals)
        return cls(tuple(found.items()), conjunction(others))

    @cached_property
    def of_rest(self) -> pl.Expr:
        assert self.rest is not None
        return compile_expression(self.rest)


@dataclass(frozen=True)
class Condition:
    """The condition of one filter, ready to be asked."""

    expression: Expression

    @cached_property
    def filter(self) -> Filter:
        return Filter.of(self.expression)

    @cached_property
    def compiled(self) -> pl.Expr:
        return compile_expression(self.expression)

    @cached_property
    def parts(self) -> tuple[Condition, ...]:
        """Many conditions of which one must hold, each with a column held against constants."""
        parts = tuple(map(Condition, disjuncts(self.expression)))
        many = len(parts) >= WORTH_AN_ORDER and all(part.filter.columns for part in parts)
        return parts if many else ()


def _held_against_constants(condition: Expression) -> tuple[str, tuple[Interval, ...]] | None:
    """A column and the intervals in which its values pass; None: it is another kind of condition.

    >>> from penstock.model.expressions import Call, Literal, Ref
    >>> x = Ref("x", Type.BIGINT)
    >>> _held_against_constants(Call(">", (Literal(5, Type.BIGINT), x)))
    ('x', (Interval(least=-9223372036854775808, most=4),))
    """
    if not isinstance(condition, Call):
        return None
    function, args = condition.function, condition.args
    if function == "in" and isinstance(args[0], Ref):
        values = [_constant(each, args[0]) for each in args[1:]]
        if all(value is not None for value in values):
            whole = sorted({value for value in values if value is not None})
            return args[0].name, tuple(Interval(value, value) for value in whole)
    if function not in _MIRRORED or len(args) != 2:
        return None
    one, other = args
    if not isinstance(one, Ref):
        one, other, function = other, one, _MIRRORED[function]
    if not isinstance(one, Ref):
        return None
    value = _constant(other, one)
    if value is None:
        return None
    match function:
        case "=":
            return one.name, (Interval(value, value),)
        case "<":
            return one.name, (Interval(_LEAST, value - 1),)
        case "<=":
            return one.name, (Interval(_LEAST, value),)
        case ">":
            return one.name, (Interval(value + 1, _MOST),)
        case _:
            return one.name, (Interval(value, _MOST),)


def _constant(expression: Expression, of: Ref) -> int | None:
    """The whole number that a column is held against; None: it is something else."""
    if not isinstance(expression, Literal) or expression.value is None:
        return None
    whole = expression.of in _WHOLE and of.type in _WHOLE
    times = expression.of is of.type and (of.type.is_time or of.type is Type.DATE)
    return int(expression.value) if whole or times else None


def _both(some: Sequence[Interval], others: Sequence[Interval]) -> tuple[Interval, ...]:
    """What lies in both."""
    pairs = ((max(a.least, b.least), min(a.most, b.most)) for a in some for b in others)
    return tuple(Interval(least, most) for least, most in pairs if least <= most)


class FilterIndex:
    """The rows of one block, for filters to be asked of them."""

    def __init__(self, rows: pl.DataFrame) -> None:
        self.rows = rows
        self._columns: dict[str, _InOrder] = {}

    def taken(self, conditions: Sequence[Condition]) -> Iterator[tuple[int, Ids]]:
        """For each filter that any row passes, its number among these, and the rows' places."""
        if not self.rows.height:
            return
        others = []
        for number, condition in enumerate(conditions):
            if len(conditions) >= WORTH_AN_ORDER and condition.filter.columns:
                places = self._found(condition.filter)
            elif condition.parts:
                places = np.flatnonzero(self.passed_by_any(condition.parts))
            else:
                others.append(number)
                continue
            if len(places):
                yield number, places
        for first in range(0, len(others), FILTERS):
            some = others[first : first + FILTERS]
            masks = _asked(self.rows, [conditions[n].compiled for n in some])
            for number, mask in zip(some, masks, strict=True):
                places = np.flatnonzero(mask)
                if len(places):
                    yield number, places

    def passed_by_any(self, conditions: Sequence[Condition]) -> npt.NDArray[np.bool_]:
        """Which rows pass one of the filters."""
        passed = np.zeros(self.rows.height, dtype=np.bool_)
        for _, places in self.taken(conditions):
            passed[places] = True
        return passed

    def _found(self, condition: Filter) -> Ids:
        spans = {name: self._column(name).spans(within) for name, within in condition.columns}
        first = min(spans, key=lambda name: _size(spans[name]))
        places = self._column(first).places(spans[first])
        for name, within in condition.columns:
            if name != first and len(places):
                places = places[self._column(name).holds(places, within)]
        if condition.rest is not None and len(places):
            names = sorted(condition.rest.refs)
            some = take_rows(self.rows.select(names) if names else self.rows, places)
            [passed] = _asked(some, [condition.of_rest])
            places = places[passed]
        return places

    def _column(self, name: str) -> _InOrder:
        if name not in self._columns:
            self._columns[name] = _InOrder(self.rows.get_column(name))
        return self._columns[name]


def _asked(rows: pl.DataFrame, conditions: Sequence[pl.Expr]) -> list[npt.NDArray[np.bool_]]:
    """For each condition, which rows pass; NULL does not."""
    names = [f"__passed_{number}" for number in range(len(conditions))]
    # Not `select`: what looks at no column would have one row.
    found = rows.with_columns(**dict(zip(names, conditions, strict=True)))
    return [found.get_column(name).fill_null(False).to_numpy() for name in names]


def _size(spans: Iterable[tuple[int, int]]) -> int:
    return sum(stop - start for start, stop in spans)


class _InOrder:
    """A column of whole numbers, and its rows in their order; NULL passes no condition."""

    def __init__(self, column: pl.Series) -> None:
        self._valid: npt.NDArray[np.bool_] | None = None
        numbers = column.cast(pl.Int64)
        if column.null_count():
            self._valid = column.is_not_null().to_numpy()
            numbers = numbers.fill_null(0)
        self._whole: Ids = numbers.to_numpy()
        self._numbers = narrowed(self._whole)

    @cached_property
    def _order(self) -> Ids:
        if self._valid is None:
            return narrowed(in_order(self._whole))
        places = np.flatnonzero(self._valid)
        return narrowed(places[in_order(self._whole[places])]) if len(places) else places

    @cached_property
    def _sorted(self) -> Ids:
        return self._whole[self._order]

    def spans(self, within: Sequence[Interval]) -> list[tuple[int, int]]:
        """Where values of these intervals stand in the order."""
        if self._below is not None:
            found = [(self._count(each.least), self._count(each.most + 1)) for each in within]
            return [(start, stop) for start, stop in found if start < stop]
        starts = np.searchsorted(self._sorted, [_fitting(each.least) for each in within], "left")
        stops = np.searchsorted(self._sorted, [_fitting(each.most) for each in within], "right")
        return [(int(a), int(b)) for a, b in zip(starts, stops, strict=True) if a < b]

    @cached_property
    def _below(self) -> Ids | None:
        """How many values lie below each, from the least on; None: they lie too far apart."""
        values = self._whole if self._valid is None else self._whole[self._valid]
        if not len(values):
            return None
        self._least, most = int(values.min()), int(values.max())
        if most - self._least >= FEW_VALUES:
            return None
        counts = np.bincount(values - self._least)
        return np.concatenate(([0], np.cumsum(counts)))

    def _count(self, value: int) -> int:
        """How many values lie below this one, where all lie close together."""
        assert self._below is not None
        return int(self._below[min(max(value - self._least, 0), len(self._below) - 1)])

    def places(self, spans: Sequence[tuple[int, int]]) -> Ids:
        """The rows that stand there."""
        if not spans:
            return np.empty(0, dtype=np.int64)
        parts = [self._order[start:stop] for start, stop in spans]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def holds(self, places: Ids, within: Sequence[Interval]) -> npt.NDArray[np.bool_]:
        """Of some rows, whether their values are in one of the intervals."""
        numbers = self._numbers[places]
        found = np.zeros(len(places), dtype=np.bool_)
        for each in within:
            # Most have one end only.
            if each.least <= _LEAST:
                found |= numbers <= _fitting(each.most)
            elif each.most >= _MOST:
                found |= numbers >= _fitting(each.least)
            else:
                found |= (numbers >= _fitting(each.least)) & (numbers <= _fitting(each.most))
        return found if self._valid is None else found & self._valid[places]


def _fitting(value: int) -> int:
    """A bound beyond all 64-bit numbers, as the nearest of them."""
    return min(max(value, _LEAST), _MOST)
