"""Keys, values and times of a Poisson stream."""

from __future__ import annotations

import polars as pl
import pytest

from penstock.model.timestamps import MINUTE, SECOND
from penstock.workloads import workload
from penstock.workloads.arrivals import START


def test_keys_are_skewed_as_asked_for():
    rows = workload("poisson", {"keys": "100", "skew": "1"}).rows(0, 100_000)
    counts = rows["key"].value_counts(sort=True)
    assert counts["key"][0] == 0
    assert counts["count"][0] / 100_000 == pytest.approx(1 / 5.187, rel=0.03)  # 1 / H(100)
    assert rows["key"].n_unique() == 100


def test_values_add_up_to_the_same_sum_in_any_order():
    values = workload("poisson").rows(0, 100_000)["value"].to_list()
    assert sum(values) == sum(reversed(values)) == sum(sorted(values))
    assert min(values) >= 0
    assert max(values) < 1024


def test_values_may_be_whole_numbers():
    values = workload("poisson", {"value": "BIGINT"}).rows(0, 1000)["value"]
    assert values.dtype == pl.Int64
    assert (values > 1024).any()


def test_event_times_keep_out_of_lulls_but_for_the_disorder_of_their_end():
    options = {"rate": "1000", "lull": "20 seconds", "disorder": "2 seconds"}
    since = workload("poisson", options).rows(0, 200_000)["ts"].to_numpy() - START
    within = since % MINUTE
    assert not ((within >= 40 * SECOND) & (within < 58 * SECOND)).any()
    assert ((within >= 58 * SECOND) & (since > 0)).any()
