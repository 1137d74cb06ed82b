"""top_k(x, k): the k greatest values as JSON, greatest first. No more than k are ever kept."""

from __future__ import annotations

import polars as pl

from penstock.kernel.aggregates.grouping import Columns
from penstock.kernel.aggregates.lists import GROUP, VALUE, Listed, as_json


class TopK(Listed):
    """The greatest values; NaN is greater than any number."""

    kinds = ("top",)

    def arranged(self, rows: pl.DataFrame) -> pl.DataFrame:
        [k] = self.parameters
        rows = rows.sort(GROUP, VALUE, descending=[False, True])
        return rows.filter(pl.int_range(pl.len()).over(GROUP) < int(k))

    def result(self, partials: Columns) -> pl.Series:
        return as_json(partials[self.columns[0]])
