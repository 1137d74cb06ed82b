"""Aggregates over the rows of one group, in plain Python, from their definitions."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from penstock.model.aggregates import Aggregate
from penstock.model.expressions import Expression
from penstock.model.user_defined import UserAggregate
from penstock.oracle.event_time import EVENT_TIME
from penstock.oracle.expressions import order, value_of
from penstock.oracle.user_code import user_aggregate
from penstock.windows import Row

Value = Callable[[Row], Any]


#: The function, what it is taken of (None for `count(*)`), what orders rows, and constants.
AggregateCall = (
    tuple[str, Value | None]
    | tuple[str | UserAggregate, Value | None, Value | None, tuple[float, ...]]
)


def aggregate(
    rows: Sequence[Row],
    function: str | UserAggregate,
    value: Value | None,
    by: Value | None = None,
    parameters: tuple[float, ...] = (),
) -> Any:
    """One aggregate over the rows of one group, NULLs left out."""
    if value is None:
        return len(rows)
    if by is not None:
        pairs = [(by(row), value(row)) for row in rows]
        placed = [pair for pair in pairs if pair[0] is not None and pair[1] is not None]
        if isinstance(function, UserAggregate):
            placed.sort(key=lambda pair: (order(pair[0]), *map(order, pair[1])))
            return user_aggregate(function, [x for _, x in placed])
        placed.sort(key=lambda pair: (order(pair[0]), order(pair[1])))
        return PLACED[function]([x for _, x in placed])
    values = [found for row in rows if (found := value(row)) is not None]
    if isinstance(function, UserAggregate):
        return user_aggregate(function, values)
    if function in WITH_PARAMETER:
        return WITH_PARAMETER[function](values, *parameters)
    return AGGREGATES[function](values)


def call_of(call: Aggregate) -> AggregateCall:
    """What `aggregate` is given for one of a plan; a user's is of all its arguments at once."""
    by: Value | None = reader(call.by)
    if call.by_event_time:
        by = event_time
    if call.user is not None:

        def values(row: Row) -> Any:
            found = tuple(value_of(each, row) for each in call.arguments)
            return None if None in found else found

        return call.user, values, by, ()
    return call.function, reader(call.argument), by, call.parameters


def event_time(row: Row) -> Any:
    return row[EVENT_TIME]


def reader(argument: Expression | None) -> Value | None:
    return None if argument is None else lambda row: value_of(argument, row)


def total(values: list[Any]) -> Any:
    if not values:
        return None
    if isinstance(values[0], Decimal):
        return sum(map(Fraction, values))
    return math.fsum(values) if is_finite_float(values) else sum(values)


def average(values: list[Any]) -> Any:
    if not values:
        return None
    found = total(values)
    if isinstance(found, Fraction) and abs(found) * 10 ** -exponent(values[0]) >= 10**38:
        return None  # the sum has more digits than there are
    return found / len(values)


def exponent(value: Decimal) -> int:
    found = value.as_tuple().exponent
    assert isinstance(found, int)
    return found


def variance(values: list[Any], *, sample: bool) -> float | None:
    """Exactly, then rounded once: the mean of the squared distances from the mean."""
    count = len(values) - sample
    if count <= 0:
        return None
    if not all(map(math.isfinite, values)):
        return math.nan
    exact = [Fraction(value) for value in values]
    mean = sum(exact) / len(exact)
    return float(sum((value - mean) ** 2 for value in exact) / count)


def deviation(values: list[Any], *, sample: bool) -> float | None:
    found = variance(values, sample=sample)
    return None if found is None else math.sqrt(found)


def distinct(values: list[Any]) -> list[Any]:
    return sorted({order(value): value for value in values}.values(), key=order)


def percentile(values: list[Any], share: float) -> float | None:
    """Between the two values that the share falls between."""
    if not values:
        return None
    ranked = sorted(map(float, values))
    place = share * (len(ranked) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ranked) - 1)
    return ranked[low] + (ranked[high] - ranked[low]) * (place - low)


def lower_percentile(values: list[Any], share: float) -> float | None:
    """The lower of the two values that the share falls between."""
    if not values:
        return None
    return sorted(map(float, values), key=order)[math.floor(share * (len(values) - 1))]


def frequencies(values: list[Any]) -> list[tuple[Any, int]]:
    """Most frequent first, equal ones in their own order."""
    counts = [(value, values.count(value)) for value in distinct(values)]
    return sorted(counts, key=lambda pair: -pair[1])


def heavy_hitters(values: list[Any], share: float) -> str:
    return text([value for value, count in frequencies(values) if count >= share * len(values)])


def text(values: list[Any]) -> str:
    return json.dumps(values, separators=(",", ":"), default=str)


def is_finite_float(values: list[Any]) -> bool:
    return isinstance(values[0], float) and all(map(math.isfinite, values))


AGGREGATES: dict[str, Callable[[list[Any]], Any]] = {
    "count": len,
    "sum": total,
    "min": lambda values: min(values, key=order, default=None),
    "max": lambda values: max(values, key=order, default=None),
    "avg": average,
    "var_samp": lambda values: variance(values, sample=True),
    "var_pop": lambda values: variance(values, sample=False),
    "stddev_samp": lambda values: deviation(values, sample=True),
    "stddev_pop": lambda values: deviation(values, sample=False),
    "bool_and": lambda values: all(values) if values else None,
    "bool_or": lambda values: any(values) if values else None,
    "count_distinct": lambda values: len(distinct(values)),
    "approx_count_distinct": lambda values: len(distinct(values)),  # what it comes near to
    "sum_distinct": lambda values: total(distinct(values)),
    "avg_distinct": lambda values: average(distinct(values)),
    "collect_set": lambda values: text(distinct(values)),
    "mode": lambda values: frequencies(values)[0][0] if values else None,
}

PLACED: dict[str, Callable[[list[Any]], Any]] = {
    "min_by": lambda values: values[0] if values else None,
    "max_by": lambda values: values[-1] if values else None,
    "collect_list": text,
}

WITH_PARAMETER: dict[str, Callable[..., Any]] = {
    "percentile": percentile,
    "approx_percentile": lower_percentile,  # what it comes near to
    "top_k": lambda values, k: text(sorted(values, key=order, reverse=True)[:k]),
    "heavy_hitters": heavy_hitters,
}
