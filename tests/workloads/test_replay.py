"""What every workload keeps: replay, types, slack, end. Each law holds for each of them."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from penstock.kernel.types import polars_type
from penstock.model.timestamps import SECOND
from penstock.workloads import WORKLOADS, Workload, workload

DISORDERED = {"disorder": "5 seconds", "lull": "10 seconds", "every": "1 minute", "rate": "2000"}
BLOCKS = {"block": "7 seconds", "lag": "1 second", "burst": "3"}

CASES = {
    **{name: workload(name) for name in WORKLOADS},
    **{
        f"{name}, {what}": workload(name, options)
        for name in WORKLOADS
        if name != "densities"
        for what, options in (("disordered", DISORDERED), ("in blocks", BLOCKS))
    },
    "packets, back": workload("packets", {"link": "main2", "disorder": "1 second"}),
    "packets, quiet": workload("packets", {"link": "quiet"}),
    "poisson, skewed": workload("poisson", {"skew": "1.2", "value": "bigint"}),
}
every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


@every_case
@settings(max_examples=20)
@given(first=st.integers(0, 100_000), sizes=st.lists(st.integers(0, 5000), min_size=1, max_size=4))
def test_rows_are_the_same_however_they_are_cut(case: Workload, first: int, sizes: list[int]):
    starts = first + np.cumsum([0, *sizes])
    # The last part first: what was made before must not matter.
    parts = [case.rows(int(starts[n]), sizes[n]) for n in reversed(range(len(sizes)))]
    assert_frame_equal(case.rows(first, sum(sizes)), pl.concat(reversed(parts)))


@every_case
def test_rows_far_into_the_stream_need_none_of_those_before_them(case: Workload):
    rows = case.rows(10**9, 100)
    assert rows.height == 100
    assert_frame_equal(rows.slice(40), case.rows(10**9 + 40, 60))


@every_case
def test_columns_have_the_declared_types_and_no_nulls(case: Workload):
    rows = case.rows(5, 1000)
    assert dict(rows.schema) == {c.name: polars_type(c.type) for c in case.columns}
    assert rows.null_count().row(0) == (0,) * rows.width
    assert dict(case.rows(5, 0).schema) == dict(rows.schema)


@every_case
def test_no_row_is_later_than_the_declared_slack(case: Workload):
    times = case.rows(0, 50_000)[case.timestamp].to_numpy()
    late = np.maximum.accumulate(times) - times
    assert late.max() <= case.slack
    assert case.slack == 0 or late.max() > case.slack / 2


@every_case
def test_arrivals_are_ordered_and_counted(case: Workload):
    times = case.arrival_times(0, 20_000)
    assert (np.diff(times) >= 0).all()
    for tick in times[[0, 1, 999, 15_000]].tolist():
        assert case.arrived(tick) == np.searchsorted(times, tick)
        assert case.arrived(tick + 1) == np.searchsorted(times, tick, side="right")


@pytest.mark.parametrize("name", WORKLOADS)
def test_the_same_seed_gives_the_same_rows_and_another_seed_others(name: str):
    one, again = workload(name, seed=1).rows(0, 2000), workload(name, seed=1).rows(0, 2000)
    assert_frame_equal(one, again)
    assert_frame_equal(one, workload(name, {"seed": "1"}, seed=2).rows(0, 2000))
    other = workload(name, seed=2).rows(0, 2000)
    ids = {"id", "itemName"}  # these count, whatever the seed
    assert all(not one[column].equals(other[column]) for column in one.columns if column not in ids)


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_finite_stream_is_the_beginning_of_the_endless_one_and_ends(name: str):
    endless, finite = workload(name), workload(name, {"rows": "10000"})
    assert_frame_equal(finite.rows(9000, 5000), endless.rows(9000, 1000))
    assert finite.rows(10_000, 5).height == finite.rows(20_000, 5).height == 0
    assert len(finite.arrival_times(9990, 100)) == 10
    assert finite.arrived(finite.arrivals.start + 100_000 * SECOND) == 10_000
    assert workload(name, {"rows": "0"}).rows(0, 10).height == 0


@pytest.mark.parametrize(("first", "count"), [(-1, 5), (0, -1)])
def test_there_are_no_negative_row_numbers(first: int, count: int):
    with pytest.raises(ValueError, match="there are no rows"):
        workload("poisson").rows(first, count)
