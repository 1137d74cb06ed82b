"""Columns of text whose values are all written in the plainest way, read in one go.

Files of text are mostly like that: whole numbers as digits, times as `2026-03-01 10:00:00.900`.
What is read here is read the same by the cast of SQL (`expressions/reading.py`), which knows every
other way to write a value and takes twenty times as long for a time. A column with one value that
is not plain is left to it.
"""

from __future__ import annotations

import polars as pl
import pyarrow as pa

from penstock.kernel.types import polars_type
from penstock.model.types import Type

#: Characters of a time with seconds and no zone: without a fraction, and with six digits of it.
_SHORTEST, _LONGEST = 19, 26


def from_plain_text(texts: pl.Series, to: Type) -> pl.Series | None:
    """The values that texts write out; None: some are not written plainly.

    >>> from_plain_text(pl.Series(["7", None, "-2"]), Type.INT).to_list()
    [7, None, -2]
    >>> from_plain_text(pl.Series(["7", " 2.0"]), Type.INT)
    >>> from_plain_text(pl.Series(["1970-01-01 00:00:01.5"]), Type.TIMESTAMP).to_list()
    [1500000]
    """
    if to.is_time:
        return _ticks(texts)
    if to.is_integer:
        numbers = texts.cast(polars_type(to), strict=False)
        return numbers if numbers.null_count() == texts.null_count() else None
    return None


def _ticks(texts: pl.Series) -> pl.Series | None:
    lengths = texts.str.len_bytes()
    if not lengths.is_between(_SHORTEST, _LONGEST).all():
        return None
    try:
        # So long a text, without a zone, Arrow reads only if it has all fields down to seconds.
        moments = texts.to_arrow(compat_level=pl.CompatLevel.oldest()).cast(pa.timestamp("us"))
    except pa.ArrowInvalid:
        return None
    ticks = pl.Series(texts.name, moments)
    return ticks.dt.epoch("us")
