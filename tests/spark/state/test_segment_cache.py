"""The cache of segments holds what is right or nothing, within its room."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from penstock.kernel.state import to_ipc
from penstock.spark.state import segment_cache
from penstock.spark.state.segment_cache import (
    WORTH_SHARING,
    SegmentCache,
    forget_shared,
    forget_stale,
    shared_folder,
)

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


@pytest.mark.skipif(shared_folder("test") is None, reason="no shared memory on this machine")
def test_what_a_query_left_in_shared_memory_can_be_forgotten() -> None:
    folder = shared_folder("penstock-test-of-segment-cache")
    assert folder is not None
    put(SegmentCache(folder), 1, LARGE)
    assert (folder / "1.arrow").exists()
    assert folder.stat().st_mode & 0o077 == 0
    forget_shared("penstock-test-of-segment-cache")
    assert not folder.exists()


def test_without_shared_memory_there_is_no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment_cache, "MEMORY", Path("/no/such/memory"))
    assert shared_folder("anything") is None
    forget_shared("anything")
    forget_stale()


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(segment_cache, "MEMORY", tmp_path)
    return tmp_path / f"penstock-{os.getuid()}"


def test_a_folder_that_others_can_write_to_is_not_used(memory: Path) -> None:
    memory.mkdir()
    memory.chmod(0o777)
    assert shared_folder("query") is None
    memory.chmod(0o755)  # nobody else has put anything there
    assert shared_folder("query") == memory / "query"
    assert memory.stat().st_mode & 0o777 == 0o700
    forget_shared("query")


def test_a_link_is_not_used(memory: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    memory.symlink_to(tmp_path / "elsewhere")
    assert shared_folder("query") is None
    memory.unlink()
    memory.write_text("")
    assert shared_folder("query") is None


def test_a_folder_of_somebody_else_is_not_used(
    memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = os.getuid() + 1
    monkeypatch.setattr(os, "getuid", lambda: other)
    memory.with_name(f"penstock-{other}").mkdir(mode=0o700)
    assert shared_folder("query") is None


def test_what_a_killed_process_left_is_removed_at_the_next_start(memory: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path; from penstock.spark.state import segment_cache;"
        "segment_cache.MEMORY = Path(sys.argv[1]);"
        "(segment_cache.shared_folder('killed') / '1.arrow').write_text('x');"
        "print('there', flush=True); sys.stdin.read()"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", code, str(memory.parent)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert other.stdout is not None
    assert other.stdout.readline() == b"there\n"
    mine = shared_folder("mine")
    assert mine is not None
    assert (memory / "killed" / "1.arrow").exists()  # somebody uses it
    other.kill()
    other.communicate()
    forget_stale()
    assert [folder.name for folder in memory.iterdir()] == ["mine"]
    forget_shared("mine")
