"""`penstock lint`, on a project of its own; the real one is linted beside its tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.cli.lint import failures


@pytest.mark.parametrize(
    ("code", "failed"),
    [
        ("x = 1\n", []),
        ("import os\n", ["ruff check"]),
        ("x = 'one'\n", ["ruff format"]),
        ('x: int = "one"\n', ["mypy"]),
    ],
)
def test_the_tools_that_object_are_named(
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    code: str,
    failed: list[str],
) -> None:
    # What mypy knows of Python itself it finds out once.
    monkeypatch.setenv("MYPY_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "mypy"))
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "sample.py").write_text(code)
    assert failures(tmp_path) == failed
