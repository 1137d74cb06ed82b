"""Scalar expressions: frozen, typed, checked when built.

Five shapes are enough, and a sixth for what only Spark can compute. Operators are functions with a
sign for a name, so `a + 1` is `Call("+", (Ref("a"), Literal(1)))`; what functions exist and which
types they take stands in `functions`. How an expression is computed is the host's business.

NULL follows SQL: it spreads through arithmetic and comparison, AND and OR use three values, and a
computation that has no answer (division by zero, a cast that fails) gives NULL, never an error: one
bad row must not end a continuous query.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from math import isfinite
from typing import Any

from penstock.errors import TypeMismatch, UnknownName
from penstock.model.constants import check_constant
from penstock.model.decimals import DECIMAL_ARITHMETIC, rounded_type
from penstock.model.functions import lookup
from penstock.model.schema import suggest
from penstock.model.signatures import SignatureMatch
from penstock.model.timestamps import DAY, format_duration, time_text
from penstock.model.types import (
    DecimalType,
    StructType,
    Type,
    castable,
    common_type,
    quoted,
)
from penstock.model.zones import UTC


@dataclass(frozen=True)
class Expression:
    """Root of all shapes. `str` gives SQL text."""

    @property
    def type(self) -> Type:
        raise NotImplementedError

    @property
    def children(self) -> tuple[Expression, ...]:
        return ()

    def walk(self) -> Iterator[Expression]:
        """This expression and everything inside it, outermost first."""
        yield self
        for child in self.children:
            yield from child.walk()

    @cached_property
    def refs(self) -> frozenset[str]:
        """Names of the columns it reads."""
        # From the parts' own, which are asked for too: to walk down from everywhere is cubic.
        return frozenset[str]().union(*(child.refs for child in self.children))


@dataclass(frozen=True)
class Ref(Expression):
    """The value of a column."""

    name: str
    of: Type

    @property
    def type(self) -> Type:
        return self.of

    @cached_property
    def refs(self) -> frozenset[str]:
        return frozenset((self.name,))

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Literal(Expression):
    """A constant. TIMESTAMP and INTERVAL values are ticks, DATE values days."""

    value: Any
    of: Type

    @property
    def type(self) -> Type:
        return self.of

    def __str__(self) -> str:
        match self.of:
            case _ if self.value is None:
                return "NULL"
            case Type.STRING:
                return "'{}'".format(self.value.replace("'", "''"))
            case Type.BINARY:
                return f"X'{self.value.hex()}'"
            case Type.INTERVAL:
                return f"INTERVAL {format_duration(self.value)}"
            case Type.TIMESTAMP | Type.TIMESTAMP_NTZ:
                return f"{self.of} '{time_text(self.value)}'"
            case DecimalType():
                return f"{self.value:f}" if self.of.scale else f"{self.value:f}BD"
            case Type.DATE:
                return f"DATE '{time_text(self.value * DAY).split()[0]}'"
            case Type.BOOLEAN:
                return "TRUE" if self.value else "FALSE"
            case Type.FLOAT | Type.DOUBLE if not isfinite(self.value):
                return f"CAST('{self.value}' AS {self.of})"
            case Type.FLOAT | Type.DOUBLE:
                # With an exponent: without it is a DECIMAL.
                return f"{self.value}" if "e" in f"{self.value}" else f"{self.value}E0"
        return str(self.value)


#: Written between their two arguments.
_SIGNS = frozenset(
    ("+", "-", "*", "/", "%", "&", "|", "^", "||", "=", "<>", "<", "<=", ">", ">=", "<=>")
)
INFIX = _SIGNS | {"div", "and", "or", "like", "ilike", "rlike"}
#: Written around their one argument, without parentheses of their own.
_WRAPPED = {
    "not": "NOT {}",
    "negative": "-{}",
    "~": "~{}",
    "is_null": "{} IS NULL",
    "is_not_null": "{} IS NOT NULL",
}


@dataclass(frozen=True)
class Call(Expression):
    """A function or operator applied to arguments; `function` becomes its canonical name."""

    function: str
    args: tuple[Expression, ...]

    def __post_init__(self) -> None:
        function = lookup(self.function)
        object.__setattr__(self, "function", function.name)
        _ = self.type  # types that do not fit are refused here, when it is built
        for position in sorted(function.constants):
            if position < len(self.args):
                value = constant(self.args[position], function.name)
                check_constant(function.name, position, value)

    @cached_property
    def match(self) -> SignatureMatch:
        """What its arguments are brought to, and what it gives: of some, by a constant's value."""
        found = lookup(self.function).match(_types_of(self.function, self.args))
        given = self.args[0].type if self.args else Type.NULL
        if isinstance(given, DecimalType) and self.function == "round" and len(self.args) == 2:
            digits = constant(self.args[1], self.function) or 0
            return replace(found, result=rounded_type(given, digits))
        if isinstance(given, StructType) and self.function == "get_field":
            return replace(found, result=_field(self.args[0], given, self.args[1])[1])
        return found

    @property
    def type(self) -> Type:
        return self.match.result

    @property
    def children(self) -> tuple[Expression, ...]:
        return self.args

    def __str__(self) -> str:
        args = self.args
        match self.function:
            case name if name in INFIX:
                text = f"{_nested(args[0])} {name.upper()} {_nested(args[1])}"
                return text if len(args) == 2 else f"{text} ESCAPE {args[2]}"
            case name if name in _WRAPPED:
                return _WRAPPED[name].format(_nested(args[0]))
            case "get":
                return f"{_nested(args[0])}[{args[1]}]"
            case "get_field":
                return f"{_nested(args[0])}.{quoted(constant(args[1], self.function))}"
            case "in":
                return f"{_nested(args[0])} IN ({', '.join(map(str, args[1:]))})"
        return f"{self.function}({', '.join(map(str, args))})"


