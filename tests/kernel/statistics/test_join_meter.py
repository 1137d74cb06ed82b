"""JoinMeter: which rows it looks at."""

from __future__ import annotations

import pytest

from penstock.kernel.statistics.join_meter import JoinMeter
from penstock.kernel.statistics.measured_join import MeasuredJoin


@pytest.mark.parametrize("rows", [1, 7, 8, 9, 15])
def test_each_row_is_as_likely_looked_at_as_any_other_however_few_come_at_once(rows: int) -> None:
    meter = JoinMeter(MeasuredJoin((), (), (), width=10, is_time=True))
    times = [0] * rows
    for _ in range(4000):
        for row in meter._drawn(rows, one_in=8):
            times[row] += 1
    assert times == [pytest.approx(500, abs=120)] * rows
