"""Types: one object each, read from their text, widened to each other."""

from __future__ import annotations

import pickle

import pytest

from penstock.errors import TypeMismatch
from penstock.kernel.types import arrow_type, polars_type, type_of_arrow
from penstock.model.types import ArrayType, DecimalType, MapType, StructType, Type, common_type
from penstock.optimizer.codec import decode, encode

TYPES = [
    *Type,
    DecimalType(38, 18),
    ArrayType(Type.TIMESTAMP),
    MapType(Type.STRING, ArrayType(DecimalType(5, 2))),
    StructType((("a", Type.INT), ("b c`d", StructType((("e", Type.TIMESTAMP_NTZ),))))),
]


@pytest.mark.parametrize("of", TYPES, ids=str)
def test_a_type_is_the_same_object_however_it_is_made(of: Type) -> None:
    assert Type(str(of)) is of
    assert Type(str(of).lower()) is of or "`" in str(of)
    assert pickle.loads(pickle.dumps(of)) is of
    assert decode(encode(of)) is of
    assert type_of_arrow(arrow_type(of)) is of
    assert polars_type(of) == polars_type(Type(str(of)))


@pytest.mark.parametrize("text", ["", "x", "array<int", "decimal(39, 0)", "struct<>", "map<int>"])
def test_what_is_no_type_is_refused(text: str) -> None:
    with pytest.raises(TypeMismatch):
        Type(text)


@pytest.mark.parametrize(
    ("left", "right", "common"),
    [
        (DecimalType(5, 2), Type.BIGINT, DecimalType(22, 2)),
        (DecimalType(5, 2), Type.DOUBLE, Type.DOUBLE),
        (Type.TIMESTAMP, Type.TIMESTAMP_NTZ, Type.TIMESTAMP),
        (Type.DATE, Type.TIMESTAMP_NTZ, Type.TIMESTAMP_NTZ),
        (ArrayType(Type.INT), ArrayType(Type.BIGINT), ArrayType(Type.BIGINT)),
        (ArrayType(Type.INT), Type.INT, None),
    ],
)
def test_types_have_one_in_common(left: Type, right: Type, common: Type | None) -> None:
    assert common_type(left, right) is common
    assert common_type(right, left) is common
