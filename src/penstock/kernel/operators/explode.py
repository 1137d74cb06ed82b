"""Explode: a row for each element of an array, or for each entry of a map.

Rows pass at once, in their order and that of their elements; the columns that are kept are repeated
for each. Their bounds pass as through a Project.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import polars as pl

from penstock.kernel.block import Block
from penstock.kernel.expressions import compile_columns
from penstock.kernel.operator import Output
from penstock.kernel.operators.project import Project
from penstock.kernel.progress.release import Times, Waiting
from penstock.model.exploding import Exploding
from penstock.model.expressions import Named, Ref
from penstock.model.schema import OURS, Column
from penstock.model.types import MapType, StructType

_EXPLODED = f"{OURS}exploded"


class Explode(Project):
    """Repeats the columns `kept` for each element."""

    def __init__(self, kept: Sequence[Column], of: Exploding) -> None:
        columns = [Named(column.name, Ref(column.name, column.type)) for column in kept]
        super().__init__(columns)
        self._of = of
        self._columns = [column.name for column in (*kept, *of.columns)]
        self._with_value = compile_columns([*columns, Named(_EXPLODED, of.value)])
        self._lists = self._listed()

    def _listed(self) -> dict[str, pl.Expr]:
        """Columns of lists that are as long as each other."""
        value, of = pl.col(_EXPLODED), self._of
        found: dict[str, pl.Expr] = {}
        if isinstance(of.value.type, MapType):
            found = dict(zip(of.names, (value.map.keys(), value.map.values()), strict=True))
            length = value.map.len()
        else:
            found[_EXPLODED if of.fields else of.names[0]] = value
            length = value.list.len()
        if of.position is not None:
            behind = length.cast(pl.Int32) + of.first
            found[of.position] = pl.int_ranges(of.first, behind, dtype=pl.Int32)
        return found

    def on_batch(self, port: int, block: Block, out: Output) -> None:
        rows = self._with_value(block.rows).with_columns(**self._lists)
        outer = self._of.outer
        rows = rows.explode(*self._lists, empty_as_null=outer, keep_nulls=outer)
        if self._of.fields:
            rows = rows.with_columns(*self._fields())
        if rows.height:
            out.batch(Block(rows.select(self._columns)))

    def _fields(self) -> Iterable[pl.Expr]:
        element = self._of.value.type.parts[0]
        assert isinstance(element, StructType)
        for name, (field, _) in zip(self._of.names, element.fields, strict=True):
            yield pl.col(_EXPLODED).struct.field(field).alias(name)

    def passes(self, port: int, times: Times) -> Iterable[Waiting]:
        waiting = super().passes(port, times)
        return [replace(each, certain=self._of.outer) for each in waiting]
