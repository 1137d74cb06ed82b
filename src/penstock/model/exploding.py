"""Exploding: a row for each element of an array, or for each entry of a map.

    value                         a row for each      columns
    ARRAY<INT>                    element             one
    MAP<STRING, INT>              entry               two: key, value
    ARRAY<STRUCT<a: …, b: …>>     element             one, or with `fields` one for each field

Elements come out in their order, the entries of a map in that in which it has them. NULL and what
is empty give no row, or where `outer` is set one with NULL in all these columns.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.errors import TypeMismatch
from penstock.model.expressions import Expression
from penstock.model.schema import Column
from penstock.model.types import ArrayType, MapType, StructType, Type


@dataclass(frozen=True)
class Exploding:
    """What is exploded, and what the columns are called.

    `position` names a column that counts the elements of a row, beginning with `first`.
    """

    value: Expression
    names: tuple[str, ...]
    position: str | None = None
    first: int = 0
    outer: bool = False
    fields: bool = False

    def __post_init__(self) -> None:
        assert len(self.names) == len(parts_of(self.value, self.fields)), f"{self} lacks names"

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns that it adds to a row; the position is the last."""
        types = (of for _, of in parts_of(self.value, self.fields))
        found = (Column(name, of) for name, of in zip(self.names, types, strict=True))
        counted = () if self.position is None else (Column(self.position, Type.INT),)
        return (*found, *counted)

    def __str__(self) -> str:
        kind = "outer " if self.outer else ""
        parts = "fields of " if self.fields else ""
        position = () if self.position is None else (f"position {self.position}",)
        names = ", ".join((*self.names, *position))
        return f"{kind}{parts}{self.value} AS {names}"


def parts_of(value: Expression, fields: bool) -> tuple[tuple[str, Type], ...]:
    """What an element has, under the names that Spark gives it; `fields`: the fields of structs."""
    of = value.type
    if isinstance(of, MapType) and not fields:
        return ("key", of.key), ("value", of.of)
    if isinstance(of, ArrayType):
        if not fields:
            return (("col", of.element),)
        if isinstance(of.element, StructType):
            return of.element.fields
    wanted = "an array of structs" if fields else "an array or a map"
    raise TypeMismatch(f"`{value}` is {of}, and only {wanted} can be exploded so")
