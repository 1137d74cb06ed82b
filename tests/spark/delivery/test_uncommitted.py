"""Before a checkpoint of the first format goes on, state that no commit covers is removed."""

from __future__ import annotations

from pathlib import Path

from penstock.spark.delivery.uncommitted import remove_uncommitted

SECOND = "3_702cf183-c4e8-45f0-92b0-db60d1420639.changelog"


def checkpoint(folder: Path, *commits: int) -> Path:
    """Three batches have written state for two partitions; some of them are committed."""
    for partition in ("0", "1"):
        state = folder / "state" / "0" / partition
        state.mkdir(parents=True)
        for name in ("1.zip", "1.changelog", "2.changelog", "3.changelog", SECOND):
            (state / name).write_text("state")
        (state / ".3.changelog.crc").write_text("sum")
    (folder / "commits").mkdir()
    for batch in commits:
        (folder / "commits" / str(batch)).write_text("v1\n{}")
        (folder / "commits" / f".{batch}.crc").write_text("sum")
    return folder


def left(folder: Path) -> list[str]:
    return sorted(file.name for file in (folder / "state" / "0" / "0").iterdir())


def test_state_of_a_batch_that_was_not_committed_is_removed_with_its_checksum(
    tmp_path: Path,
) -> None:
    removed = remove_uncommitted(checkpoint(tmp_path, 0, 1))
    assert [file.relative_to(tmp_path / "state").as_posix() for file in removed] == [
        "0/0/3.changelog",
        "0/1/3.changelog",
    ]
    assert left(tmp_path) == ["1.changelog", "1.zip", "2.changelog", SECOND]


def test_state_that_is_committed_stays(tmp_path: Path) -> None:
    checkpoint(tmp_path, 0, 1, 2)
    before = left(tmp_path)
    assert remove_uncommitted(tmp_path) == []
    assert left(tmp_path) == before


def test_before_the_first_commit_all_state_is_of_a_batch_that_failed(tmp_path: Path) -> None:
    remove_uncommitted(checkpoint(tmp_path))
    assert left(tmp_path) == [SECOND]


def test_a_folder_that_holds_nothing_yet_stays_as_it_is(tmp_path: Path) -> None:
    assert remove_uncommitted(tmp_path) == []
