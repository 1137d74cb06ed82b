"""A sealed file is found as it was written, or refused by name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.errors import HostError
from penstock.io.storage.sealed import read_sealed, write_sealed

CONTENT = {"b": [2, 0], "a": "x"}


def test_what_was_written_is_read_in_its_order_by_its_owner_only(tmp_path: Path) -> None:
    file = tmp_path / "groups.json"
    write_sealed(file, CONTENT)
    assert list(read_sealed(file).items()) == list(CONTENT.items())
    assert file.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["groups.json"]


def test_every_flipped_bit_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "groups.json"
    write_sealed(file, CONTENT)
    whole = file.read_bytes()
    for place in range(len(whole)):
        changed = bytearray(whole)
        changed[place] ^= 4
        file.write_bytes(bytes(changed))
        try:
            found = read_sealed(file)
        except HostError as refused:
            assert "groups.json" in str(refused)
            assert "start over" in str(refused)
        else:
            assert found == CONTENT  # a gap between two words


@pytest.mark.parametrize("left", [b"", b"[2, 0]", b'{"digest": 1', b"\xff\xfe"])
def test_what_is_no_sealed_file_is_refused(tmp_path: Path, left: bytes) -> None:
    file = tmp_path / "groups.json"
    file.write_bytes(left)
    with pytest.raises(HostError, match=r"groups\.json"):
        read_sealed(file)


def test_a_file_without_a_digest_says_so(tmp_path: Path) -> None:
    file = tmp_path / "program.json"
    file.write_text(json.dumps({"union": "meld"}))
    with pytest.raises(HostError, match="has no digest"):
        read_sealed(file)


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(HostError, match=r"cannot write .*no/groups\.json"):
        write_sealed(tmp_path / "no" / "groups.json", CONTENT)
