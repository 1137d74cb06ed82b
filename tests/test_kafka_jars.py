"""Jars for tests of Kafka: fetched once, and what to do is said where they cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import kafka_jars


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr("shutil.which", lambda name: str(tmp_path / name))
    return tmp_path


def maven(place: Path, script: str) -> None:
    (place / "mvn").write_text(f"#!/bin/sh\n{script}\n")
    (place / "mvn").chmod(0o755)


def fetch() -> Path | str:
    return kafka_jars._fetch.__wrapped__()


def test_without_maven_it_is_said_how_to_get_it(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    said = fetch()
    assert isinstance(said, str) and "apt-get install maven" in said and "./penstock test" in said


def test_a_maven_that_fails_is_quoted_and_leaves_nothing_half(place: Path) -> None:
    maven(
        place,
        'for each; do last=$each; done; mkdir -p "${last#-Dto=}"; echo "[ERROR] gone"; exit 1',
    )
    said = fetch()
    assert isinstance(said, str) and "[ERROR] gone" in said and "mvn -q" in said
    assert not kafka_jars.folder().exists()


def test_jars_are_fetched_once_and_again_for_other_versions(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    maven(place, 'for each; do last=$each; done; mkdir -p "${last#-Dto=}"; echo x >> calls')
    monkeypatch.chdir(place)
    first = fetch()
    assert fetch() == first == kafka_jars.folder()
    other = place / "kafka_jars.xml"
    other.write_text(kafka_jars.POM.read_text().replace("4.3.1", "4.3.2"))
    monkeypatch.setattr(kafka_jars, "POM", other)
    assert fetch() not in (first, str(first))
    assert (place / "calls").read_text() == "x\nx\n"
