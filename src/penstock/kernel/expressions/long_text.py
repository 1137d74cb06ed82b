"""Texts that a function would make longer than there is room for.

A text of more than `LONGEST_TEXT` characters is none: the function has no answer for that row, so
it gives NULL like any other computation without one. Whether it does depends on the row alone, so
answers do not depend on how rows are cut into blocks. All texts of a block together may still be
more than the memory holds, and Polars would end the process: that is an error instead, with the
way out.
"""

from __future__ import annotations

import polars as pl

from penstock.errors import HostError
from penstock.model.functions import LONGEST_TEXT

#: Bytes of text that one step may make: what one column of Arrow has room for.
_MOST = 1 << 31


class TooMuchText(HostError):
    """The rows of one step would become more text than there is room for."""

    def __init__(self, message: str) -> None:
        # On its way through Polars an error is made anew, with the expression behind its text.
        super().__init__(
            message.partition("\n")[0],
            hint="process fewer rows at a time: SET rows_per_step = 1000; or make shorter texts",
        )


def characters(text: pl.Expr) -> pl.Expr:
    return text.str.len_chars().cast(pl.Int64)


def fits(length: pl.Expr, *, pieces: pl.Expr | None = None) -> pl.Expr:
    """Whether a text of that many characters can be made, and those of the whole block can.

    `pieces` is how many parts it is put together from, where these take memory as well.
    """

    def check(weights: pl.Series) -> pl.Series:
        total = weights.sum()
        if total > _MOST:
            raise TooMuchText(
                f"the texts of one step would take {total / 2**30:.0f} GiB; the limit is "
                f"{_MOST / 2**30:.0f}"
            )
        return weights

    short = length <= LONGEST_TEXT
    weight = length if pieces is None else length + 16 * pieces
    allowed = pl.when(short).then(weight).map_batches(check, return_dtype=pl.Int64)
    return allowed.is_not_null()
