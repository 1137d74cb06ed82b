"""RowSample: a few rows of many, each as likely as any other, by which conditions are tried.

Every row draws a number between 0 and 1, and those with the least stay. A row whose number would be
too high is not looked at: how many of a block are below, and which, is drawn instead.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

#: Rows that are kept.
SIZE = 128


class RowSample:
    """Of some columns of rows, by other names; the same rows give the same sample."""

    def __init__(self, columns: Mapping[str, str], seed: int) -> None:
        self._columns = columns
        self._random = np.random.default_rng(seed)
        self._drawn = np.empty(0)
        self._below = 1.0
        self.rows: pl.DataFrame | None = None

    def add(self, rows: pl.DataFrame) -> None:
        count = int(self._random.binomial(rows.height, self._below))
        if not count:
            return
        which = self._random.choice(rows.height, count, replace=False, shuffle=False)
        named = self._columns.items()
        new = pl.DataFrame([rows.get_column(own).alias(name) for own, name in named])[which]
        self.rows = new if self.rows is None else pl.concat([self.rows, new])
        self._drawn = np.concatenate([self._drawn, self._random.random(count) * self._below])
        if len(self._drawn) > SIZE:
            least = np.argpartition(self._drawn, SIZE)[: SIZE + 1]
            self._below = float(self._drawn[least].max())
            least = least[self._drawn[least] < self._below]
            self._drawn, self.rows = self._drawn[least], self.rows[least]
