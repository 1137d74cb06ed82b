"""Names of types in SQL -> our types."""

from __future__ import annotations

from sqlglot import exp

from penstock.errors import TypeMismatch
from penstock.model.types import Type

D = exp.DType

#: Those that a column can be declared as, by their names.
NAMED = {str(each): each for each in Type if each not in (Type.INTERVAL, Type.NULL)}
NAMES = ", ".join(NAMED)

#: VARCHAR and CHAR are text of any length, as in Spark's expressions.
_TYPES = {
    **{exp.DType[name]: each for name, each in NAMED.items() if each is not Type.STRING},
    **dict.fromkeys((D.VARCHAR, D.CHAR, D.NCHAR, D.NVARCHAR, D.TEXT), Type.STRING),
    **dict.fromkeys((D.TIMESTAMPTZ, D.TIMESTAMPNTZ), Type.TIMESTAMP),
}


def bind_type(node: exp.Expr, written: str) -> Type:
    """Our type for a type in the tree; `written` is how the text spells it."""
    found = _TYPES.get(node.this) if isinstance(node, exp.DataType) else None
    if found is None:
        raise TypeMismatch(f"there is no type {written} here", hint=f"there are: {NAMES}")
    return found
