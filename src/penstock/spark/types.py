"""Types of Spark's as ours, and ours as Spark's."""

from __future__ import annotations

from pyspark.sql import types as T

from penstock.errors import TypeMismatch
from penstock.model.types import ArrayType, MapType, StructType, Type


def our_type(given: T.DataType) -> Type | None:
    """The type of ours that one of Spark's is; None: there is none.

    >>> our_type(T.TimestampNTZType()), our_type(T.ArrayType(T.DecimalType(5, 2)))
    (<Type.TIMESTAMP_NTZ: 'TIMESTAMP_NTZ'>, <ARRAY<DECIMAL(5, 2)>>)
    >>> our_type(T.VariantType()), our_type(T.ArrayType(T.NullType()))
    (None, None)
    """
    try:
        match given:
            case T.ArrayType():
                element = our_type(given.elementType)
                return None if element is None else ArrayType(element)
            case T.MapType():
                key, of = our_type(given.keyType), our_type(given.valueType)
                return None if key is None or of is None else MapType(key, of)
            case T.StructType():
                fields = [(field.name, our_type(field.dataType)) for field in given]
                known = tuple((name, of) for name, of in fields if of is not None)
                return StructType(known) if len(known) == len(fields) else None
        found = Type(given.simpleString())
    except TypeMismatch:
        return None
    return None if found in (Type.NULL, Type.INTERVAL) else found


def ddl(of: Type) -> str:
    """One of ours as Spark writes it."""
    return _OTHER_NAMES.get(of, str(of))


_OTHER_NAMES = {Type.NULL: "VOID", Type.INTERVAL: "INTERVAL DAY TO SECOND"}
