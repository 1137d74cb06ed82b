"""Sketches: near the exact answer, the same however rows are cut into pieces, and small."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from penstock.kernel.aggregates import FUNCTIONS
from penstock.kernel.aggregates.function import Function
from penstock.kernel.aggregates.grouping import Grouping
from penstock.model.types import Type


def answer(function: Function, values: pl.Series, pieces: int) -> float:
    """Of values cut into pieces whose partials are merged."""
    [part] = function.parts
    cut = np.arange(len(values)) * pieces // len(values)
    partials = part.start({"v": values}, Grouping(cut, pieces))
    columns = dict(zip(part.columns, partials, strict=True))
    merged = part.merge(columns, Grouping(np.zeros(pieces, dtype=np.int64), 1))
    [found] = function.result(dict(zip(part.columns, merged, strict=True))).to_list()
    return float(found)


@pytest.mark.parametrize("count", [1, 10, 1000, 5000, 20_000, 300_000])
@pytest.mark.parametrize("text", [False, True])
def test_hyper_log_log_is_within_a_few_percent(count: int, text: bool) -> None:
    values = pl.Series(np.arange(count).repeat(2))
    if text:
        values = values.cast(pl.String)
    of = Type.STRING if text else Type.BIGINT
    function = FUNCTIONS["approx_count_distinct"]("v", of)
    whole = answer(function, values, 1)
    assert whole == pytest.approx(count, rel=0.06)
    assert answer(function, values.shuffle(7), min(7, count)) == whole


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.99, 1.0])
def test_dd_sketch_is_within_one_percent_of_the_value(share: float) -> None:
    values = np.random.default_rng(3).lognormal(3, 2, 20_001)
    values[::3] *= -1
    function = FUNCTIONS["approx_percentile"]("v", Type.DOUBLE, None, (share,))
    exact = np.quantile(values, share, method="lower")
    found = answer(function, pl.Series(values), 5)
    assert abs(found - exact) <= 0.011 * abs(exact)


def test_dd_sketch_keeps_few_buckets() -> None:
    values = pl.Series(np.random.default_rng(3).lognormal(3, 2, 100_000))
    [part] = FUNCTIONS["approx_percentile"]("v", Type.DOUBLE, None, (0.5,)).parts
    [buckets] = part.start({"v": values}, Grouping(np.zeros(100_000, dtype=np.int64), 1))
    assert buckets.list.len()[0] < 1000


def test_sketches_of_nothing() -> None:
    nothing = pl.Series([None, None], dtype=pl.Float64)
    counted = FUNCTIONS["approx_count_distinct"]("v", Type.DOUBLE)
    assert answer(counted, nothing, 1) == 0
    [part] = FUNCTIONS["approx_percentile"]("v", Type.DOUBLE, None, (0.5,)).parts
    groups = Grouping(np.zeros(2, dtype=np.int64), 1)
    columns = dict(zip(part.columns, part.start({"v": nothing}, groups), strict=True))
    function = FUNCTIONS["approx_percentile"]("v", Type.DOUBLE, None, (0.5,))
    assert function.result(columns).to_list() == [None]
