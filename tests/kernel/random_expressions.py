"""Random rows, and random expressions over them that are well typed.

An expression of a wanted type is grown from the model's own signatures: any function that gives the
type, with arguments grown for what it takes. So a new function of the model is drawn at once.
"""

from __future__ import annotations

from decimal import Context, Decimal
from functools import cache
from typing import Any

from hypothesis import strategies as st

from penstock.model.expressions import Call, Case, Cast, Expression, Literal, Ref
from penstock.model.functions import FUNCTIONS, LONGEST_TEXT
from penstock.model.signatures import ScalarFunction, Signature
from penstock.model.timestamps import DAY, HOUR
from penstock.model.types import DecimalType, Type, castable, common_type

#: Their last digit depends on the mathematics library, which a comparison inside could blow up.
APPROXIMATE = ("exp", "ln", "log10", "log2", "power")

#: What the oracle does not do to the letter, as pairs of types; it has tests of its own.
UNCOMPARED = (
    (Type.FLOAT, Type.STRING),
    (Type.STRING, Type.BINARY),
    (Type.STRING, Type.DATE),
    (Type.STRING, Type.TIMESTAMP),
    (Type.STRING, Type.TIMESTAMP_NTZ),
    (Type.TIMESTAMP, Type.FLOAT),
)

#: Decimals of few digits, of many behind the point, and of as many as there are.
DECIMALS = (DecimalType(5, 2), DecimalType(20, 18), DecimalType(38, 3))
TYPES = (*(type_ for type_ in Type if type_ is not Type.NULL), *DECIMALS)
CONCRETE = {type_.name for type_ in Type}

BITS = {Type.TINYINT: 8, Type.SMALLINT: 16, Type.INT: 32, Type.BIGINT: 64}


def integers(bits: int) -> st.SearchStrategy[int]:
    """Small ones mostly, and those at which something wraps."""
    least, most = -(1 << bits - 1), (1 << bits - 1) - 1
    return st.one_of(st.integers(-20, 20), st.sampled_from([least, most]), st.integers(least, most))


def floats(width: Any) -> st.SearchStrategy[float]:
    return st.one_of(
        st.integers(-40, 40).map(lambda n: n / 4),
        st.sampled_from([0.0, -0.0, float("nan"), float("inf"), float("-inf")]),
        st.floats(width=width),
    )


def decimals(of: DecimalType) -> st.SearchStrategy[Decimal]:
    """Small ones mostly, halves, and those that are all nines."""
    most = 10**of.precision - 1
    unscaled = st.one_of(
        st.integers(-300, 300), st.sampled_from([most, -most]), st.integers(-most, most)
    )
    exact = Context(prec=60)
    return unscaled.map(lambda n: Decimal(n).scaleb(-of.scale, exact))


TEXTS = st.one_of(
    st.text("ab%_ ñ\\", max_size=6),
    st.sampled_from(
        ["12", " -3.75 ", "300", "1e3", "true", "No", "2024-02-29", "1969-12-31 23:59:59.5"]
    ),
)

VALUES: dict[Type, st.SearchStrategy[Any]] = {
    Type.BOOLEAN: st.booleans(),
    **{type_: integers(bits) for type_, bits in BITS.items()},
    Type.FLOAT: floats(32),
    Type.DOUBLE: floats(64),
    Type.STRING: TEXTS,
    Type.BINARY: st.binary(max_size=4),
    Type.DATE: st.integers(-800, 20_000),
    Type.TIMESTAMP: st.one_of(st.integers(-DAY, DAY), st.integers(-900 * DAY, 20_000 * DAY)),
    Type.TIMESTAMP_NTZ: st.integers(-DAY, DAY),
    **{of: decimals(of) for of in DECIMALS},
    Type.INTERVAL: st.one_of(st.integers(-5, 5).map(lambda n: n * HOUR), st.integers(-DAY, DAY)),
}

#: Arguments that must be constants: (function, position) -> values.
CONSTANTS: dict[tuple[str, int], st.SearchStrategy[Literal]] = {
    ("round", 1): st.builds(Literal, st.integers(-4, 4), st.just(Type.INT)),
    ("like", 1): st.builds(Literal, st.text("ab%_\\ñ!", max_size=5), st.just(Type.STRING)),
    ("like", 2): st.builds(Literal, st.sampled_from("!\\"), st.just(Type.STRING)),
    ("rlike", 1): st.builds(
        Literal, st.sampled_from(["a", "^a.*b$", "[ab]+", "", "%|_"]), st.just(Type.STRING)
    ),
    ("date_trunc", 0): st.builds(
        Literal,
        st.sampled_from(["year", "QUARTER", "month", "week", "day", "hour", "minute", "second"]),
        st.just(Type.STRING),
    ),
}
CONSTANTS |= {("ilike", position): CONSTANTS["like", position] for position in (1, 2)}

#: Arguments that say how long a text is to be: few, or too many. What lies between is only slow.
LENGTHS = (("lpad", 1), ("rpad", 1), ("repeat", 1))
TOO_LONG = (LONGEST_TEXT + 1, 10**12, 2**63 - 1)


def rows() -> st.SearchStrategy[list[dict[str, Any]]]:
    """Rows with one column of each type, under the type's name in lower case."""
    columns = {type_.name.lower(): st.none() | VALUES[type_] for type_ in TYPES}
    return st.lists(st.fixed_dictionaries(columns), max_size=6)


