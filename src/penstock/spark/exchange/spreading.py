"""Spreading: which partition group a row belongs to.

A number is made of the key's values and the group found by its remainder. State lies with its
group, so the number must come out the same for ever: in another process, on another machine, after
an update of every library. Hashes of dataframe libraries do not guarantee that, so this one is
plain arithmetic on 64 bits, and CRC-32 for text, taken once per distinct value. Decimals count by
their digits, arrays and structs by their JSON.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

_Numbers = npt.NDArray[np.uint64]

#: Odd constants with well mixed bits (those of SplitMix64).
_STEP, _FIRST, _SECOND = (
    np.uint64(0x9E3779B97F4A7C15),
    np.uint64(0xBF58476D1CE4E5B9),
    np.uint64(0x94D049BB133111EB),
)
_NULL = 0x5BF03635


def spread(rows: pl.DataFrame, keys: Sequence[str], groups: int) -> pl.Series:
    """For each row the place of its group, from 0."""
    mixed: _Numbers = np.zeros(rows.height, dtype=np.uint64)
    for key in keys:
        mixed = _mix(mixed + _numbers(rows.get_column(key)))
    # The high bits: a multiple of a power of two would leave its mark on the low ones.
    return pl.Series("group", ((mixed >> np.uint64(32)) % np.uint64(groups)).astype(np.int32))


def _mix(values: _Numbers) -> _Numbers:
    values = values + _STEP
    values = (values ^ (values >> np.uint64(30))) * _FIRST
    values = (values ^ (values >> np.uint64(27))) * _SECOND
    mixed: _Numbers = values ^ (values >> np.uint64(31))
    return mixed


def _numbers(column: pl.Series) -> _Numbers:
    """Each value as 64 bits; equal values of one type have equal ones."""
    dtype = column.dtype
    if dtype == pl.String() or dtype == pl.Binary():
        return _of_distinct(column)
    if dtype.is_decimal():
        return _of_distinct(column.cast(pl.String))  # all digits, however many
    if dtype.is_nested():
        text = pl.struct(column.alias("x")).struct.json_encode()
        return _of_distinct(pl.select(text).to_series())
    if dtype.is_float():
        numbers = column.cast(pl.Float64).fill_null(0.0).to_numpy()
        # Both zeros are equal (adding 0 makes -0 a 0), and all that is not a number is.
        bits = np.where(np.isnan(numbers), np.nan, numbers + 0.0).view(np.uint64)
    else:
        bits = column.to_physical().cast(pl.Int64).fill_null(0).to_numpy().view(np.uint64)
    if column.null_count():
        bits = np.where(column.is_null().to_numpy(), np.uint64(_NULL), bits)
    return bits


def _of_distinct(column: pl.Series) -> _Numbers:
    distinct = column.unique()
    texts = distinct.cast(pl.Binary).to_list()
    sums = [_NULL if text is None else zlib.crc32(text) for text in texts]
    table = pl.Series(sums, dtype=pl.UInt64)
    numbers = column.replace_strict(distinct, table, return_dtype=pl.UInt64)
    found: _Numbers = numbers.to_numpy()
    return found
