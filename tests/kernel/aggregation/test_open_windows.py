"""Open windows are counted from above, and exactly before they are too many."""

from __future__ import annotations

import random

import numpy as np
import pytest

from penstock.errors import TooManyWindows
from penstock.kernel.aggregation import open_windows
from penstock.kernel.aggregation.open_windows import OpenWindows
from penstock.windows import Sliding


def test_rows_are_refused_exactly_where_they_open_more_than_a_query_can_have(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(open_windows, "MOST_OPEN", 40)
    refused = 0
    for seed in range(300):
        chance = random.Random(seed)
        monkeypatch.setattr(open_windows, "FEW", chance.choice([0, 10]))
        counted = OpenWindows(Sliding("ts", 10, 1))
        known: list[tuple[int, int]] = []

        def kept(known: list[tuple[int, int]] = known) -> tuple[np.ndarray, np.ndarray]:
            starts, stops = zip(*known, strict=True) if known else ((), ())
            return np.array(starts, dtype=np.int64), np.array(stops, dtype=np.int64)

        for _ in range(10):
            if known and chance.random() < 0.3:
                known.pop(0)  # closed
            starts = [chance.randrange(100) for _ in range(chance.randint(1, 3))]
            block = [(start, start + chance.randint(1, 9)) for start in starts]
            open_ids = {wid for start, stop in known + block for wid in range(start, stop)}
            start, stop = (np.array(each) for each in zip(*block, strict=True))
            if len(open_ids) > 40:
                refused += 1
                with pytest.raises(TooManyWindows, match=f"rows lie in {len(open_ids)} windows"):
                    counted.add(start, stop, kept)
                break
            counted.add(start, stop, kept)
            known += block
    assert refused > 100
