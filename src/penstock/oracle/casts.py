"""Values of one type as values of another, in plain Python: CAST, text, and what types hold.

The meaning is Spark SQL's with ANSI mode off: integers wrap around, a DOUBLE stops at the ends of
an integer type, and text that cannot be read gives NULL.
"""

from __future__ import annotations

import math
import re
import struct
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from penstock.model.timestamps import (
    BEGINNING,
    DAY,
    END,
    HOUR,
    MINUTE,
    SECOND,
    from_ticks,
    to_ticks,
)
from penstock.model.types import ArrayType, DecimalType, Type
from penstock.oracle import decimals
from penstock.oracle.zones import clock_in, instant_in

BITS = {Type.TINYINT: 8, Type.SMALLINT: 16, Type.INT: 32, Type.BIGINT: 64}
FIRST_DAY = date(1970, 1, 1)
#: What is read off a clock.
BY_CLOCK = (Type.TIMESTAMP_NTZ, Type.DATE, Type.STRING)


def cast(value: Any, given: Type, to: Type, zone: str = "UTC") -> Any:
    """The value as another type, NULL where it cannot be read as one; in a zone's time."""
    if value is None or given is to:
        return value
    if zone != "UTC" and given is Type.TIMESTAMP and to in BY_CLOCK:
        return cast(clock_in(value, zone), Type.TIMESTAMP_NTZ, to)
    if zone != "UTC" and to is Type.TIMESTAMP and given in BY_CLOCK:
        found = cast(value, given, Type.TIMESTAMP_NTZ)
        says_zone = given is Type.STRING and re.search(r"[ T].*(Z|UTC|[+-][0-9:]+)$", value.strip())
        return found if found is None or says_zone else instant_in(found, zone)
    if isinstance(given, ArrayType) and isinstance(to, ArrayType):
        return [cast(part, given.element, to.element) for part in value]
    if to is Type.STRING:
        return as_text(value, given)
    if given is Type.STRING:
        return from_text(value, to)
    if to is Type.BOOLEAN:
        return value != 0
    if isinstance(to, DecimalType):
        text = repr(value) if is_float(value) else str(Decimal(value))
        return decimals.from_text(text, to)
    if isinstance(given, DecimalType):
        return fit(int(value) if to.is_integer else float(value), to)
    if to.is_time and given.is_time:
        return value
    if to.is_time:
        if given is Type.DATE:
            return value * DAY
        if is_float(value):
            return to_bigint(value * SECOND) if math.isfinite(value) else None
        return min(max(int(value) * SECOND, -(1 << 63)), (1 << 63) - 1)
    if to is Type.DATE:
        is_day = given.is_time and BEGINNING <= value <= END
        return value // DAY if is_day else None
    if given.is_time:
        whole = value // SECOND
        if to.is_integer:
            return whole if whole == fit(whole, to) else None
        return value / SECOND
    if to.is_integer:
        return narrow(value, to)
    return fit(float(value), to)


def narrow(value: Any, to: Type) -> int:
    """To an integer as Java does it: fractions are cut, a DOUBLE beyond the ends stops at them."""
    if not is_float(value):
        return fit(int(value), to)  # type: ignore[no-any-return]
    whole = to_bigint(value)
    if to is not Type.BIGINT:
        whole = max(-(1 << 31), min(whole, (1 << 31) - 1))
    return fit(whole, to)  # type: ignore[no-any-return]


def fit(value: Any, to: Type) -> Any:
    """A computed value as its type holds it: integers wrap around, FLOAT has 32 bits."""
    if value is None:
        return None
    if to in BITS or to.is_time or to is Type.INTERVAL:
        bits = BITS.get(to, 64)
        return (value + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)
    if to is Type.FLOAT:
        return to_float32(value)
    return value


def to_float32(value: float) -> float:
    try:
        narrowed: float = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return narrowed


def to_bigint(value: float) -> int:
    """A DOUBLE without its fraction, at the ends of BIGINT where it lies beyond; NaN is 0."""
    if math.isnan(value):
        return 0
    return int(max(-(2.0**63), min(value, 2.0**63))) - (value >= 2.0**63)


