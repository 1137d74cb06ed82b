"""Constants: numbers, texts, points in time, lengths of time."""

from __future__ import annotations

import re
from datetime import date, datetime
from decimal import Decimal

from sqlglot import exp

from penstock.errors import NotExecutable, SyntaxFault, TypeMismatch
from penstock.model.expressions import Literal
from penstock.model.timestamps import DAY, from_ticks, to_ticks
from penstock.model.types import MOST_DIGITS, DecimalType, Type
from penstock.model.zones import UTC, time_of_clock
from penstock.sql.parse import units

_INTEGER = re.compile(r"\d{1,30}")
_MOMENT = re.compile(
    r"(\d{4}-\d\d-\d\d)"
    r"(?:[ T](\d\d:\d\d(?::\d\d)?)(?:(?<=:\d\d:\d\d)\.(\d{1,6}))?(Z|[+-]\d\d:\d\d)?)?"
)
_DECIMAL = re.compile(r"(\d{1,400}(\.\d{0,400})?|\.\d{1,400})([eE][+-]?\d{1,4})?")


def number(text: str) -> Literal:
    """An INT or BIGINT, a DECIMAL if it has a point, a DOUBLE if it has an exponent, as in Spark.

    >>> number("5").of, number("3000000000").of, number("1.50").of, number("15e-1").of
    (<Type.INT: 'INT'>, <Type.BIGINT: 'BIGINT'>, <DECIMAL(3, 2)>, <Type.DOUBLE: 'DOUBLE'>)
    """
    if _INTEGER.fullmatch(text):
        value = int(text)
        if value < 1 << 31:
            return Literal(value, Type.INT)
        # One more than fits, for a minus may stand before it.
        if value <= 1 << 63:
            return Literal(value, Type.BIGINT)
    elif _DECIMAL.fullmatch(text):
        if "e" in text.lower():
            return Literal(float(text), Type.DOUBLE)
        exact = decimal(text)
        if exact is not None:
            return exact
        raise TypeMismatch(
            f"`{text[:40]}` has more than {MOST_DIGITS} digits",
            hint="with an exponent it is a DOUBLE: write E0 behind it",
        )
    raise TypeMismatch(f"`{text[:40]}` is out of range", hint="integers have up to 64 bits")


def decimal(text: str) -> Literal | None:
    """A number with a point as a DECIMAL of as many digits as it is written with.

    >>> decimal("-1.50").of, decimal("1e3")
    (<DECIMAL(3, 2)>, None)
    """
    text = text.replace(" ", "").upper().removesuffix("BD")
    size = text.removeprefix("-")
    if not _DECIMAL.fullmatch(size) or "E" in size:
        return None
    whole, _, fraction = size.partition(".")
    digits = len(whole.lstrip("0")) + len(fraction)
    if max(digits, len(fraction)) > MOST_DIGITS:
        return None
    return Literal(Decimal(text), DecimalType(max(digits, len(fraction), 1), len(fraction)))


def negated(literal: Literal) -> Literal:
    """The constant with its sign turned; -2147483648 is an INT, though 2147483648 is none."""
    value = -literal.value
    is_int = literal.of is Type.BIGINT and value >= -(1 << 31)
    return Literal(value, Type.INT if is_int else literal.of)


def check_range(literal: Literal) -> Literal:
    """Refuse 2^63, which only its negative fits into 64 bits."""
    if literal.of is Type.BIGINT and literal.value >= 1 << 63:
        raise TypeMismatch(f"`{literal.value}` is out of range", hint="integers have up to 64 bits")
    return literal


def typed(text: str, of: Type, zone: str = UTC) -> Literal:
    """`TIMESTAMP '2024-05-01 10:00:00'` and `DATE '2024-05-01'`.

    >>> typed("1970-01-01 00:00:01.5", Type.TIMESTAMP).value, typed("1970-01-02", Type.DATE).value
    (1500000, 1)
    """
    if not of.is_time and of is not Type.DATE:
        raise SyntaxFault(f"{of} '{text}' is not a constant", hint=f"write CAST('{text}' AS {of})")
    try:
        moment = _moment(text.strip())
    except (ValueError, OverflowError):
        moment = None
    if moment is None or (of is Type.DATE and len(text.strip()) > len("2024-05-01")):
        example = "2024-05-01 10:00:00" if of.is_time else "2024-05-01"
        raise TypeMismatch(f"'{text}' is not a valid {of}", hint=f"write {of} '{example}'")
    if of.is_time:
        ticks = to_ticks(moment)
        has_zone = _MOMENT.fullmatch(text.strip())
        if of is Type.TIMESTAMP and has_zone is not None and has_zone[4] is None:
            ticks = time_of_clock(ticks, zone)
        return Literal(ticks, of)
    return Literal((moment.date() - date(1970, 1, 1)).days, of)


def _moment(text: str) -> datetime | None:
    """The point in time, read the same way by every version of Python."""
    parts = _MOMENT.fullmatch(text)
    if parts is None:
        return None
    day, time, fraction, zone = parts.groups()
    zone = "+00:00" if zone == "Z" else zone or ""
    padded = f".{fraction:0<6}" if fraction else ""
    moment = datetime.fromisoformat(f"{day}T{time or '00:00'}{padded}{zone}")
    # In UTC, which may lie in the year before the first or after the last.
    return from_ticks(to_ticks(moment))


def interval(node: exp.Interval) -> Literal:
    """`INTERVAL 5 SECONDS`, `INTERVAL '5' SECOND`, `INTERVAL '1 hour 30 minutes'`."""
    amount, unit = node.this, node.args.get("unit")
    if not isinstance(amount, exp.Literal) or isinstance(unit, exp.IntervalSpan):
        raise NotExecutable(
            "an interval must be a constant in one unit",
            hint="write INTERVAL 90 MINUTES; to scale one: n * INTERVAL 1 SECOND",
        )
    text = str(amount.this) if unit is None else f"{amount.this} {unit.name}"
    return Literal(duration(text), Type.INTERVAL)


def whole_days(node: exp.Expr) -> int | None:
    """The days of an interval that is written in days or weeks alone; None: in other units."""
    if isinstance(node, exp.Paren):
        return whole_days(node.this)
    if isinstance(node, exp.Neg):
        days = whole_days(node.this)
        return None if days is None else -days
    if isinstance(node, exp.Add):
        parts = [whole_days(node.this), whole_days(node.expression)]
        return None if None in parts else sum(part or 0 for part in parts)
    if not isinstance(node, exp.Interval):
        return None
    unit = node.args.get("unit")
    words = [unit.name] if unit is not None else re.findall(r"[a-zA-Z]+", str(node.this.name))
    if not words or not all(re.fullmatch(r"(day|week)s?", word, re.I) for word in words):
        return None
    return int(interval(node).value) // DAY


def duration(text: str) -> int:
    """Ticks of a text such as `1 hour 30 minutes`."""
    value, unit = units.length_of(text)
    if unit != "time":
        raise TypeMismatch(f"'{text}' is not a duration", hint="such as '10 minutes'")
    return value
