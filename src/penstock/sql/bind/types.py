"""Names of types in SQL -> our types."""

from __future__ import annotations

import re

from sqlglot import exp

from penstock.errors import TypeMismatch
from penstock.model.type_text import NAMES as NAMES
from penstock.model.types import ArrayType, DecimalType, MapType, StructType, Type

D = exp.DType

#: Those without parts that a column can be declared as, by their names.
NAMED = {str(each): each for each in Type if each not in (Type.INTERVAL, Type.NULL)}

#: VARCHAR and CHAR are text of any length, as in Spark's expressions.
_TYPES = {
    **{
        exp.DType[name]: each
        for name, each in NAMED.items()
        if each not in (Type.STRING, Type.TIMESTAMP_NTZ)
    },
    **dict.fromkeys((D.VARCHAR, D.CHAR, D.NCHAR, D.NVARCHAR, D.TEXT), Type.STRING),
    **dict.fromkeys((D.TIMESTAMPTZ, D.TIMESTAMPLTZ), Type.TIMESTAMP),
    D.TIMESTAMPNTZ: Type.TIMESTAMP_NTZ,
}


def bind_type(node: exp.Expr, written: str) -> Type:
    """Our type for a type in the tree; `written` is how the text spells it."""
    found = _found(node) if isinstance(node, exp.DataType) else None
    if found is None:
        raise TypeMismatch(f"there is no type {written} here", hint=f"there are: {NAMES}")
    return found


def _found(node: exp.DataType) -> Type | None:
    match node.this:
        case D.DECIMAL:
            sizes = [digits.name for digits in node.expressions]
            is_sized = len(sizes) <= 2 and all(re.fullmatch("[0-9]{1,9}", size) for size in sizes)
            return DecimalType(*map(int, sizes)) if is_sized else None
        case D.ARRAY | D.LIST:
            [element] = _parts(node) or [None]
            return None if element is None else ArrayType(element)
        case D.MAP:
            match _parts(node):
                case [key, of] if key is not None and of is not None:
                    return MapType(key, of)
            return None
        case D.STRUCT:
            fields = [(field.name, _of_field(field)) for field in node.expressions]
            known = tuple((name, of) for name, of in fields if of is not None)
            return StructType(known) if len(known) == len(fields) else None
    return _TYPES.get(node.this)


def _parts(node: exp.DataType) -> list[Type | None]:
    return [_found(part) if isinstance(part, exp.DataType) else None for part in node.expressions]


def _of_field(field: exp.Expr) -> Type | None:
    kind = field.args.get("kind")
    return _found(kind) if isinstance(kind, exp.DataType) else None
