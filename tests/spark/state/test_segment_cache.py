"""The cache of segments holds what is right or nothing, within its room."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl
import pytest

from penstock.kernel.state import to_ipc
from penstock.spark.alive_graphs import IDLE
from penstock.spark.state import segment_cache
from penstock.spark.state.segment_cache import WORTH_SHARING, SegmentCache

SMALL = pl.DataFrame({"x": [1, 2, 3]})
LARGE = pl.DataFrame({"x": range(WORTH_SHARING // 8 + 1)})


def put(cache: SegmentCache, number: int, rows: pl.DataFrame) -> None:
    cache.put(number, rows, to_ipc(rows))


def test_what_was_put_is_found_until_it_is_dropped() -> None:
    cache = SegmentCache(None)
    assert cache.get(1) is None
    put(cache, 1, SMALL)
    assert cache.get(1) is SMALL
    cache.drop(1)
    assert cache.get(1) is None
    cache.drop(1)


def test_the_least_recently_used_goes_first(tmp_path: Path) -> None:
    size = int(SMALL.estimated_size())
    cache = SegmentCache(None, room=2 * size)
    put(cache, 1, SMALL)
    put(cache, 2, SMALL)
    cache.get(1)
    put(cache, 3, SMALL)
    assert [cache.get(number) is not None for number in (1, 2, 3)] == [True, False, True]


def test_room_is_given_back() -> None:
    size = int(SMALL.estimated_size())
    cache = SegmentCache(None, room=2 * size)
    for number in range(10):
        put(cache, number, SMALL)
        put(cache, number, SMALL)
        cache.drop(number)
    put(cache, 20, SMALL)
    put(cache, 21, SMALL)
    assert cache.get(20) is not None
    assert cache.get(21) is not None


def test_a_segment_larger_than_all_room_is_kept_alone() -> None:
    cache = SegmentCache(None, room=1)
    put(cache, 1, SMALL)
    put(cache, 2, LARGE)
    assert cache.get(1) is None
    assert cache.get(2) is LARGE


def test_large_segments_are_shared_and_small_ones_are_not(tmp_path: Path) -> None:
    mine, yours = SegmentCache(tmp_path), SegmentCache(tmp_path)
    put(mine, 1, LARGE)
    put(mine, 2, SMALL)
    found = yours.get(1)
    assert found is not None
    assert found.equals(LARGE)
    assert yours.get(2) is None
    assert [file.name for file in tmp_path.iterdir()] == ["1.arrow"]


def test_a_segment_that_one_worker_drops_is_shared_no_more(tmp_path: Path) -> None:
    mine, yours = SegmentCache(tmp_path), SegmentCache(tmp_path)
    put(mine, 1, LARGE)
    yours.drop(1)
    assert SegmentCache(tmp_path).get(1) is None
    assert mine.get(1) is LARGE  # still right: an id names one content


def test_a_folder_that_is_gone_is_a_miss_and_no_error(tmp_path: Path) -> None:
    cache = SegmentCache(tmp_path / "gone")
    put(cache, 1, LARGE)
    assert cache.get(1) is LARGE
    assert SegmentCache(tmp_path / "gone").get(1) is None


def test_a_full_memory_leaves_nothing_half_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Path, data: bytes) -> int:
        with self.open("wb") as file:
            file.write(data[:10])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    cache = SegmentCache(tmp_path)
    put(cache, 1, LARGE)
    assert cache.get(1) is LARGE
    assert list(tmp_path.iterdir()) == []


def test_what_nobody_has_asked_for_is_kept_no_longer_but_stays_shared(tmp_path: Path) -> None:
    now = 0.0
    cache = SegmentCache(tmp_path, clock=lambda: now)
    put(cache, 1, SMALL)
    put(cache, 2, LARGE)
    put(cache, 3, SMALL)
    now = IDLE / 2
    cache.get(3)
    now = IDLE + 1
    cache.forget_idle()
    assert cache.get(1) is None  # small ones are in Spark's store only
    assert cache.get(3) is SMALL
    found = cache.get(2)  # out of shared memory, where others look for it
    assert found is not None and found.equals(LARGE)
    now += 2 * IDLE
    cache.forget_idle()
    assert cache.is_empty
    assert [file.name for file in tmp_path.iterdir()] == ["2.arrow"]
    put(cache, 4, SMALL)
    cache.drop(4)
    assert cache._used == 0


def test_files_that_nobody_asks_for_are_removed_and_may_come_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A group that has moved to another machine leaves some behind."""
    one, other = SegmentCache(tmp_path), SegmentCache(tmp_path)
    put(one, 1, LARGE)
    put(one, 2, LARGE)
    for file in tmp_path.iterdir():
        os.utime(file, (0, 0))
    assert other.get(2) is not None  # asked for, and so as good as new
    monkeypatch.setattr(segment_cache, "LOOK", -1.0)
    put(one, 3, LARGE)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["2.arrow", "3.arrow"]
    assert other.get(1) is None
    put(other, 1, LARGE)
    assert (tmp_path / "1.arrow").exists()
