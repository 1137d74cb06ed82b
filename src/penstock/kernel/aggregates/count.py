"""count(*): how many rows. count(x): how many of them have an x."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from penstock.kernel.aggregates.function import Additive
from penstock.kernel.aggregates.grouping import Columns, Grouping


@dataclass(frozen=True)
class Count(Additive):
    """Never NULL: nothing counted is 0."""

    kinds: ClassVar[tuple[str, ...]] = ("count",)

    def start(self, rows: Columns, groups: Grouping) -> tuple[pl.Series, ...]:
        return (groups.count(None if self.argument is None else self.values(rows)),)
