"""Rows reach the groups as they were sent, through shared memory or in messages."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest

from penstock.errors import HostError
from penstock.kernel.state import to_ipc
from penstock.spark import shared_memory
from penstock.spark.control.told import Told
from penstock.spark.exchange.hand_over import HandOver, emptied_folder, taken

ROWS = pl.DataFrame({"k": ["x", None, "y"], "v": [1, 2, 3]})


def through(folder: Path, shared_from: int = 1) -> HandOver:
    return HandOver(Told(memory=str(folder), shared_from=shared_from))


def test_large_blocks_lie_in_memory_and_small_ones_in_their_message(tmp_path: Path) -> None:
    small = through(tmp_path, 1 << 20).payload(ROWS)
    assert small == to_ipc(ROWS)
    assert not list(tmp_path.iterdir())
    large = through(tmp_path).payload(ROWS)
    [file] = tmp_path.iterdir()
    assert large.endswith(os.fsencode(file))
    for payload in (small, large, bytearray(small), bytearray(large)):
        assert taken(payload).equals(ROWS)


def test_without_a_folder_everything_travels_in_messages() -> None:
    assert taken(HandOver(Told(shared_from=0)).payload(ROWS)).equals(ROWS)


def test_a_repeated_task_writes_other_files_and_its_payloads_sort_alike(tmp_path: Path) -> None:
    blocks = [ROWS.with_columns(n=pl.lit(n)) for n in range(12)]
    first, second = through(tmp_path), through(tmp_path)
    once, again = ([task.payload(block) for block in blocks] for task in (first, second))
    assert not set(once) & set(again)
    for payloads in (once, again):
        assert sorted(payloads) == payloads
        assert all(taken(p).equals(b) for p, b in zip(payloads, blocks, strict=True))


def test_rows_that_were_taken_stay_when_the_driver_removes_the_file(tmp_path: Path) -> None:
    rows = taken(through(tmp_path).payload(ROWS))
    [file] = tmp_path.iterdir()
    file.unlink()
    assert rows.equals(ROWS)


@pytest.mark.parametrize("left", [0, 100])
def test_what_does_not_fit_travels_in_its_message(
    left: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = SimpleNamespace(f_bavail=left, f_frsize=1)
    monkeypatch.setattr(os, "statvfs", lambda folder: memory)
    assert through(tmp_path).payload(ROWS) == to_ipc(ROWS)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_gone_or_full_is_done_without(tmp_path: Path) -> None:
    assert through(tmp_path / "gone").payload(ROWS) == to_ipc(ROWS)


def test_half_a_file_is_not_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: pl.DataFrame, sink: object, **how: object) -> None:
        raise OSError(28, "No space left on device")

    expected = to_ipc(ROWS)
    with monkeypatch.context() as patched:
        patched.setattr(pl.DataFrame, "write_ipc_stream", full)
        assert through(tmp_path)._written(ROWS) is None
    assert not list(tmp_path.iterdir())
    assert to_ipc(ROWS) == expected


def test_rows_that_are_gone_are_named(tmp_path: Path) -> None:
    payload = through(tmp_path).payload(ROWS)
    [file] = tmp_path.iterdir()
    file.unlink()
    with pytest.raises(HostError, match=f"`{file}` cannot be read") as raised:
        taken(payload)
    assert "the batch is repeated" in str(raised.value)


def test_the_folder_of_a_query_begins_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_memory, "MEMORY", tmp_path)
    folder = emptied_folder("query")
    assert folder is not None
    (Path(folder) / "left").write_text("by an earlier batch")
    assert emptied_folder("query") == folder
    assert not list(Path(folder).iterdir())
    shared_memory.forget_shared("query")
    monkeypatch.setattr(shared_memory, "MEMORY", tmp_path / "none")
    assert emptied_folder("query") is None
