"""Expressions, one row at a time, in plain Python: the slow twin of the compiled ones.

The meaning is Spark SQL's with ANSI mode off. NULL is None; TIMESTAMP and INTERVAL are ticks, DATE
is days. A function that is not listed in `LENIENT` gives NULL as soon as one argument is NULL.
What functions take and give, and so what arguments are widened to, is the model's business; what
they compute is written here a second time, on purpose. Casts stand in `casts`.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal, localcontext
from fractions import Fraction
from typing import Any

from penstock.model.decimals import DECIMAL_FUNCTIONS
from penstock.model.expressions import Call, Case, Cast, Expression, Literal, Named, Ref
from penstock.model.functions import LONGEST_TEXT, lookup
from penstock.model.timestamps import BEGINNING, DAY, END, MILLISECOND, SECOND, from_ticks, to_ticks
from penstock.model.types import ArrayType, DecimalType, Type
from penstock.model.user_calls import UserCall
from penstock.oracle import decimals
from penstock.oracle.casts import as_text, cast, fit, is_float, to_bigint
from penstock.oracle.nested import NESTED
from penstock.oracle.user_code import user_call
from penstock.oracle.zones import clock_in, instant_in


def value_of(expression: Expression, row: Mapping[str, Any]) -> Any:
    """The expression's value for one row."""
    match expression:
        case Literal():
            return expression.value
        case Ref():
            return row[expression.name]
        case Named():
            return value_of(expression.value, row)
        case Case():
            for condition, branch in expression.branches:
                if value_of(condition, row) is True:
                    return widen(value_of(branch, row), branch.type, expression.type)
            otherwise = expression.otherwise
            return widen(value_of(otherwise, row), otherwise.type, expression.type)
        case Cast():
            given = value_of(expression.input, row)
            return cast(given, expression.input.type, expression.to, expression.zone)
        case Call():
            return call(expression, [value_of(arg, row) for arg in expression.args])
        case UserCall():
            return user_call(expression, [value_of(arg, row) for arg in expression.args])
    raise AssertionError(f"no such expression: {expression!r}")


def call(expression: Call, given: list[Any]) -> Any:
    """A function applied to values: widen the arguments, compute, fit the result to its type."""
    function = lookup(expression.function)
    types = tuple(arg.type for arg in expression.args)
    match = expression.match
    args = [widen(*each) for each in zip(given, types, match.parameters, strict=True)]
    is_exact = bool(args) and isinstance(match.parameters[0], DecimalType)
    if function.name in TYPED and not (is_exact and function.name in DECIMAL_FUNCTIONS):
        if None in args and function.name != "concat_ws":
            return None
        return TYPED[function.name](args, match.parameters)
    if function.name in LENIENT:
        return LENIENT[function.name](*args)
    if None in args:
        return None
    if function.name in NESTED:
        return NESTED[function.name](*args)
    if is_exact and function.name in DECIMAL_FUNCTIONS:
        return decimals.compute(function.name, args, match.result)
    return fit(STRICT[function.name](*args), match.result)


def widen(value: Any, given: Type, wanted: Type) -> Any:
    """A value brought to a type that holds it."""
    if value is None or given is wanted:
        return value
    if wanted in (Type.FLOAT, Type.DOUBLE):
        return float(value)
    if isinstance(wanted, DecimalType):
        return decimals.to_type(value, wanted)
    if given is Type.DATE and wanted.is_time:
        return value * DAY
    if isinstance(given, ArrayType) and isinstance(wanted, ArrayType):
        return [widen(part, given.element, wanted.element) for part in value]
    return value


# --- order and logic ----------------------------------------------------------------------------


def order(value: Any) -> Any:
    """What to compare by: NaN equals itself and is greater than every other number."""
    return (value != value, 0.0 if value != value else value) if is_float(value) else value


