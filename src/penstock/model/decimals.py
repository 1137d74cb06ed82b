"""DECIMAL in computations: the types of results, as in Spark (`allowPrecisionLoss`).

    +, -   scale: the larger; one digit more before the point than the larger has
    *      scale: of both together; precision: of both together, and one more
    /      scale: max(6, s1 + p2 + 1); all digits before the point that can come
    %      scale: the larger; before the point as many digits as the one with fewer
    sum    10 digits more before the point;  avg: 4 more before the point and 4 behind it

A result has 38 digits at most. Where it would need more, digits behind the point go, down to six
of them. What has too many digits before the point then is NULL, as everything that has no answer;
what has too many behind it is rounded, halves away from zero.
"""

from __future__ import annotations

from penstock.model.signatures import SignatureMatch
from penstock.model.types import MOST_DIGITS, DecimalType, Type, as_decimal

#: Digits behind the point that are kept where there are too many.
_LEAST_SCALE = 6

_ARITHMETIC = frozenset({"+", "-", "*", "/", "%", "pmod"})
#: Where the digits of a constant count, not those of its type.
DECIMAL_ARITHMETIC = _ARITHMETIC | {"div"}
#: Functions that have rules of their own for decimals.
DECIMAL_FUNCTIONS = DECIMAL_ARITHMETIC | {"negative", "abs", "round", "ceil", "floor"}


def adjusted(precision: int, scale: int) -> DecimalType:
    """A type of at most 38 digits: those before the point matter more.

    >>> adjusted(44, 10), adjusted(77, 38)
    (<DECIMAL(38, 6)>, <DECIMAL(38, 6)>)
    """
    if precision <= MOST_DIGITS:
        return DecimalType(precision, scale)
    whole = precision - scale
    return DecimalType(MOST_DIGITS, max(MOST_DIGITS - whole, min(scale, _LEAST_SCALE)))


def arithmetic_type(function: str, left: DecimalType, right: DecimalType) -> DecimalType:
    """What a computation with two decimals gives.

    >>> arithmetic_type("*", DecimalType(10, 2), DecimalType(5, 3))
    <DECIMAL(16, 5)>
    """
    p1, s1, p2, s2 = left.precision, left.scale, right.precision, right.scale
    scale = max(s1, s2)
    match function:
        case "*":
            return adjusted(p1 + p2 + 1, s1 + s2)
        case "/":
            scale = max(_LEAST_SCALE, s1 + p2 + 1)
            return adjusted(p1 - s1 + s2 + scale, scale)
        case "%" | "pmod":
            return adjusted(min(p1 - s1, p2 - s2) + scale, scale)
    return adjusted(max(p1 - s1, p2 - s2) + scale + 1, scale)


def rounded_type(of: DecimalType, digits: int) -> DecimalType:
    """What `round` to so many digits behind the point gives: one more before it, for 9.9 is 10."""
    scale = min(max(digits, 0), of.scale)
    whole = of.precision - of.scale + 1
    if digits < 0:
        whole = max(whole, -digits + 1)
    return DecimalType(min(whole + scale, MOST_DIGITS), min(scale, MOST_DIGITS))


def whole_type(of: DecimalType) -> DecimalType:
    """What `ceil` and `floor` give."""
    more = of.scale > 0
    return DecimalType(min(of.precision - of.scale + more, MOST_DIGITS) or 1, 0)


def sum_type(of: DecimalType) -> DecimalType:
    """
    >>> sum_type(DecimalType(10, 2)), avg_type(DecimalType(10, 2))
    (<DECIMAL(20, 2)>, <DECIMAL(14, 6)>)
    """
    return DecimalType(min(of.precision + 10, MOST_DIGITS), of.scale)


def avg_type(of: DecimalType) -> DecimalType:
    """The type of an average."""
    precision, scale = min(of.precision + 4, MOST_DIGITS), min(of.scale + 4, MOST_DIGITS)
    return DecimalType(max(precision, scale), scale)


def match_decimals(function: str, types: tuple[Type, ...]) -> SignatureMatch | None:
    """How a call fits of which one argument is a DECIMAL and all are exact numbers; else None.

    >>> match_decimals("+", (DecimalType(5, 2), Type.INT)).result
    <DECIMAL(13, 2)>
    """
    decimals = [of for of in types if isinstance(of, DecimalType)]
    known = [as_decimal(of) for of in types if of is not Type.NULL]
    if not decimals or any(of is None for of in known):
        return None
    exact = tuple(as_decimal(of) or decimals[0] for of in types)
    match function, len(types):
        case _, 2 if function in _ARITHMETIC:
            return SignatureMatch(exact, arithmetic_type(function, *exact))
        case "div", 2:
            return SignatureMatch(exact, Type.BIGINT)
        case "negative" | "abs", 1:
            return SignatureMatch(exact, exact[0])
        case "ceil" | "floor", 1:
            return SignatureMatch(exact, whole_type(exact[0]))
        case "round", 1:
            return SignatureMatch(exact, rounded_type(exact[0], 0))
        case "round", 2 if isinstance(types[0], DecimalType) and types[1].is_integer:
            return SignatureMatch((types[0], Type.BIGINT), types[0])  # see `Call.match`
    return None