def is_float(value: Any) -> bool:
    return isinstance(value, float)


def as_text(value: Any, given: Type) -> str:
    if given is Type.BOOLEAN:
        return "true" if value else "false"
    if isinstance(given, DecimalType):
        return f"{value:f}"
    if given.is_time:
        text = from_ticks(value).isoformat(sep=" ")
        return text.rstrip("0") if "." in text else text
    if given is Type.DATE:
        return (FIRST_DAY + timedelta(days=value)).isoformat()
    if given is Type.INTERVAL:
        days, rest = divmod(abs(value), DAY)
        clock = as_text(rest, Type.TIMESTAMP).split(" ")[1]
        return f"INTERVAL '{'-' if value < 0 else ''}{days} {clock}' DAY TO SECOND"
    if given is Type.BINARY:
        return str(value, "utf-8")
    if given is Type.FLOAT and math.isfinite(value):
        digits = (f"{value:.{count}g}" for count in range(1, 10))
        value = next(float(each) for each in digits if to_float32(float(each)) == value)
    return java_double(value) if is_float(value) else str(value)


def java_double(value: float) -> str:
    """A DOUBLE as Java writes it: 1.0, 1.0E7, 1.0E-4, NaN, Infinity."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else f"{'-' if value < 0 else ''}Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int)
    fraction = "".join(map(str, digits[1:])) or "0"
    return f"{'-' * sign}{digits[0]}.{fraction}E{exponent + len(digits) - 1}"


def from_text(text: str, to: Type) -> Any:
    text = text.strip()
    if to is Type.BINARY:
        return text.encode()
    if to is Type.BOOLEAN:
        words = {"true": True, "t": True, "yes": True, "y": True, "1": True}
        words |= {"false": False, "f": False, "no": False, "n": False, "0": False}
        return words.get(text.lower())
    if to.is_integer:
        found = re.fullmatch(r"([+-]?)(\d*)(\.\d*)?", text, re.ASCII)
        is_number = found is not None and (found[2] or found[3])
        number = int(f"{found[1]}{found[2] or 0}") if found is not None and is_number else None
        return number if number is not None and number == fit(number, to) else None
    if isinstance(to, DecimalType):
        return decimals.from_text(text, to)
    if to.is_numeric:
        try:
            return fit(float(text), to) if "_" not in text else None
        except ValueError:
            return None
    if to.is_time:
        return read_moment(text)
    if to is Type.DATE:
        whole = re.match(r"(\d{4}-\d\d?-\d\d?)[ T].*\Z", text, re.ASCII)
        moment = read_moment(whole[1] if whole else text)
        return None if moment is None else moment // DAY
    return None


MOMENT = re.compile(
    r"(\d{4})(?:-(\d\d?)(?:-(\d\d?)(?:[ T](\d\d?)(?::(\d\d?)(?::(\d\d?)(?:\.(\d{1,9}))?)?)?"
    r"(Z|UTC|[+-]\d\d?(?::\d\d)?)?)?)?)?",
    re.ASCII,
)


def read_moment(text: str) -> int | None:
    """Ticks of `2024`, `2024-01-31`, `2024-01-31 10:00`, `2024-01-31T10:00:00.5+02:00`."""
    found = MOMENT.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second, fraction, zone = found.groups()
    if int(year) == 0:
        raise OverflowError("Python's calendar begins with the year 1")
    try:
        moment = datetime(
            int(year),
            int(month or 1),
            int(day or 1),
            int(hour or 0),
            int(minute or 0),
            int(second or 0),
            int((fraction or "0")[:6].ljust(6, "0")),
        )
    except ValueError:
        return None
    ahead = read_zone(zone) if zone else 0
    return None if ahead is None else to_ticks(moment) - ahead


def read_zone(text: str) -> int | None:
    """How far a zone is ahead of UTC: at most 18 hours."""
    if text in ("Z", "UTC"):
        return 0
    hours, _, minutes = text[1:].partition(":")
    ahead = int(hours) * HOUR + int(minutes or 0) * MINUTE
    if int(minutes or 0) > 59 or ahead > 18 * HOUR:
        return None
    return -ahead if text[0] == "-" else ahead