def _types_of(function: str, args: tuple[Expression, ...]) -> tuple[Type, ...]:
    """The types of arguments; an integer to compute with a DECIMAL has the digits it needs.

    >>> _types_of("/", (Ref("a", DecimalType(10, 2)), Literal(3, Type.INT)))
    (<DECIMAL(10, 2)>, <DECIMAL(1, 0)>)
    """
    types = tuple(arg.type for arg in args)
    is_exact = any(isinstance(of, DecimalType) for of in types)
    if function not in DECIMAL_ARITHMETIC or not is_exact:
        return types
    return tuple(_narrowest(arg) for arg in args)


def _narrowest(arg: Expression) -> Type:
    if not arg.type.is_integer:
        return arg.type
    positive = arg.args[0] if isinstance(arg, Call) and arg.function == "negative" else arg
    if not isinstance(positive, Literal) or positive.value is None:
        return arg.type
    return DecimalType(len(str(abs(positive.value))))


def _field(struct: Expression, of: StructType, name: Expression) -> tuple[str, Type]:
    """The field of a struct that is asked for."""
    wanted = str(constant(name, "get_field"))
    found = of.field(wanted)
    if found is None:
        raise UnknownName(
            f"`{struct}` has no field `{wanted}`", hint=suggest(wanted, [n for n, _ in of.fields])
        )
    return found


def constant(expression: Expression, user: str) -> Any:
    """The value of an expression that `user` needs to be a constant; TypeMismatch if it is none."""
    if isinstance(expression, Literal):
        return expression.value
    if isinstance(expression, Call) and expression.function == "negative":
        value = constant(expression.args[0], user)
        return None if value is None else -value
    raise TypeMismatch(
        f"`{user}` needs a constant here, and `{expression}` is not one",
        hint="write the value itself",
    )


def _nested(expression: Expression) -> str:
    """Its text inside a larger expression: in parentheses, if they could be missed."""
    text = str(expression)
    compound = isinstance(expression, Call) and expression.function in (*INFIX, *_WRAPPED, "in")
    # Two minus signs in a row would begin a comment.
    return f"({text})" if compound or text.startswith("-") else text


@dataclass(frozen=True)
class Cast(Expression):
    """The value as another type; NULL where it cannot be read as one.

    `zone` is where clocks show what becomes, or was, a point in time.
    """

    input: Expression
    to: Type
    zone: str = UTC

    def __post_init__(self) -> None:
        if not castable(self.input.type, self.to):
            raise TypeMismatch(
                f"`{self.input}` is {self.input.type}, which cannot be read as {self.to}",
                hint=_other_than_cast(self.input.type, self.to),
            )

    @property
    def type(self) -> Type:
        return self.to

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.input,)

    def __str__(self) -> str:
        where = "" if self.zone == UTC else f" AT TIME ZONE '{self.zone}'"
        return f"CAST({self.input} AS {self.to}{where})"


