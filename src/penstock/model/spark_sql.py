"""Expressions as SQL for Spark.

Our functions have Spark's names and meaning, so most of them are simply called. Needed where an
expression of ours stands inside one that only Spark can compute.

Spark knows one time zone, that of the session in which the SQL is analysed. Ours stand in the
expressions; so all of them must be the same, and they are left out (`is_of_spark`, `zones_in`).
"""

from __future__ import annotations

from math import isfinite

from penstock.errors import PenstockBug
from penstock.model.expressions import (
    INFIX,
    Call,
    Case,
    Cast,
    Expression,
    Literal,
    Named,
    Ref,
    SparkCall,
    constant,
)
from penstock.model.timestamps import time_text
from penstock.model.types import DecimalType, Type
from penstock.model.zones import CALENDAR, CONVERSIONS, TEXT, UTC, needs_zone

_WRAPPED = {
    "not": "(NOT {})",
    "negative": "(- {})",
    "~": "(~ {})",
    "is_null": "({} IS NULL)",
    "is_not_null": "({} IS NOT NULL)",
}


def quoted(name: str) -> str:
    """A name in backquotes.

    >>> print(quoted("a`b"))
    `a``b`
    """
    return "`" + name.replace("`", "``") + "`"


def spark_sql(expression: Expression) -> str:
    """The expression over columns of the same names.

    >>> print(spark_sql(Call("+", (Ref("a", Type.INT), Literal(1, Type.INT)))))
    (`a` + 1)
    """
    match expression:
        case Ref():
            return quoted(expression.name)
        case Literal():
            return _literal(expression)
        case Named():
            return spark_sql(expression.value)
        case Cast():
            return f"CAST({spark_sql(expression.input)} AS {expression.to})"
        case Case():
            whens = " ".join(
                f"WHEN {spark_sql(condition)} THEN {spark_sql(value)}"
                for condition, value in expression.branches
            )
            return f"CASE {whens} ELSE {spark_sql(expression.otherwise)} END"
        case SparkCall():
            return expression.filled(map(spark_sql, expression.args))
        case Call():
            return _call(expression)
    raise PenstockBug(f"no SQL for a {type(expression).__name__}")


def is_of_spark(call: SparkCall) -> bool:
    """Whether Spark can compute all of it: users' functions are the kernel's alone."""
    is_known = all(type(part) in _SHAPES for part in call.walk())
    return is_known and zones_in(call) <= {call.zone}


_SHAPES = (Ref, Literal, Named, Cast, Case, SparkCall, Call)


def zones_in(expression: Expression) -> set[str]:
    """The time zones that it depends on."""
    return {zone for part in expression.walk() if (zone := _zone_of(part)) is not None}


def _zone_of(part: Expression) -> str | None:
    """The zone that an expression depends on, apart from what is inside it; None: on none."""
    match part:
        case SparkCall():
            return part.zone
        case Cast():
            return part.zone if needs_zone(part.input.type, part.to) else None
        case Case():
            values = (value for value in part.children if value.type is not Type.BOOLEAN)
            return UTC if any(needs_zone(value.type, part.type) for value in values) else None
        case Call(function="date_trunc", args=(_, _, zone)):
            return str(constant(zone, part.function))
        case Call():
            is_of_point = any(arg.type is Type.TIMESTAMP for arg in part.args)
            if is_of_point and part.function in _OF_CLOCKS:
                return UTC
            brought = zip(part.args, part.match.parameters, strict=True)
            return UTC if any(needs_zone(arg.type, to) for arg, to in brought) else None
    return None


_OF_CLOCKS = CALENDAR | TEXT | CONVERSIONS.keys() | {"date_trunc"}


def _call(call: Call) -> str:
    args = [spark_sql(arg) for arg in call.args]
    whole = f"({args[0]})" if args and isinstance(call.args[0], Case) else "".join(args[:1])
    match call.function:
        case name if name in _WRAPPED:
            return _WRAPPED[name].format(*args)
        case name if name in INFIX:
            escape = f" ESCAPE {args[2]}" if len(args) > 2 else ""
            return f"({args[0]} {name.upper()} {args[1]}{escape})"
        case "in":
            return f"({args[0]} IN ({', '.join(args[1:])}))"
        case "get":
            return f"{whole}[{args[1]}]"
        case "get_field":
            return f"{whole}.{quoted(constant(call.args[1], call.function))}"
        case "date_trunc":
            args = args[:2]
    return f"{call.function}({', '.join(args)})"


def _literal(literal: Literal) -> str:
    value = literal.value
    match literal.of:
        case _ if value is None:
            return "NULL" if literal.of is Type.NULL else f"CAST(NULL AS {literal.of})"
        case Type.STRING:
            return "'{}'".format(value.replace("\\", "\\\\").replace("'", "\\'"))
        case Type.BINARY:
            return f"X'{value.hex()}'"
        case Type.INTERVAL:
            return f"INTERVAL '{value}' MICROSECOND"
        case Type.TIMESTAMP:
            return f"timestamp_micros({value})"
        case Type.TIMESTAMP_NTZ:
            return f"TIMESTAMP_NTZ '{time_text(value)}'"
        case DecimalType():
            return f"CAST('{value:f}' AS {literal.of})"
        case Type.DATE:
            return f"date_from_unix_date({value})"
        case Type.BOOLEAN:
            return "TRUE" if value else "FALSE"
        case Type.FLOAT | Type.DOUBLE:
            text = repr(value) if isfinite(value) else str(value)
            return f"CAST('{text}' AS {literal.of})"
        case Type.INT:
            return str(value)
    return f"CAST({value} AS {literal.of})"
