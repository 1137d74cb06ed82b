"""Names of types in SQL -> our types."""

from __future__ import annotations

from sqlglot import exp

from penstock.errors import TypeMismatch
from penstock.model.types import Type

D = exp.DType

#: VARCHAR and CHAR are text of any length, as in Spark's expressions.
_TYPES = {
    D.BOOLEAN: Type.BOOLEAN,
    D.TINYINT: Type.TINYINT,
    D.SMALLINT: Type.SMALLINT,
    D.INT: Type.INT,
    D.BIGINT: Type.BIGINT,
    D.FLOAT: Type.FLOAT,
    D.DOUBLE: Type.DOUBLE,
    D.VARCHAR: Type.STRING,
    D.CHAR: Type.STRING,
    D.NCHAR: Type.STRING,
    D.NVARCHAR: Type.STRING,
    D.TEXT: Type.STRING,
    D.BINARY: Type.BINARY,
    D.DATE: Type.DATE,
    D.TIMESTAMP: Type.TIMESTAMP,
    D.TIMESTAMPTZ: Type.TIMESTAMP,
    D.TIMESTAMPNTZ: Type.TIMESTAMP,
}

NAMES = "BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, STRING, BINARY, DATE, TIMESTAMP"


def bind_type(node: exp.Expr, written: str) -> Type:
    """Our type for a type in the tree; `written` is how the text spells it."""
    found = _TYPES.get(node.this) if isinstance(node, exp.DataType) else None
    if found is None:
        raise TypeMismatch(f"there is no type {written} here", hint=f"there are: {NAMES}")
    return found