def _other_than_cast(given: Type, to: Type) -> str:
    if given.is_nested and to is Type.STRING:
        return "take its parts; on Spark, to_json(…) writes all of it"
    if to.is_nested and given is Type.STRING:
        return "on Spark, from_json(text, 'a INT, b ARRAY<STRING>') reads JSON"
    if given is Type.INTERVAL:
        return "x div INTERVAL 1 SECOND counts the seconds of an INTERVAL"
    if given is Type.DATE:
        return "CAST it to TIMESTAMP first: as a number that is seconds since 1970"
    into = [str(to) for to in Type if to is not given and castable(given, to)]
    return f"it can become {', '.join(into)}" if into else "leave it as it is"


@dataclass(frozen=True)
class Case(Expression):
    """The value of the first branch whose condition holds."""

    branches: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression = field(default_factory=lambda: Literal(None, Type.NULL))

    def __post_init__(self) -> None:
        for condition, _ in self.branches:
            if condition.type not in (Type.BOOLEAN, Type.NULL):
                raise TypeMismatch(f"CASE needs a condition, and `{condition}` is {condition.type}")
        _ = self.type

    @cached_property
    def type(self) -> Type:
        found = self.otherwise.type
        for _, value in self.branches:
            common = common_type(found, value.type)
            if common is None:
                raise TypeMismatch(
                    f"the branches of CASE give {found} and {value.type}",
                    hint="CAST one of them to the other's type",
                )
            found = common
        return found

    @property
    def children(self) -> tuple[Expression, ...]:
        return (*(e for branch in self.branches for e in branch), self.otherwise)

    def __str__(self) -> str:
        whens = " ".join(f"WHEN {condition} THEN {value}" for condition, value in self.branches)
        return f"CASE {whens} ELSE {self.otherwise} END"


@dataclass(frozen=True)
class SparkCall(Expression):
    """What only Spark can compute: SQL of Spark's, as it was written, around `args`.

    `parts` are the texts before, between and behind the arguments; `zone` is where clocks show what
    it says of points in time. No kernel operator has one: see `plan/computed_columns.py`.
    """

    parts: tuple[str, ...]
    args: tuple[Expression, ...]
    of: Type
    zone: str = UTC

    @property
    def type(self) -> Type:
        return self.of

    @property
    def children(self) -> tuple[Expression, ...]:
        return self.args

    def filled(self, texts: Iterable[str]) -> str:
        """The SQL with these texts for its arguments."""
        pairs = zip(self.parts[1:], texts, strict=True)
        return self.parts[0] + "".join(f"{text}{part}" for part, text in pairs)

    def __str__(self) -> str:
        return self.filled(map(_nested, self.args))


@dataclass(frozen=True)
class Named(Expression):
    """An expression under a name: one column of a SELECT."""

    name: str
    value: Expression

    @property
    def type(self) -> Type:
        return self.value.type

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.value,)

    def __str__(self) -> str:
        if isinstance(self.value, Ref) and self.value.name == self.name:
            return self.name
        return f"{self.value} AS {self.name}"


def substituted(expression: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """The expression with parts in place of others, outermost first.

    What `change` gives for a part takes its place; where that is the part itself, its own parts are
    asked.
    """
    found = change(expression)
    if found is not expression:
        return found
    args = getattr(expression, "args", None)  # all kinds of calls have these
    if isinstance(args, tuple):
        changed = tuple(substituted(arg, change) for arg in args)
        return replace(expression, args=changed)  # type: ignore[call-arg]
    match expression:
        case Cast():
            return replace(expression, input=substituted(expression.input, change))
        case Named():
            return replace(expression, value=substituted(expression.value, change))
        case Case():
            branches = tuple(
                (substituted(condition, change), substituted(value, change))
                for condition, value in expression.branches
            )
            return Case(branches, substituted(expression.otherwise, change))
    return expression


def conjuncts(condition: Expression | None) -> Iterator[Expression]:
    """The parts of a conjunction, however deeply it is nested; of None, none."""
    return _parts("and", condition)


def disjuncts(condition: Expression | None) -> Iterator[Expression]:
    """The parts of which one must hold, however deeply they are nested; of None, none."""
    return _parts("or", condition)


def _parts(function: str, condition: Expression | None) -> Iterator[Expression]:
    waiting = [] if condition is None else [condition]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Call) and part.function == function:
            waiting += reversed(part.args)
        else:
            yield part


def conjunction(parts: Iterable[Expression]) -> Expression | None:
    """All of the parts as one condition; None where there are none."""
    found = list(parts)
    if not found:
        return None
    return reduce(lambda left, right: Call("and", (left, right)), found)


def disjunction(parts: Sequence[Expression]) -> Expression:
    """One of the parts as a condition; nested no deeper than needed, for there may be many."""
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    return Call("or", (disjunction(parts[:half]), disjunction(parts[half:])))
