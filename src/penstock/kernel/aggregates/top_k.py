"""top_k(x, k): the k greatest values as JSON, greatest first. No more than k are ever kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from penstock.kernel.aggregates.grouping import Columns
from penstock.kernel.aggregates.lists import GROUP, VALUE, Listed, as_json, pack
from penstock.kernel.types import polars_type


@dataclass(frozen=True)
class TopK(Listed):
    """The greatest values; NaN is greater than any number."""

    kinds: ClassVar[tuple[str, ...]] = ("top",)

    def packed(self, rows: pl.DataFrame, size: int) -> pl.Series:
        assert self.of is not None
        [k] = self.parameters
        rows = rows.sort(GROUP, VALUE, descending=[False, True])
        rows = rows.filter(pl.int_range(pl.len()).over(GROUP) < int(k))
        return pack(rows, size, polars_type(self.of))

    def result(self, partials: Columns) -> pl.Series:
        return as_json(partials[self.columns[0]])
