"""Monotone expressions: how a bound goes through what is computed from columns that progress.

If nothing below `b` comes on `ts`, nothing below `f(b)` comes on `f(ts)`, provided that `f` never
falls. So a column computed by such an `f` progresses as well, and its bound is the least value that
rows yet to come can have there:

    expression                         its bound, of bounds b (and c)
    ts                                 b
    ts + 5, ts - INTERVAL 1 HOUR       b + 5, b - 1 hour
    date_trunc('minute', ts)           the minute of b
    ts div 10, CAST(ts AS DATE)        b div 10, the day of b
    floor(n / 10)                      the same of b
    timestamp_seconds(n)               b seconds after 1970; beyond the ends of time it is NULL
    greatest(ts, other_ts)             the greater of b and c; or that of the latest of both
    least(ts, other_ts)                the lesser of b and c
    greatest(n, 0), least(n, 9)        likewise

`greatest` and `least` leave NULLs out. So where a column may be NULL, as that of an outer join's
lone rows, it cannot raise the bound of a `greatest`.

Integers wrap around at the ends of their type. What may wrap at the upper end falls there, and is
not monotone: `n + 1` is for a BIGINT whose values are times, and is not for an INT. What wraps at
the lower end comes out high, and breaks no bound, unless it is raised again: of an INT, `n - 1` is
and `(n - 1) + 1` is not.  Spec: window-queries 1.1, 6.3.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

from penstock.model.constants import TRUNC_UNITS
from penstock.model.expressions import Call, Cast, Expression, Named, Ref, constant
from penstock.model.folding import LIMITS, folded
from penstock.model.punctuation import columns_of, is_latest, latest_of
from penstock.model.signatures import SignatureMatch
from penstock.model.timestamps import (
    BEGINNING,
    DAY,
    END,
    EVEN_UNITS,
    MILLISECOND,
    SECOND,
    truncated,
)
from penstock.model.types import Type
from penstock.model.zones import UTC, truncated_in, zone_named

#: What times are moved by at the most, so that many such steps behind each other fit in 64 bits.
_FURTHEST = 1 << 56
#: Between these lie the values of columns that progress, moved or not.
_TIMES = (2 * BEGINNING + (1 << 60), 2 * END - (1 << 60))
#: Types of 64 bits, and what fits in these.
_WIDE = frozenset({Type.BIGINT, Type.TIMESTAMP, Type.TIMESTAMP_NTZ, Type.INTERVAL})
_WIDEST = (-(1 << 63), (1 << 63) - 1)

Bounds = Mapping[str, int]


@dataclass(frozen=True)
class Monotone:
    """A computation that never falls when its columns rise; `limits`: the values it can have."""

    limits: tuple[int, int]
    is_nullable: bool

    @property
    def columns(self) -> frozenset[str]:
        """What it is computed from."""
        raise NotImplementedError

    def value(self, values: Mapping[str, int | None]) -> int | None:
        """What it is in a row."""
        raise NotImplementedError

    def highest(self, values: Bounds) -> int:
        """The greatest it can have been, where its columns were no greater; BEGINNING: nothing."""
        raise NotImplementedError

    def bound(self, bounds: Bounds) -> int:
        """Its bound, where its columns have these."""
        raise NotImplementedError

    def needed(self, bound: int) -> list[dict[str, int]]:
        """The bounds that its columns need for this one: any one of these."""
        raise NotImplementedError


@dataclass(frozen=True)
class Passed(Monotone):
    """A column as it is."""

    name: str

    @property
    def columns(self) -> frozenset[str]:
        return frozenset((self.name,))

    def value(self, values: Mapping[str, int | None]) -> int | None:
        return values[self.name]

    def highest(self, values: Bounds) -> int:
        return values[self.name]

    def bound(self, bounds: Bounds) -> int:
        return bounds.get(self.name, BEGINNING)

    def needed(self, bound: int) -> list[dict[str, int]]:
        return [{self.name: bound}]


#: How a number is computed of another and a constant; none of these ever falls.
_STEPS: dict[str, Callable[[int, Any], int]] = {
    "shift": operator.add,
    "times": operator.mul,
    "to time": operator.mul,  # units of time to ticks: there is nothing beyond the ends of time
    "at least": max,
    "at most": min,
    "floor": lambda value, by: math.floor(value / by),  # of a DOUBLE, of which every step rises
    "ceil": lambda value, by: math.ceil(value / by),
    "divide": operator.floordiv,
    "div": lambda value, by: value // by if value >= 0 else -(-value // by),  # towards zero
    # To the beginning of a unit of time, in UTC or in a zone.
    "truncate": lambda value, by: (
        truncated(by, value) if isinstance(by, str) else truncated_in(by[0], by[1], value)
    ),
}


@dataclass(frozen=True)
class MonotoneStep:
    """A way to compute a number of another that never falls; `by`: a number, or a unit of time."""

    how: str
    by: Any

    def __call__(self, value: int) -> int:
        return _STEPS[self.how](value, self.by)


@dataclass(frozen=True)
class Computed(Monotone):
    """One step behind another computation."""

    input: Monotone
    step: MonotoneStep

    @property
    def columns(self) -> frozenset[str]:
        return self.input.columns

    def value(self, values: Mapping[str, int | None]) -> int | None:
        found = self.input.value(values)
        if found is None:
            return None
        value = self.step(found)
        is_nowhere = self.step.how == "to time" and not BEGINNING < value < END
        return None if is_nowhere else value

    def highest(self, values: Bounds) -> int:
        found = self.input.highest(values)
        return found if found == BEGINNING else self.step(found)

    def bound(self, bounds: Bounds) -> int:
        return self._of(self.input.bound(bounds))

    def _of(self, bound: int) -> int:
        if not BEGINNING < bound < END:
            return bound
        # Lower values would have wrapped around to high ones; and only the end means the end.
        return min(max(self.step(bound), self.limits[0], BEGINNING), END - 1)

    def needed(self, bound: int) -> list[dict[str, int]]:
        """By halving: the least bound that is enough, for what is enough stays so."""
        if not BEGINNING < bound < END:
            return self.input.needed(bound)
        low, high = BEGINNING, END
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._of(middle) >= bound else (middle, high)
        return self.input.needed(high)


@dataclass(frozen=True)
class Extreme(Monotone):
    """The greatest or the least of several, NULLs left out."""

    inputs: tuple[Monotone, ...]
    is_greatest: bool

    @cached_property
    def _deciding(self) -> tuple[Monotone, ...]:
        """Those of which one alone gives `greatest` its bound; none, if all must."""
        return tuple(part for part in self.inputs if self.is_greatest and not part.is_nullable)

    @property
    def columns(self) -> frozenset[str]:
        return frozenset[str]().union(*(part.columns for part in self.inputs))

    def value(self, values: Mapping[str, int | None]) -> int | None:
        found = [value for part in self.inputs if (value := part.value(values)) is not None]
        return (max if self.is_greatest else min)(found, default=None)

    def highest(self, values: Bounds) -> int:
        alone = self.is_greatest or any(part.is_nullable for part in self.inputs)
        return (max if alone else min)(part.highest(values) for part in self.inputs)

    @cached_property
    def _together(self) -> frozenset[str]:
        """The columns of which it is the greatest, or greater: what is known of their latest."""
        if not self.is_greatest:
            return frozenset()
        return frozenset(part.name for part in self.inputs if isinstance(part, Passed))

    def bound(self, bounds: Bounds) -> int:
        if self._deciding:
            alone = max(part.bound(bounds) for part in self._deciding)
        else:
            alone = min(part.bound(bounds) for part in self.inputs)
        if len(self._together) < 2:
            return alone
        latest = (
            b for on, b in bounds.items() if is_latest(on) and columns_of(on) <= self._together
        )
        return max((alone, *latest))

    def needed(self, bound: int) -> list[dict[str, int]]:
        together = [{latest_of(self._together): bound}] if len(self._together) > 1 else []
        if self._deciding:
            return [*together, *(n for part in self._deciding for n in part.needed(bound))]
        every = product(*(part.needed(bound) for part in self.inputs))
        return [*together, *(_all_of(needs) for needs in every)]


def _all_of(needs: Iterable[Bounds]) -> dict[str, int]:
    found: dict[str, int] = {}
    for need in needs:
        for name, bound in need.items():
            found[name] = max(bound, found.get(name, BEGINNING))
    return found


def monotone(expression: Expression, nullable: Iterable[str] = ()) -> Monotone | None:
    """How bounds go through an expression; None: not at all. `nullable`: columns with NULLs.

    >>> day = monotone(Cast(Ref("ts", Type.TIMESTAMP), Type.DATE))
    >>> day.bound({"ts": 3 * DAY - 1}), day.needed(2) == [{"ts": 2 * DAY}]
    (2, True)
    >>> monotone(Call("negative", (Ref("n", Type.BIGINT),))) is None
    True
    """
    match expression:
        case Named():
            return monotone(expression.value, nullable)
        case Ref() if expression.type.can_progress or expression.type is Type.DATE:
            limits = LIMITS.get(expression.type, _TIMES)
            return Passed(limits, expression.name in nullable, expression.name)
        case Cast() if expression.zone != UTC:
            return None  # clocks are put back now and then
        case Cast():
            return _brought(expression.input, expression.to, nullable)
        case Call():
            return _call(expression, expression.match, nullable)
    return None


_SAME = MonotoneStep("shift", 0)

#: Functions of one argument: the same number, or a step from it.
_FUNCTIONS = {
    "unix_seconds": MonotoneStep("divide", SECOND),
    "unix_millis": MonotoneStep("divide", MILLISECOND),
    "timestamp_seconds": MonotoneStep("to time", SECOND),
    "timestamp_millis": MonotoneStep("to time", MILLISECOND),
    "to_date": MonotoneStep("divide", DAY),
    **dict.fromkeys(("unix_micros", "timestamp_micros", "to_timestamp", "floor", "ceil"), _SAME),
}

#: Functions of a number and a constant.
_BY_CONSTANT = {"+": "shift", "-": "shift", "*": "times", "div": "div"}


def _call(call: Call, match: SignatureMatch, nullable: Iterable[str]) -> Monotone | None:
    name, args, wanted = call.function, call.args, match.parameters
    if name in ("greatest", "least"):
        return _extreme_of(call, match, nullable)
    if name == "date_trunc":
        unit, zone = constant(args[0], name), constant(args[2], name) if len(args) > 2 else UTC
        if unit is None or zone is None:
            return None
        whole = TRUNC_UNITS[unit.lower()]
        step = MonotoneStep("truncate", whole if zone == UTC else (whole, zone_named(zone)))
        return _stepped(_brought(args[1], wanted[1], nullable), step, match.result)
    if name in ("floor", "ceil") and isinstance(args[0], Call) and args[0].function == "/":
        return _rounded(args[0], name, nullable)
    if name in _FUNCTIONS:
        return _stepped(_brought(args[0], wanted[0], nullable), _FUNCTIONS[name], match.result)
    if name in _BY_CONSTANT:
        for position in (0, 1) if name in ("+", "*") else (0,):
            by = _constant(args[1 - position], wanted[1 - position])
            if by is not None and (by > 0 or name in ("+", "-")):
                found = _brought(args[position], wanted[position], nullable)
                step = MonotoneStep(_BY_CONSTANT[name], -by if name == "-" else by)
                return _stepped(found, step, match.result)
    return None


def _extreme_of(call: Call, match: SignatureMatch, nullable: Iterable[str]) -> Monotone | None:
    """The greatest or least of columns and constants."""
    pairs = list(zip(call.args, match.parameters, strict=True))
    ends = [end for arg, to in pairs if (end := _constant(arg, to)) is not None]
    others = [_brought(arg, to, nullable) for arg, to in pairs if _constant(arg, to) is None]
    parts = tuple(part for part in others if part is not None)
    if not parts or len(parts) < len(others):
        return None
    limits = min(part.limits[0] for part in parts), max(part.limits[1] for part in parts)
    is_nullable = all(part.is_nullable for part in parts)
    found = Extreme(limits, is_nullable, parts, call.function == "greatest")
    if not ends:
        return found
    if found.is_nullable:
        return None  # where it is NULL the constant is left, which may lie below the bound
    how, end = ("at least", max(ends)) if found.is_greatest else ("at most", min(ends))
    step = MonotoneStep(how, end)
    return _stepped(found, step, match.result)


def _rounded(quotient: Call, how: str, nullable: Iterable[str]) -> Monotone | None:
    """`floor(n / 10)`: a quotient of DOUBLE, rounded to a BIGINT."""
    over, by = quotient.args
    divisor = folded(by)
    if not over.type.is_integer or not isinstance(divisor, int | float) or not divisor >= 1:
        return None
    return _stepped(monotone(over, nullable), MonotoneStep(how, float(divisor)), Type.BIGINT)


def _constant(expression: Expression, to: Type) -> int | None:
    """The value of a constant that is a number of ticks, days or units."""
    value = folded(expression)
    if not isinstance(value, int) or not (to.is_integer or to.is_time or to is Type.INTERVAL):
        return None
    return value * DAY if expression.type is Type.DATE else value


def _brought(expression: Expression, to: Type, nullable: Iterable[str]) -> Monotone | None:
    """An expression as a value of another type."""
    given, found = expression.type, monotone(expression, nullable)
    if given is to:
        return found
    match given, to:
        case _ if given.is_time and to.is_time:
            step = _SAME
        case ((Type.TIMESTAMP | Type.TIMESTAMP_NTZ), Type.DATE):
            step = MonotoneStep("divide", DAY)
        case Type.DATE, (Type.TIMESTAMP | Type.TIMESTAMP_NTZ):
            step = MonotoneStep("times", DAY)
        case Type.TIMESTAMP, _ if to.is_integer:
            step = MonotoneStep("divide", SECOND)
        case _, Type.TIMESTAMP if given.is_integer:
            step = MonotoneStep("times", SECOND)
        case _ if given.is_integer and to.is_integer:
            step = _SAME
        case _:
            return None
    return _stepped(found, step, to)


def _stepped(found: Monotone | None, step: MonotoneStep | None, to: Type) -> Monotone | None:
    """One step further, if what comes out fits its type."""
    if found is None or step is None or not (to in LIMITS or to in _WIDE):
        return None
    how, by = step.how, step.by
    first, last = LIMITS.get(to, _TIMES if how in ("times", "to time") else _WIDEST)
    low, high = map(step, found.limits)
    wraps = how == "truncate" or (how == "shift" and by < 0)
    if wraps and low < first:
        low, high = first, last  # what is too low wraps around, and comes out as high as can be
    is_clipped = how == "to time" and (low <= BEGINNING or high >= END)
    if to is Type.DATE or is_clipped:
        if is_clipped:
            first, last = BEGINNING + 1, END - 1
        low, high = max(low, first), min(high, last)  # beyond these there are none
    is_far = how == "shift" and abs(by) > _FURTHEST
    if is_far or low < first or high > last:
        return None
    if step == _SAME:
        return found
    # No calendar reaches beyond the ends of time: what was moved there becomes NULL.
    by_calendar = to is Type.DATE or (how == "truncate" and by not in EVEN_UNITS)
    moved = any(each.how in ("shift", "times", "to time") for each in _steps(found))
    is_nullable = found.is_nullable or is_clipped or (by_calendar and moved)
    return Computed((low, high), is_nullable, found, step)


def _steps(found: Monotone) -> Iterator[MonotoneStep]:
    while isinstance(found, Computed):
        yield found.step
        found = found.input