@cache
def expressions(type_: Type, depth: int = 3) -> st.SearchStrategy[Expression]:
    """Expressions of exactly that type."""
    leaves = [
        st.just(Ref(type_.name.lower(), type_)),
        st.builds(Literal, VALUES[type_], st.just(type_)),
    ]
    if depth == 0:
        return st.one_of(*leaves)
    return st.one_of(*leaves, *_compound(type_, depth - 1))


@cache
def _compound(type_: Type, depth: int) -> list[st.SearchStrategy[Expression]]:
    found: list[st.SearchStrategy[Expression]] = [
        _cases(type_, depth),
        st.sampled_from([given for given in TYPES if _may_cast(given, type_)]).flatmap(
            lambda given: st.builds(Cast, expressions(given, depth), st.just(type_))
        ),
    ]
    for function in FUNCTIONS.values():
        if function.name not in APPROXIMATE and "<" not in str(function.signatures[0].parameters):
            found += [
                calls(function, s, type_, depth) for s in function.signatures if _gives(s, type_)
            ]
    return found


def decimal_calls(depth: int = 2) -> st.SearchStrategy[Expression]:
    """Arithmetic of decimals with each other and with integers, which gives other decimals."""
    exact = st.sampled_from((*DECIMALS, Type.INT, Type.BIGINT))
    first = st.sampled_from(DECIMALS).flatmap(lambda of: expressions(of, depth))
    other = exact.flatmap(lambda of: expressions(of, depth))
    pairs = st.tuples(first, other) | st.tuples(other, first)
    two = st.sampled_from(["+", "-", "*", "/", "%", "pmod", "div", "<", "="])
    one = st.sampled_from(["negative", "abs", "ceil", "floor", "round"])
    digits = st.builds(Literal, st.integers(-5, 20), st.just(Type.INT))
    return st.one_of(
        st.builds(Call, two, pairs),
        st.builds(Call, one, st.tuples(first)),
        st.builds(Call, st.just("round"), st.tuples(first, digits)),
    )


def _may_cast(given: Type, to: Type) -> bool:
    return castable(given, to) and (given, to) not in UNCOMPARED


def _compared(function: ScalarFunction, signature: Signature, type_: Type) -> bool:
    """Whether the oracle computes it to the letter; what it does not has tests of its own."""
    if function.name in ("ceil", "floor"):
        return signature.parameters == ("BIGINT",)  # a DOUBLE beyond BIGINT wraps there
    if function.name == "pmod":
        return type_ is not Type.FLOAT  # it adds with 64 bits
    return (signature.parameters, type_) not in [((a.name,), b) for a, b in UNCOMPARED]


def _cases(type_: Type, depth: int) -> st.SearchStrategy[Expression]:
    value = expressions(type_, depth)
    branch = st.tuples(expressions(Type.BOOLEAN, depth), value)
    return st.builds(Case, st.lists(branch, min_size=1, max_size=2).map(tuple), value)


def _gives(signature: Signature, type_: Type) -> bool:
    match signature.result:
        case "NUMBER":
            return type_.is_numeric and type_ in Type
        case "INTEGER":
            return type_.is_integer
        case "SAME" | "EQUAL" | "ORDERED":
            return True
        case "DECIMAL":
            return False  # `decimal_calls`
    return signature.result == type_.name


def calls(
    function: ScalarFunction, signature: Signature, type_: Type, depth: int
) -> st.SearchStrategy[Expression]:
    """Calls of a function by one of its signatures, such that they give the type."""

    @st.composite
    def draw(take: Any) -> Expression:
        variable = type_
        if signature.result not in ("NUMBER", "INTEGER", "SAME", "EQUAL", "ORDERED"):
            variable = take(st.sampled_from([t for t in TYPES if _stands_for(signature, t)]))
        least = len(signature.parameters) - signature.optional
        count = take(
            st.integers(least, len(signature.parameters) + (2 if signature.repeats else 0))
        )
        args = []
        for position in range(count):
            wanted = signature.parameters[min(position, len(signature.parameters) - 1)]
            if (function.name, position) in CONSTANTS:
                args.append(take(CONSTANTS[function.name, position]))
            elif (function.name, position) in LENGTHS:
                too_long = st.builds(Literal, st.sampled_from(TOO_LONG), st.just(Type.BIGINT))
                args.append(take(expressions(Type.TINYINT, depth) | too_long))
            elif wanted in ("ANY", "TEXT"):
                printable = [t for t in TYPES if t is not Type.FLOAT and castable(t, Type.STRING)]
                args.append(take(expressions(take(st.sampled_from(printable)), depth)))
            elif wanted in CONCRETE:
                narrower = [t for t in TYPES if common_type(t, Type[wanted]) is Type[wanted]]
                args.append(take(expressions(take(st.sampled_from(narrower)), depth)))
            else:
                args.append(take(expressions(variable, depth)))
        return Call(function.name, tuple(args))

    return draw()


def _stands_for(signature: Signature, type_: Type) -> bool:
    """Whether the variable of the signature, if it has one, can be the type."""
    if "INTERVAL" in signature.parameters and "NUMBER" in signature.parameters:
        return type_.is_integer  # the oracle multiplies exactly, a DOUBLE does not
    if "NUMBER" in signature.parameters:
        return type_.is_numeric and type_ in Type
    if "INTEGER" in signature.parameters:
        return type_.is_integer
    return True
