"""Numbers with units -> whole numbers of ticks or rows.

>>> length_of("1 hour 30 minutes"), length_of("1000 rows"), length_of("0.5 s")
((5400000000, 'time'), (1000, 'rows'), (500000, 'time'))
"""

from __future__ import annotations

import re
from fractions import Fraction

from penstock.errors import CannotWindow, SyntaxFault
from penstock.model.schema import suggest
from penstock.model.timestamps import END, UNITS
from penstock.windows import Unit

_ROWS = {"row", "rows", "tuple", "tuples"}
_VAGUE = {"month", "months", "quarter", "quarters", "year", "years"}
_SHOWN = ("microseconds", "milliseconds", "seconds", "minutes", "hours", "days", "weeks", "rows")

# Bounded, so that no text can make a number that takes for ever to compute.
_NUMBER = re.compile(r"[+-]?\d{1,30}(\.\d{1,30})?")
_WHOLE = re.compile(r"-?\d{1,30}")
_FLOAT = re.compile(r"-?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_PART = re.compile(r"\s*([+-]?\d{1,30}(?:\.\d{1,30})?)\s*([A-Za-z]+)")


def number(text: str) -> Fraction:
    """A plain decimal number, exactly."""
    if not _NUMBER.fullmatch(text):
        raise SyntaxFault(
            f"`{text[:40]}` is not a length", hint="write it as 10 or 0.5, with a unit"
        )
    return Fraction(text)


def bare_number(text: str) -> int | float | None:
    """A number as it is written for a setting; None if it is none.

    >>> bare_number("100"), bare_number(".5"), bare_number("1e400"), bare_number("soon")
    (100, 0.5, inf, None)
    """
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else None


def is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None


def scaled(amount: Fraction, word: str) -> tuple[Fraction, Unit]:
    """The amount in ticks or rows."""
    name = word.lower()
    if name in _ROWS:
        return amount, "rows"
    if name in UNITS:
        return amount * UNITS[name], "time"
    if name in _VAGUE:
        raise SyntaxFault(
            f"`{word}` has no fixed length", hint="the longest units are days and weeks"
        )
    raise SyntaxFault(f"`{word}` is not a unit", hint=suggest(name, _SHOWN))


def whole(value: Fraction, unit: Unit) -> int:
    """The value, which must be a whole number that a 64-bit integer holds with ease."""
    if value.denominator != 1:
        smallest = {"time": "microseconds", "rows": "rows", "number": "steps"}[unit]
        raise CannotWindow(
            f"this length is not a whole number of {smallest}",
            hint="times are counted in microseconds" if unit == "time" else None,
        )
    if abs(value) >= END:
        raise CannotWindow("this length is out of range", hint="choose a shorter one")
    return int(value)


def length_of(text: str) -> tuple[int, Unit]:
    """A length in words: one number with its unit, or several of time."""
    parts = [scaled(Fraction(amount), word) for amount, word in _PART.findall(text)]
    if not parts or _PART.sub("", text).strip():
        raise SyntaxFault(f"'{text[:40]}' is not a duration", hint="write it as '10 minutes'")
    units = {unit for _, unit in parts}
    if len(parts) > 1 and units != {"time"}:
        raise SyntaxFault("a length cannot mix time with something else")
    return whole(sum((value for value, _ in parts), Fraction(0)), parts[0][1]), parts[0][1]
