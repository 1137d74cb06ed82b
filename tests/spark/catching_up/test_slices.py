"""How much of the past a batch reads again."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.errors import HostError
from penstock.spark.catching_up.history import HistoryEntry
from penstock.spark.catching_up.slice_log import SliceLog
from penstock.spark.catching_up.slices import LEAST, SliceSize, next_slice


def entries(folder: Path, name: str, *times: int) -> list[HistoryEntry]:
    """Entries of a file of ten bytes each."""
    found = []
    for number, time in enumerate(times):
        file = folder / f"{name}{number}"
        file.write_bytes(b"0123456789")
        found.append(HistoryEntry(number, (str(file),), time))
    return found


def test_a_slice_has_as_many_entries_as_fit_oldest_first_over_all_streams(tmp_path: Path) -> None:
    left = {"a": entries(tmp_path, "a", 1, 4, 5), "b": entries(tmp_path, "b", 2, 3)}
    assert next_slice(left, 35) == {"a": 0, "b": 1}
    assert next_slice(left, 40) == {"a": 1, "b": 1}
    assert next_slice(left, 1000) == {"a": 2, "b": 1}
    assert next_slice(left, 0) == {"a": 0}, "one at least"
    assert next_slice({"a": [], "b": []}, 100) == {}


def test_a_file_that_is_gone_is_named() -> None:
    with pytest.raises(HostError, match="has to read `/no/such` again"):
        next_slice({"a": [HistoryEntry(0, ("/no/such",), 1)]}, 1)


def test_slices_grow_while_batches_are_short_and_shrink_when_they_are_long() -> None:
    size = SliceSize("2 seconds")
    size.note(0.5)
    assert size.most == 2 * LEAST
    size.note(1.5)
    assert size.most == 2 * LEAST
    size.note(2.5)
    size.note(2.5)
    assert size.most == LEAST


def test_a_batch_that_is_repeated_finds_what_it_has_read_and_where_it_began(tmp_path: Path) -> None:
    log = SliceLog(tmp_path)
    assert log.before(5) == log.of(5) == {}
    for batch in range(5, 9):
        log.write(batch, {-3: {"a": batch}})
    again = SliceLog(tmp_path)
    assert again.of(8) == {-3: {"a": 8}}
    assert again.before(8) == {-3: {"a": 7}}
    assert sorted(file.name for file in (tmp_path / "slices").iterdir()) == ["7.json", "8.json"]
    again.forget(9)
    assert again.of(8) == {}
