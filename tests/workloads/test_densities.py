"""The data sets DS1 to DS5 have the densities of the table."""

from __future__ import annotations

import polars as pl
import pytest

from penstock.model.timestamps import SECOND
from penstock.workloads import workload
from penstock.workloads.arrivals import START

#: Data set -> small, medium, large: percentages of the groups, then of the rows.
TABLE = {
    "DS1": ((39, 51, 10), (1, 20, 79)),
    "DS2": ((66, 28, 6), (3, 20, 77)),
    "DS3": ((77, 19, 4), (5, 20, 75)),
    "DS4": ((82, 15, 3), (7, 20, 73)),
    "DS5": ((87, 11, 2), (9, 20, 71)),
}


def seconds(dataset: str, **options: str) -> list[pl.DataFrame]:
    """The size of each group, second by second."""
    rows = workload("densities", {"dataset": dataset, **options}).rows(0, 20_000)
    rows = rows.with_columns((pl.col("ts") - START) // SECOND)
    return rows.group_by("ts", "srcIP").len("size").partition_by("ts", maintain_order=True)


@pytest.mark.parametrize("dataset", TABLE)
def test_every_second_has_the_shares_of_the_table(dataset):
    of_groups, of_rows = TABLE[dataset]
    for second in seconds(dataset):
        sizes = second["size"]
        kinds = [sizes.filter(sizes == 1), sizes.filter((sizes > 1) & (sizes < 100))]
        kinds.append(sizes.filter(sizes >= 100))
        assert sizes.sum() == 4000
        assert [k.len() / sizes.len() * 100 for k in kinds] == pytest.approx(of_groups, abs=2)
        assert [k.sum() / 40 for k in kinds] == pytest.approx(of_rows, abs=0.01)
        assert kinds[1].mean() == pytest.approx(15, rel=0.02)
        assert kinds[2].mean() == pytest.approx(300, rel=0.06)


def test_rows_of_a_group_are_scattered_over_the_second():
    rows = workload("densities").rows(0, 4000)["srcIP"]
    changes = (rows != rows.shift(1)).sum()
    assert changes > 3000


def test_the_rate_is_the_number_of_rows_in_each_second():
    assert [s["size"].sum() for s in seconds("DS3", rate="5000")] == [5000] * 4
