"""Whether a source would read what is written somewhere, however both are spelled."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.io.storage.places import would_read


@pytest.mark.parametrize(
    ("source", "place", "reads"),
    [
        ("in", "in", True),
        ("in", "./in/", True),
        ("in", "in/../in", True),
        ("in", "{here}/in", True),
        ("{here}/in", "in", True),
        ("file://{here}/in", "in", True),
        ("in", "in/a/b", True),
        ("in", "in/_a", False),
        ("in", "in/a/.b", False),
        ("in", "other", False),
        ("in", "in2", False),
        ("in/deep", "in", False),
        ("in/a.csv", "in", False),
        ("in/*", "in", True),
        ("in/*", "in/results", True),
        ("in/*.csv", "in", True),
        ("in/*.csv", "in/results", False),
        ("in/{{a,b}}", "in/b", True),
        ("in/{{a,b}}", "in/c", False),
        ("*/x", "in/x", True),
        ("*/x", "in/y", False),
        ("link", "in", True),
        ("in", "link", True),
        ("in", "link/results", True),
        ("linked", "in", True),
        ("linked", "in/deep", True),
        ("linked", "other", False),
        ("s3://bucket/in", "in", False),
    ],
)
def test_a_source_reads_what_lies_below_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, place: str, reads: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in" / "deep").mkdir(parents=True)
    (tmp_path / "in" / "a.csv").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "in")
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "more").symlink_to("../in")
    assert would_read(source.format(here=tmp_path), place.format(here=tmp_path)) is reads
