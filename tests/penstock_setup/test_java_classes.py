"""Spark's classes are archived once for a Java, in the background, whatever comes of it."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

import pytest

from penstock_setup import java_classes as module
from penstock_setup.java_classes import archive_classes, begin
from penstock_setup.places import Places

#: A run that leaves an archive where the option says.
ARCHIVES = """for last; do :; done
printf made >"${last#*ArchiveClassesAtExit=}"
echo "$JAVA_HOME $PENSTOCK_CLASSES" >>calls
"""


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    monkeypatch.setattr(module, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(module, "LIMIT_SECONDS", 0.5)
    monkeypatch.setattr(module, "WRITING_SECONDS", 0.1)
    monkeypatch.setattr(os, "nice", lambda more: more)
    monkeypatch.delenv("PENSTOCK_CLASSES", raising=False)
    found = Places(root=tmp_path / "root", home=tmp_path / "home")
    found.env_python.parent.mkdir(parents=True)
    found.root.mkdir()
    found.lock.write_text("polars==1")
    return found


def makes(places: Places, script: str, java: str = "/java") -> bool:
    places.env_python.write_text(f"#!/bin/sh\n{script}\n")
    places.env_python.chmod(0o755)
    return archive_classes(places, java)


def test_it_is_made_once_for_a_java_and_a_lock(places: Places) -> None:
    assert makes(places, ARCHIVES)
    assert (places.java_classes / "spark.jsa").read_text() == "made"
    assert not makes(places, ARCHIVES)
    assert makes(places, ARCHIVES, "/other")
    places.lock.write_text("polars==2")
    assert makes(places, ARCHIVES, "/other")
    assert (places.root / "calls").read_text() == "/java none\n/other none\n/other none\n"


@pytest.mark.parametrize("script", ["exit 1", "exec sleep 60", "exit 0"])
def test_what_fails_is_not_tried_again(places: Places, script: str) -> None:
    assert not makes(places, script)
    assert not (places.java_classes / "spark.jsa").exists()
    assert not makes(places, ARCHIVES)
    assert not (places.root / "calls").exists()


def test_one_process_makes_it_at_a_time(places: Places) -> None:
    with (places.home / "java-classes.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert not makes(places, ARCHIVES)
    assert makes(places, ARCHIVES)


def test_it_is_made_in_the_background(places: Places) -> None:
    places.env_python.write_text('#!/bin/sh\nsleep 0.1\necho "$@" >called\n')
    places.env_python.chmod(0o755)
    before, home = os.getcwd(), places.home
    os.chdir(home)
    try:
        begin(places, "/java")
        assert not (home / "called").exists()
        while not (home / "called").exists() or not (home / "called").read_text():
            time.sleep(0.01)
    finally:
        os.chdir(before)
    assert (home / "called").read_text() == f"-I {module.__file__} {places.root} {home} /java\n"


def test_nothing_is_archived_where_that_is_not_wanted(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not makes(places, ARCHIVES, "")  # without Java
    monkeypatch.setenv("PENSTOCK_CLASSES", "none")
    assert not makes(places, ARCHIVES)
    begin(places, "/java")
    assert not (places.root / "calls").exists()
