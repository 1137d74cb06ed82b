"""Keys: hashes of the columns that must be equal, the same on both sides of a join.

Equal keys have equal hashes, also where the sides' types differ: both are cast to the type they
have in common first. A row with a NULL among its keys equals nothing.

Polars promises stable hashes within one of its versions only, so whoever keeps codes in a state
keeps `HASHED_BY` beside them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from penstock.kernel.expressions import compile_expression
from penstock.kernel.joins.run import HASH_BITS, Codes
from penstock.model.expressions import Cast, Expression, Ref
from penstock.model.types import Type, common_type

#: What made the hashes.
HASHED_BY = f"polars {pl.__version__}"


class Keys:
    """The key columns of one side, in the types that both sides share."""

    def __init__(self, columns: Sequence[Ref], others: Sequence[Ref]) -> None:
        self.names = [column.name for column in columns]
        self._exprs = [
            compile_expression(_as(mine, theirs)).alias(f"__key{place}")
            for place, (mine, theirs) in enumerate(zip(columns, others, strict=True))
        ]

    def without_null(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows that can have an equal at all."""
        if not any(rows.get_column(name).null_count() for name in self.names):
            return rows
        return rows.drop_nulls(self.names)

    def hashes(self, rows: pl.DataFrame) -> Codes:
        """A hash of each row's keys, of as many bits as a code has room for."""
        if not self._exprs:
            return np.zeros(rows.height, np.uint64)
        keys = rows.select(self._exprs)
        hashed = keys.to_series().hash() if keys.width == 1 else keys.hash_rows()
        hashes: Codes = hashed.to_numpy() >> np.uint64(64 - HASH_BITS)
        return hashes


def _as(mine: Ref, theirs: Ref) -> Expression:
    common = common_type(mine.type, theirs.type)
    return mine if common in (mine.type, None, Type.NULL) else Cast(mine, common)
