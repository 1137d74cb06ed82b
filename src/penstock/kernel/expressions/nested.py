"""Functions of arrays, maps and structs; a place or key that is not there gives NULL."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl

from penstock.model.types import ArrayType, MapType, StructType, Type

Types = Sequence[Type]


def get(types: Types, value: pl.Expr, place: pl.Expr) -> pl.Expr:
    """`a[0]` and `m['k']`."""
    if isinstance(types[0], MapType):
        return value.map.get(place)
    there = pl.when(place >= 0).then(place)
    return value.list.get(there, null_on_oob=True)


def element_at(types: Types, value: pl.Expr, place: pl.Expr) -> pl.Expr:
    """The same, where places of an array count from 1, or from its end."""
    if isinstance(types[0], MapType):
        return value.map.get(place)
    index = pl.when(place > 0).then(place - 1).when(place < 0).then(place)
    return value.list.get(index, null_on_oob=True)


def get_field(types: Types, value: pl.Expr, name: str) -> pl.Expr:
    [of] = types[:1]
    assert isinstance(of, StructType)
    found = of.field(name)
    assert found is not None
    return value.struct.field(found[0])


def size(types: Types, value: pl.Expr) -> pl.Expr:
    length = value.list.len() if isinstance(types[0], ArrayType) else value.map.len()
    return length.cast(pl.Int32)


def array_contains(value: pl.Expr, wanted: pl.Expr) -> pl.Expr:
    """TRUE where an element is equal, else NULL where one could be, else FALSE."""
    known = value.list.contains(wanted, nulls_equal=False)
    has_null = value.list.eval(pl.element().is_null()).list.any()
    unknown = pl.when(wanted.is_null() | value.is_null() | (~known & has_null)).then(None)
    return unknown.otherwise(known)


def map_contains_key(value: pl.Expr, key: pl.Expr) -> pl.Expr:
    return pl.when(key.is_not_null()).then(value.map.contains_key(key))


FORMS: dict[str, Callable[..., pl.Expr]] = {
    "array_contains": array_contains,
    "map_contains_key": map_contains_key,
    "map_keys": lambda value: value.map.keys(),
    "map_values": lambda value: value.map.values(),
}

BY_TYPE: dict[str, Callable[..., pl.Expr]] = {
    "get": get,
    "element_at": element_at,
    "get_field": get_field,
    "size": size,
}