def comparison(holds: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    return lambda left, right: holds(order(left), order(right))


def and_(left: Any, right: Any) -> bool | None:
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def or_(left: Any, right: Any) -> bool | None:
    if left is True or right is True:
        return True
    return None if left is None or right is None else False


def in_(value: Any, *candidates: Any) -> bool | None:
    if value is None:
        return None
    if any(each is not None and order(each) == order(value) for each in candidates):
        return True
    return None if None in candidates else False


def same(left: Any, right: Any) -> bool:
    if left is None or right is None:
        return left is right
    return bool(order(left) == order(right))


def best(choose: Callable[..., Any]) -> Callable[..., Any]:
    def of(*values: Any) -> Any:
        return choose((v for v in values if v is not None), key=order, default=None)

    return of


LENIENT: dict[str, Callable[..., Any]] = {
    "and": and_,
    "or": or_,
    "in": in_,
    "<=>": same,
    "is_null": lambda value: value is None,
    "is_not_null": lambda value: value is not None,
    "isnan": lambda value: value is not None and math.isnan(value),
    "coalesce": lambda *values: next((v for v in values if v is not None), None),
    "nullif": lambda left, right: None if left is not None and same(left, right) else left,
    "if": lambda condition, yes, no: yes if condition is True else no,
    "greatest": best(max),
    "least": best(min),
}


# --- arithmetic ---------------------------------------------------------------------------------


def remainder(left: Any, right: Any) -> Any:
    """With the sign of the dividend."""
    if right == 0:
        return None
    if is_float(left):
        return math.nan if math.isinf(left) else math.fmod(left, right)
    return left - right * truncated(left, right)


def positive_remainder(args: list[Any], types: tuple[Type, ...]) -> Any:
    left, right = args
    found = remainder(left, right)
    if found is None or found >= 0 or math.isnan(found):
        return found
    return remainder(fit(found + right, types[0]), right)


def truncated(left: int, right: int) -> int | None:
    """The integer quotient, cut towards zero."""
    if right == 0:
        return None
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def divided(left: float, right: float) -> float | None:
    return None if right == 0 else left / right


def scaled(args: list[Any], types: tuple[Type, ...], *, divide: bool) -> int | None:
    """An INTERVAL times or by a number, rounded to ticks, halves away from zero."""
    ticks, number = args if types[0] is Type.INTERVAL else reversed(args)
    if not math.isfinite(number) or (divide and number == 0):
        return None
    exact = Fraction(ticks) / Fraction(number) if divide else ticks * Fraction(number)
    away = int(abs(exact) + Fraction(1, 2))
    return fit(away if exact >= 0 else -away, Type.INTERVAL)  # type: ignore[no-any-return]


def times(args: list[Any], types: tuple[Type, ...]) -> Any:
    if Type.INTERVAL in types:
        return scaled(args, types, divide=False)
    return fit(args[0] * args[1], types[0])


def moved(args: list[Any], types: tuple[Type, ...], *, back: bool) -> Any:
    """A sum or difference; a DATE is moved by days, as far as time reaches."""
    found = args[0] - args[1] if back else args[0] + args[1]
    if types[0] is Type.DATE:
        return found if BEGINNING // DAY <= found <= END // DAY else None
    both = [of for of in types if of is not Type.INTERVAL]
    if back and types[0].is_time and types[1].is_time:
        return fit(found, Type.INTERVAL)
    return fit(found, both[0] if both else Type.INTERVAL)


def over(args: list[Any], types: tuple[Type, ...]) -> Any:
    return scaled(args, types, divide=True) if Type.INTERVAL in types else divided(*args)


def rounded(args: list[Any], types: tuple[Type, ...]) -> Any:
    """Halves away from zero, as the decimal text of the number reads."""
    number, digits = args[0], args[1] if len(args) > 1 else 0
    if is_float(number) and not math.isfinite(number):
        return number
    with localcontext(Context(prec=400)):  # a DOUBLE can have 309 digits before the point
        step = Decimal(1).scaleb(-digits)
        exact = (Decimal(repr(number)) / step).quantize(Decimal(1), ROUND_HALF_UP) * step
    # No zero has a sign here.
    return fit(type(number)(exact) + type(number)(0), types[0])


def towards(rounding: Callable[[Any], int]) -> Callable[[Any], int]:
    def of(x: Any) -> int:
        is_far = is_float(x) and not abs(x) < 2.0**63
        return to_bigint(x) if is_far else rounding(x)

    return of


def power(base: float, exponent: float) -> float:
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return -math.inf if base < 0 and exponent % 2 == 1 else math.inf
    except ValueError:
        odd = exponent % 2 == 1
        return math.copysign(math.inf, base if odd else 1.0) if base == 0 else math.nan


def exponential(x: float) -> float:
    return math.inf if x > 709.782712893384 else math.exp(x)


def logarithm(log: Callable[[float], float]) -> Callable[[float], float | None]:
    return lambda x: log(x) if x > 0 or math.isnan(x) else None


# --- text ---------------------------------------------------------------------------------------


def like(flags: int = 0) -> Callable[..., bool]:
    def matches(text: str, pattern: str, escape: str = "\\") -> bool:
        parts, rest = [], iter(pattern)
        for char in rest:
            if char == escape:
                parts.append(re.escape(next(rest, escape)))
            else:
                parts.append({"%": ".*", "_": "."}.get(char, re.escape(char)))
        return re.fullmatch("".join(parts), text, flags | re.DOTALL) is not None

    return matches


def substring(text: str, position: int, count: int | None = None) -> str:
    start = position - 1 if position > 0 else len(text) + position if position < 0 else 0
    end = len(text) if count is None else start + count
    return text[max(start, 0) : max(end, 0)]


def limited(text: str) -> str | None:
    """A text that was made, or none if it has become too long."""
    return text if len(text) <= LONGEST_TEXT else None


def pad(text: str, length: int, fill: str, *, front: bool) -> str | None:
    if length <= len(text) or not fill:
        return limited(text[: max(length, 0)])
    if length > LONGEST_TEXT:
        return None
    missing = (fill * length)[: length - len(text)]
    return missing + text if front else text + missing


def split_part(text: str, separator: str, position: int) -> str:
    parts = text.split(separator) if separator else [text]
    index = position - 1 if position > 0 else len(parts) + position
    return parts[index] if position != 0 and 0 <= index < len(parts) else ""


def joined(args: list[Any], types: tuple[Type, ...]) -> str | None:
    return limited("".join(as_text(*each) for each in zip(args, types, strict=True)))


def joined_with(args: list[Any], types: tuple[Type, ...]) -> str | None:
    """All that are not NULL, with the first argument between them."""
    if args[0] is None:
        return None
    rest = zip(args[1:], types[1:], strict=True)
    return limited(args[0].join(as_text(value, of) for value, of in rest if value is not None))


# --- time ---------------------------------------------------------------------------------------


def time_of(count: int, unit: int) -> int | None:
    return count * unit if BEGINNING < count * unit < END else None


def field(read: Callable[[datetime], int]) -> Callable[[int], int]:
    return lambda ticks: read(from_ticks(ticks))


def date_trunc(unit: str, ticks: int, zone: str = "UTC") -> int | None:
    unit = unit.lower()
    if zone != "UTC":
        local = clock_in(ticks, zone)
        begin = date_trunc(unit, local)
        if begin is None or unit in ("hour", "minute", "second", "millisecond", "microsecond"):
            return None if begin is None else ticks - (local - begin)
        return instant_in(begin, zone)
    steps = {"microsecond": 1, "millisecond": MILLISECOND, "second": SECOND, "day": DAY}
    steps |= {"minute": 60 * SECOND, "hour": 3600 * SECOND}
    if unit in steps:
        return ticks // steps[unit] * steps[unit]
    day = from_ticks(ticks).replace(hour=0, minute=0, second=0, microsecond=0)
    match unit:
        case "week":
            return to_ticks(day - timedelta(days=day.weekday()))
        case "month":
            return to_ticks(day.replace(day=1))
        case "quarter":
            return to_ticks(day.replace(day=1, month=(day.month - 1) // 3 * 3 + 1))
        case "year":
            return to_ticks(day.replace(day=1, month=1))
    return None


STRICT: dict[str, Callable[..., Any]] = {
    "%": remainder,
    "div": truncated,
    "negative": operator.neg,
    "abs": abs,
    "sign": lambda x: x if math.isnan(x) or x == 0 else math.copysign(1.0, x),
    "ceil": towards(math.ceil),
    "floor": towards(math.floor),
    "sqrt": lambda x: math.sqrt(x) if not x < 0 else math.nan,
    "exp": exponential,
    "ln": logarithm(math.log),
    "log10": logarithm(math.log10),
    "log2": logarithm(math.log2),
    "power": power,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "~": operator.invert,
    "=": comparison(operator.eq),
    "<>": comparison(operator.ne),
    "<": comparison(operator.lt),
    "<=": comparison(operator.le),
    ">": comparison(operator.gt),
    ">=": comparison(operator.ge),
    "not": operator.not_,
    "like": like(),
    "ilike": like(re.IGNORECASE),
    "rlike": lambda text, pattern: re.search(pattern, text) is not None,
    "upper": str.upper,
    "lower": str.lower,
    "length": len,
    "trim": lambda text: text.strip(" "),
    "ltrim": lambda text: text.lstrip(" "),
    "rtrim": lambda text: text.rstrip(" "),
    "btrim": lambda text, chars=" ": text.strip(chars) if chars else text,
    "substring": substring,
    "left": lambda text, count: text[: max(count, 0)],
    "right": lambda text, count: text[max(len(text) - count, 0) :] if count > 0 else "",
    "replace": lambda text, old, new="": limited(text.replace(old, new)) if old else text,
    "contains": lambda text, part: part in text,
    "startswith": str.startswith,
    "endswith": str.endswith,
    "lpad": lambda text, length, fill=" ": pad(text, length, fill, front=True),
    "rpad": lambda text, length, fill=" ": pad(text, length, fill, front=False),
    "repeat": lambda text, count: (
        text * max(count, 0) if len(text) * count <= LONGEST_TEXT else None
    ),
    "reverse": lambda text: text[::-1],
    "split_part": split_part,
    "year": field(lambda t: t.year),
    "quarter": field(lambda t: (t.month + 2) // 3),
    "month": field(lambda t: t.month),
    "weekofyear": field(lambda t: t.isocalendar().week),
    "dayofyear": field(lambda t: t.timetuple().tm_yday),
    "dayofmonth": field(lambda t: t.day),
    "dayofweek": field(lambda t: t.isoweekday() % 7 + 1),
    "weekday": field(datetime.weekday),
    "hour": field(lambda t: t.hour),
    "minute": field(lambda t: t.minute),
    "second": field(lambda t: t.second),
    "date_trunc": date_trunc,
    "unix_seconds": lambda ticks: ticks // SECOND,
    "unix_millis": lambda ticks: ticks // MILLISECOND,
    "unix_micros": lambda ticks: ticks,
    "timestamp_millis": lambda millis: time_of(millis, MILLISECOND),
    "timestamp_micros": lambda micros: micros,
}

#: Functions whose meaning depends on the types of their arguments.
TYPED: dict[str, Callable[[list[Any], tuple[Type, ...]], Any]] = {
    "+": lambda args, types: moved(args, types, back=False),
    "-": lambda args, types: moved(args, types, back=True),
    "*": times,
    "/": over,
    "pmod": positive_remainder,
    "round": rounded,
    "||": joined,
    "concat": joined,
    "concat_ws": joined_with,
    "timestamp_seconds": lambda args, types: (
        time_of(args[0], SECOND) if types[0].is_integer else cast(args[0], types[0], Type.TIMESTAMP)
    ),
    "to_date": lambda args, types: cast(args[0], types[0], Type.DATE),
    "to_timestamp": lambda args, types: cast(args[0], types[0], Type.TIMESTAMP),
}
