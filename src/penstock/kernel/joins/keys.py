"""Keys: hashes of what must be equal, the same on both sides of a join.

That is a column of each side, or something computed from columns of one side alone, as in
`mod(a.id, 100) = b.id`: to try every pair instead would be as right, and as slow as pairs are many.

Equal keys have equal hashes, also where the sides' types differ: both are cast to the type they
have in common first. A row with a NULL among its keys equals nothing.

Polars guarantees stable hashes within one of its versions only, so whoever keeps codes in a state
keeps `HASHED_BY` beside them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import polars as pl

from penstock.kernel.expressions import compile_expression
from penstock.kernel.joins.run import HASH_BITS, Codes
from penstock.kernel.segments import Mask
from penstock.model.expressions import Call, Cast, Expression, Ref, conjuncts
from penstock.model.types import Type, common_type

#: What made the hashes.
HASHED_BY = f"polars {pl.__version__}"


class Keys:
    """The keys of one side, in the types that both sides share."""

    def __init__(self, mine: Sequence[Expression], theirs: Sequence[Expression]) -> None:
        #: By what rows are hashed: equal for keys that hash all rows alike.
        self.text = tuple(str(_as(*pair)) for pair in zip(mine, theirs, strict=True))
        self._columns = [key.name for key in mine if isinstance(key, Ref)]
        self._computed = [compile_expression(key) for key in mine if not isinstance(key, Ref)]
        self._exprs = [
            compile_expression(_as(*pair)).alias(f"__key{place}")
            for place, pair in enumerate(zip(mine, theirs, strict=True))
        ]
        #: The only key, if it is a column as it is: to ask Polars for it would cost more than this.
        only = mine[0] if len(mine) == 1 and _as(mine[0], theirs[0]) is mine[0] else None
        self._lone = only.name if isinstance(only, Ref) else None

    def without_null(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows that can have an equal at all."""
        if any(rows.get_column(name).null_count() for name in self._columns):
            rows = rows.drop_nulls(self._columns)
        if self._computed:
            rows = rows.filter(*(key.is_not_null() for key in self._computed))
        return rows

    @property
    def missing(self) -> list[pl.Expr]:
        """What is true of the rows that `without_null` leaves out, one of them at least."""
        return [key.is_null() for key in (*map(pl.col, self._columns), *self._computed)]

    def hashes(self, rows: pl.DataFrame) -> Codes:
        """A hash of each row's keys, of as many bits as a code has room for."""
        shortened: Codes = self.whole_hashes(rows) >> np.uint64(64 - HASH_BITS)
        return shortened

    def whole_hashes(self, rows: pl.DataFrame) -> Codes:
        """A hash of each row's keys, of 64 bits; 0 where there are no keys."""
        if not self._exprs:
            return np.zeros(rows.height, np.uint64)
        if self._lone is not None:
            lone: Codes = rows.get_column(self._lone).hash().to_numpy()
            return lone
        keys = rows.select(self._exprs)
        hashed = keys.to_series().hash() if keys.width == 1 else keys.hash_rows()
        hashes: Codes = hashed.to_numpy()
        return hashes

    def same_as_before(self, rows: pl.DataFrame) -> Mask:
        """Of every row but the first, whether its keys are those of the row before it."""
        if not self._exprs:
            return np.ones(rows.height - 1, np.bool_)
        same = pl.all_horizontal([key == key.shift(1) for key in self._exprs])
        return rows.select(same.alias("same")).to_series()[1:].fill_null(False).to_numpy()


def computed_keys(
    residual: Expression | None, mine: Iterable[str], theirs: Iterable[str]
) -> list[tuple[Expression, Expression]]:
    """What a condition on pairs says to be equal of one side and of the other, mine first.

    `mine` and `theirs` are the columns of the sides.
    """
    sides = (frozenset(mine), frozenset(theirs))
    found = []
    for part in conjuncts(residual):
        if not isinstance(part, Call) or part.function != "=":
            continue
        for first, second in (part.args, reversed(part.args)):
            on = (first.refs, second.refs)
            if all(refs and refs <= side for refs, side in zip(on, sides, strict=True)):
                found.append((first, second))
    return found


def are_keys(residual: Expression | None, mine: Iterable[str], theirs: Iterable[str]) -> bool:
    """Whether a condition on pairs says nothing else than that."""
    return len(computed_keys(residual, mine, theirs)) == sum(1 for _ in conjuncts(residual))


def _as(mine: Expression, theirs: Expression) -> Expression:
    common = common_type(mine.type, theirs.type)
    return mine if common in (mine.type, None, Type.NULL) else Cast(mine, common)
