"""What is read from scripts without running them."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.errors import HostError
from penstock.lab.scripts import scripts


def test_reading_runs_nothing(tmp_path: Path) -> None:
    (tmp_path / "bomb.py").write_text('"""A bomb.\n\nMore."""\nraise SystemExit\n')
    (tmp_path / "_shared.py").write_text("")
    found = scripts(tmp_path)
    assert list(found) == ["bomb"]
    assert found["bomb"].summary == "A bomb."
    assert found["bomb"].environment == {}


def test_the_environment_may_be_annotated(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text('ENVIRONMENT: dict[str, str] = {"X": "1"}\n')
    assert scripts(tmp_path)["a"].environment == {"X": "1"}


@pytest.mark.parametrize("value", ['{"X": 1}', '"X"', "dict(X='1')", "{**{}}"])
def test_an_environment_that_must_be_computed_is_refused(tmp_path: Path, value: str) -> None:
    (tmp_path / "a.py").write_text(f'"""A."""\nENVIRONMENT = {value}\n')
    with pytest.raises(HostError, match=r"a\.py, line 2: ENVIRONMENT is not a dict of literal"):
        scripts(tmp_path)


def test_a_file_that_is_not_python_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def\n")
    with pytest.raises(HostError, match=r"a\.py, line 1"):
        scripts(tmp_path)


def test_a_file_without_the_function_is_refused_when_it_runs(tmp_path: Path) -> None:
    (tmp_path / "helper_functions.py").write_text("x = 1\n")
    with pytest.raises(HostError, match="no function `cases`"):
        scripts(tmp_path)["helper-functions"].function("cases", "benchmark")
