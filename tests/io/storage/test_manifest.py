"""What was written into a folder must still lie there as it was."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from penstock.errors import HostError
from penstock.io.storage import manifest as module
from penstock.io.storage.manifest import LAST, Manifest
from penstock.io.storage.sealed import digest_of_file

PATTERN = r"part-(\d{8})\.csv"


def parts(folder: Path, numbers: range, content: str = "v\n{}\n") -> Manifest:
    (folder / "out").mkdir(exist_ok=True)
    manifest = Manifest(folder / "list", folder / "out", PATTERN)
    for number in numbers:
        file = folder / "out" / f"part-{number:08d}.csv"
        file.write_text(content.format(number))
        manifest.add(number, file, 1)
    return manifest


def refused(manifest: Manifest, through: int | None = None) -> str:
    with pytest.raises(HostError) as caught:
        manifest.verify(through)
    assert "start over" in str(caught.value)
    return str(caught.value)


def test_what_was_written_is_there(tmp_path: Path) -> None:
    parts(tmp_path, range(3))
    (tmp_path / "out" / "readme").write_text("not ours")
    found = Manifest(tmp_path / "list", tmp_path / "out", PATTERN).verify()
    assert [(part.number, part.name, part.rows, part.size) for part in found.values()] == [
        (number, f"part-{number:08d}.csv", 1, 4) for number in range(3)
    ]
    assert (tmp_path / "list").stat().st_mode & 0o777 == 0o600


def test_a_batch_that_is_repeated_replaces_its_part(tmp_path: Path) -> None:
    parts(tmp_path, range(3))
    found = parts(tmp_path, range(2, 3), "v\n{}0\n").verify()
    assert [part.size for part in found.values()] == [4, 4, 5]


def test_a_part_that_is_gone_is_named_with_its_rows(tmp_path: Path) -> None:
    manifest = parts(tmp_path, range(3))
    (tmp_path / "out" / "part-00000001.csv").unlink()
    assert "part-00000001.csv` is gone, with 1 row\n" in refused(manifest)
    shutil.rmtree(tmp_path / "out")
    assert "part-00000000.csv` is gone" in refused(manifest)


@pytest.mark.parametrize("content", ["", "v\n", "v\n9\n", "v\n1\n2\n"])
def test_a_part_that_was_edited_is_named(tmp_path: Path, content: str) -> None:
    manifest = parts(tmp_path, range(30))
    (tmp_path / "out" / "part-00000001.csv").write_text(content)
    assert "part-00000001.csv` was changed since it was written" in refused(manifest)


def test_the_last_parts_are_read_whatever_their_time_says(tmp_path: Path) -> None:
    manifest = parts(tmp_path, range(30))
    for number in (29, 30 - LAST):
        file = tmp_path / "out" / f"part-{number:08d}.csv"
        before, content = file.stat(), file.read_text()
        file.write_text(content.replace("v", "w"))
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert f"{file.name}` was changed" in refused(manifest)
        file.write_text(content)


def test_a_copy_with_other_times_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = parts(tmp_path, range(30))
    for file in (tmp_path / "out").iterdir():
        os.utime(file, (1, 1))
    read: list[str] = []

    def digest(file: Path) -> str:
        read.append(file.name)
        return digest_of_file(file)

    monkeypatch.setattr(module, "digest_of_file", digest)
    assert len(manifest.verify()) == 30
    first = len(read)
    assert len(manifest.verify()) == 30
    assert (first, len(read) - first) == (30, LAST)


def test_what_an_unfinished_batch_wrote_is_removed(tmp_path: Path) -> None:
    manifest = parts(tmp_path, range(4))
    (tmp_path / "out" / "part-00000005.csv").write_text("killed before it was noted")
    assert list(manifest.verify(through=2)) == [0, 1, 2]
    assert len(list((tmp_path / "out").iterdir())) == 3
    assert list(manifest.verify()) == [0, 1, 2]  # repeated without a result


def test_a_part_that_nobody_noted_is_refused(tmp_path: Path) -> None:
    manifest = parts(tmp_path, range(3))
    (tmp_path / "list").unlink()
    message = refused(manifest, through=2)
    assert "part-00000000.csv` is not listed in" in message


def test_a_line_that_was_cut_off_counts_as_not_written(tmp_path: Path) -> None:
    manifest = parts(tmp_path, range(3))
    with (tmp_path / "list").open("rb+") as file:
        file.truncate(file.seek(0, os.SEEK_END) - 7)
    assert list(manifest.verify(through=1)) == [0, 1]
    assert list(parts(tmp_path, range(2, 4)).verify()) == [0, 1, 2, 3]


def test_every_flipped_bit_of_the_list_is_noticed(tmp_path: Path) -> None:
    manifest = parts(tmp_path, range(2))
    whole = (tmp_path / "list").read_bytes()
    for place in range(len(whole)):
        changed = bytearray(whole)
        changed[place] ^= 1
        (tmp_path / "list").write_bytes(bytes(changed))
        assert "list`" in refused(manifest, through=1)


def test_a_disk_without_room_leaves_no_half_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = parts(tmp_path, range(2))
    before = (tmp_path / "list").read_bytes()
    monkeypatch.setattr(module, "_line", lambda part: b"x" * (1 << 20))
    resource = pytest.importorskip("resource")
    import signal

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 10, limits[1]))
    try:
        with pytest.raises(HostError, match=r"cannot write .*list"):
            manifest.add(7, tmp_path / "out" / "part-00000000.csv", 1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert (tmp_path / "list").read_bytes() == before


@pytest.mark.slow
def test_a_hundred_thousand_parts_are_looked_through_in_seconds(tmp_path: Path) -> None:
    manifest = parts(tmp_path, range(100_000))
    begun = time.monotonic()
    assert len(manifest.verify()) == 100_000
    took = time.monotonic() - begun
    print(f"100,000 parts: {took:.1f} s")
    assert took < 30
