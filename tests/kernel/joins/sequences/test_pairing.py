"""The rules of sequences, for all rows at once: against one row after the other."""

from __future__ import annotations

from functools import partial

import numpy as np
import polars as pl
import pytest

from penstock.kernel.joins.sequences import pairing_where
from penstock.kernel.joins.sequences.pairing import NOBODY, chronicle, recent
from penstock.kernel.joins.sequences.pairing_where import chronicle_where, recent_where
from penstock.kernel.joins.sequences.placing import Index, Times, placed, stretches, untied
from penstock.kernel.segments import Mask


def drawn(seed: int) -> tuple[Index, Index, np.ndarray]:
    """Stretches of later rows, key by key in the order of time, and which is the first of a key."""
    rng = np.random.default_rng(seed)
    starts, stops, first = [], [], []
    begin = 0
    for _ in range(rng.integers(1, 4)):
        length, count = rng.integers(0, 6), rng.integers(1, 8)
        start = np.sort(rng.integers(0, length + 1, count)) if seed % 2 else np.zeros(count, int)
        stop = np.maximum(np.sort(rng.integers(0, length + 1, count)), start)
        starts.append(begin + start)
        stops.append(begin + stop)
        first.append(np.arange(count) == 0)
        begin += length
    return np.concatenate(starts), np.concatenate(stops), np.concatenate(first)


@pytest.mark.parametrize("at_a_time", [1 << 20, 3])
def test_a_row_takes_the_earliest_that_is_free(
    at_a_time: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pairing_where, "AT_A_TIME", at_a_time)
    for seed in range(400):
        start, stop, first = drawn(seed)
        used: set[int] = set()
        expected = []
        for low, high in zip(start, stop, strict=True):
            free = [place for place in range(low, high) if place not in used]
            expected.append(free[0] if free else NOBODY)
            used.update(free[:1])
        assert chronicle(start, stop, first).tolist() == expected, seed
        tried = chronicle_where(start, stop, lambda mine, theirs: np.ones(len(mine), np.bool_))
        assert tried.tolist() == expected, seed


def _matches(matching: Mask, mine: Index, theirs: Index) -> Mask:
    found: Mask = matching[mine, theirs]
    return found


def test_the_latest_that_matches_is_found() -> None:
    for seed in range(200):
        start, stop, _ = drawn(seed)
        matching = np.random.default_rng(seed).random((len(start), 40)) < 0.3
        found = recent_where(start, stop, partial(_matches, matching))
        expected = [
            max((p for p in range(low, high) if matching[row, p]), default=NOBODY)
            for row, (low, high) in enumerate(zip(start, stop, strict=True))
        ]
        assert found.tolist() == expected, seed
    assert recent(np.array([0]), np.array([3])).tolist() == [2]


@pytest.mark.parametrize("scale", [1, 10**6, 2 * 10**17])
def test_what_lies_before_a_row_is_one_stretch_however_far_apart_times_are(scale: int) -> None:
    for seed in range(100):
        rng = np.random.default_rng(seed)

        def rows(count: int, rng: np.random.Generator = rng) -> tuple[np.ndarray, Times]:
            hashes = rng.integers(0, 3, count).astype(np.uint64) << np.uint64(rng.integers(0, 62))
            times = rng.integers(-5, 6, count) * scale
            order = placed(hashes, times)
            return hashes[order], times[order]

        earlier, later = rows(int(rng.integers(1, 9))), rows(int(rng.integers(1, 9)))
        assert (np.diff(earlier[0].astype(object)) >= 0).all()
        since = later[1] - 3 * scale
        starts, stops = stretches(earlier, later, since)
        for row, (start, stop) in enumerate(zip(starts, stops, strict=True)):
            key, time = later[0][row], later[1][row]
            near = (earlier[1] >= since[row]) & (earlier[1] <= time)
            expected = np.flatnonzero((earlier[0] == key) & near)
            assert list(range(start, stop)) == expected.tolist()


def test_rows_of_one_time_stand_in_the_order_of_their_columns() -> None:
    rows = pl.DataFrame({"v": [2, None, 1, 5], "w": ["a", "b", "c", "d"]})
    hashes, times = np.zeros(4, np.uint64), np.array([7, 7, 7, 3])
    order = untied(placed(hashes, times), hashes, times, rows, ["v", "w"])
    assert rows[order].get_column("w").to_list() == ["d", "b", "c", "a"]
