"""Decimals in plain Python: exact, then rounded once to the result's type.

A value is a `Decimal` with as many digits behind the point as its type has.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from typing import Any

from penstock.model.types import DecimalType

EXACT = Context(prec=2000)
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,9})?", re.ASCII)


def to_type(value: Fraction | Decimal | int, of: DecimalType) -> Decimal | None:
    """The value as the type holds it, halves away from zero; None: it has too many digits."""
    exact = Fraction(value) * 10**of.scale
    size = (2 * abs(exact.numerator) + exact.denominator) // (2 * exact.denominator)
    if size >= 10**of.precision:
        return None
    return Decimal(-size if exact < 0 else size).scaleb(-of.scale, EXACT)


def from_text(text: str, of: DecimalType) -> Decimal | None:
    if not NUMBER.fullmatch(text):
        return None
    value = Decimal(text)
    return None if value and value.adjusted() > 60 else to_type(value, of)


def compute(function: str, args: list[Any], result: Any) -> Any:
    """A function of decimals."""
    left, right = Fraction(args[0]), Fraction(args[1]) if len(args) > 1 else Fraction(0)
    match function:
        case "round":
            digits = int(right)
            step = Decimal(1).scaleb(-digits)
            quotient = EXACT.divide(args[0], step).quantize(Decimal(1), ROUND_HALF_UP, EXACT)
            return to_type(Fraction(quotient) * Fraction(step), result)
        case "ceil" | "floor":
            how = ROUND_CEILING if function == "ceil" else ROUND_FLOOR
            return to_type(args[0].quantize(Decimal(1), how, EXACT), result)
        case "div":
            return None if right == 0 else wrapped(int(left / right))
        case "/" | "%" | "pmod" if right == 0:
            return None
        case "pmod":
            rest = left - right * int(left / right)
            return to_type(rest if rest >= 0 else remainder(rest + right, right), result)
    return to_type(FUNCTIONS[function](left, right), result)


def remainder(left: Fraction, right: Fraction) -> Fraction:
    """With the sign of the dividend."""
    return left - right * int(left / right)


def wrapped(number: int) -> int:
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


FUNCTIONS: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": lambda left, right: left / right,
    "%": remainder,
    "negative": lambda left, _: -left,
    "abs": lambda left, _: abs(left),
}
