"""Logs of Spark's that miss an entry are refused before Spark takes an older one for the newest."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.errors import HostError
from penstock.spark.state.spark_files import batch_time, is_unused, last_finished

BATCHES = 12


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """As Spark leaves it after twelve batches of two streams, the first one without files."""
    for log in ("offsets", "commits", "sources/1"):
        (tmp_path / log).mkdir(parents=True)
    for batch in range(BATCHES):
        clock = f'{{"batchWatermarkMs":0,"batchTimestampMs":{batch}000}}'
        offsets = f'v1\n{clock}\n-\n{{"logOffset":{batch}}}'
        (tmp_path / "offsets" / str(batch)).write_text(offsets)
        (tmp_path / "commits" / str(batch)).write_text("v1\n{}")
        name = f"{batch}.compact" if batch == 9 else str(batch)
        (tmp_path / "sources" / "1" / name).write_text("v1\n{}")
        (tmp_path / "offsets" / f".{batch}.crc").write_text("x")
    return tmp_path


def refused(folder: Path) -> str:
    with pytest.raises(HostError) as caught:
        last_finished(folder)
    assert "start over" in str(caught.value)
    return str(caught.value)


def test_a_whole_checkpoint_gives_its_last_finished_batch(checkpoint: Path) -> None:
    assert last_finished(checkpoint) == 11
    (checkpoint / "commits" / "11").unlink()  # killed during the last one
    assert last_finished(checkpoint) == 10
    assert not is_unused(checkpoint)


def test_an_empty_place_is_unused(tmp_path: Path) -> None:
    assert is_unused(tmp_path)
    assert last_finished(tmp_path) == -1
    (tmp_path / "offsets").mkdir()
    assert (is_unused(tmp_path), last_finished(tmp_path)) == (False, -1)


def test_entries_that_spark_has_forgotten_are_not_missed(checkpoint: Path) -> None:
    for batch in range(5):
        (checkpoint / "offsets" / str(batch)).unlink()
        (checkpoint / "commits" / str(batch)).unlink()
        (checkpoint / "sources" / "1" / str(batch)).unlink()
    assert last_finished(checkpoint) == 11


@pytest.mark.parametrize(
    "name",
    ["offsets/11", "offsets/5", "commits/10", "commits/5", "sources/1/11", "sources/1/9.compact"],
)
def test_an_entry_that_is_gone_is_named(checkpoint: Path, name: str) -> None:
    (checkpoint / name).unlink()
    if name == "commits/10":
        (checkpoint / "commits" / "11").unlink()
    assert f"damaged: `{checkpoint / name.removesuffix('.compact')}` is gone" in refused(checkpoint)


@pytest.mark.parametrize("log", ["offsets", "commits", "sources"])
def test_a_log_that_is_gone_is_named(checkpoint: Path, log: str) -> None:
    (checkpoint / log).rename(checkpoint / "elsewhere")
    assert f"`{checkpoint / log}" in refused(checkpoint)
    assert not is_unused(checkpoint)


@pytest.mark.parametrize("left", ["", '{"id":', "{}", "7"])
def test_half_of_an_id_is_named(checkpoint: Path, left: str) -> None:
    file = checkpoint / "metadata"
    file.write_text('{"id":"x"}')
    assert last_finished(checkpoint) == 11
    file.write_text(left)
    assert f"damaged: `{file}`" in refused(checkpoint)


def test_an_empty_description_of_state_is_named(checkpoint: Path) -> None:
    file = checkpoint / "state" / "0" / "_stateSchema" / "default" / "0_1"
    file.parent.mkdir(parents=True)
    file.write_text("v1")
    assert last_finished(checkpoint) == 11
    file.write_text("")
    assert f"damaged: `{file}` is empty" in refused(checkpoint)


@pytest.mark.parametrize(
    "name", ["offsets/11", "commits/11", "sources/1/9.compact", "sources/1/10", "sources/1/11"]
)
@pytest.mark.parametrize("content", [b"", b"v1\n{", b"\xff\xfe", b"{}", b"v1\n{}\nrubbish"])
def test_an_entry_that_is_no_entry_is_named(checkpoint: Path, name: str, content: bytes) -> None:
    """Spark says that something is malformed, and not which file it is."""
    (checkpoint / name).write_bytes(content)
    assert f"`{checkpoint / name}` " in refused(checkpoint)


def test_a_batch_keeps_the_time_that_spark_has_logged(checkpoint: Path) -> None:
    assert batch_time(checkpoint, 7) == 7_000_000
    (checkpoint / "offsets" / "7").write_text("v1\n{}\n-")
    with pytest.raises(HostError, match=r"`\S+/offsets/7` cannot be read"):
        batch_time(checkpoint, 7)
