"""Expressions as SQL for Spark.

Our functions have Spark's names and meaning, so most of them are simply called. Needed where an
expression of ours stands inside one that only Spark can compute.
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
)
from penstock.model.types import Type

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


def is_of_spark(expression: Expression) -> bool:
    """Whether Spark can compute all of it: users' functions are the kernel's alone."""
    return all(type(part) in _SHAPES for part in expression.walk())


_SHAPES = (Ref, Literal, Named, Cast, Case, SparkCall, Call)


def _call(call: Call) -> str:
    args = [spark_sql(arg) for arg in call.args]
    match call.function:
        case name if name in _WRAPPED:
            return _WRAPPED[name].format(*args)
        case name if name in INFIX:
            escape = f" ESCAPE {args[2]}" if len(args) > 2 else ""
            return f"({args[0]} {name.upper()} {args[1]}{escape})"
        case "in":
            return f"({args[0]} IN ({', '.join(args[1:])}))"
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
