"""Set-up archives Spark's classes once for a Java, and goes on whatever comes of it."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from penstock_setup import java_classes as module
from penstock_setup import progress
from penstock_setup.java_classes import archive_classes
from penstock_setup.places import Places
from penstock_setup.progress import Progress

#: A run that leaves an archive where the option says.
ARCHIVES = """for last; do :; done
printf made >"${last#*ArchiveClassesAtExit=}"
echo "$JAVA_HOME" >>calls
"""


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    monkeypatch.setattr(progress, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(module, "LIMIT_SECONDS", 0.5)
    monkeypatch.setattr(module, "WRITING_SECONDS", 0.5)
    monkeypatch.delenv("PENSTOCK_CLASSES", raising=False)
    found = Places(root=tmp_path / "root", home=tmp_path / "home")
    found.env_python.parent.mkdir(parents=True)
    found.root.mkdir()
    found.lock.write_text("polars==1")
    return found


def said(places: Places, script: str, java: str = "/java") -> str:
    places.env_python.write_text(f"#!/bin/sh\n{script}\n")
    places.env_python.chmod(0o755)
    out = io.StringIO()
    archive_classes(places, java, Progress(out))
    return out.getvalue()


def test_it_is_made_once_for_a_java_and_a_lock(places: Places) -> None:
    assert "archived Spark's classes" in said(places, ARCHIVES)
    assert (places.java_classes / "spark.jsa").read_text() == "made"
    assert said(places, ARCHIVES) == ""
    assert "archived" in said(places, ARCHIVES, "/other")
    places.lock.write_text("polars==2")
    assert "archived" in said(places, ARCHIVES, "/other")
    assert (places.root / "calls").read_text() == "/java\n/other\n/other\n"


@pytest.mark.parametrize("script", ["exit 1", "exec sleep 60", "exit 0"])
def test_without_one_set_up_goes_on_and_does_not_try_again(places: Places, script: str) -> None:
    assert "it starts more slowly" in said(places, script)
    assert not (places.java_classes / "spark.jsa").exists()
    assert said(places, script) == ""


def test_nothing_is_archived_where_that_is_not_wanted(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_CLASSES", "none")
    assert said(places, ARCHIVES) == ""


def test_without_java_there_is_nothing_to_archive(places: Places) -> None:
    assert said(places, ARCHIVES, "") == ""
