"""The code is clean by the tools that CONTRIBUTING.md names."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CODE = [name for name in ("src", "tests", "benchmarks", "experiments") if (ROOT / name).is_dir()]


@pytest.mark.parametrize(
    "tool",
    [
        pytest.param(["ruff", "check", *CODE], id="ruff check"),
        pytest.param(["ruff", "format", "--check", *CODE], id="ruff format"),
        pytest.param(["mypy", *CODE], id="mypy"),
    ],
)
def test_the_code_is_clean(tool: list[str]) -> None:
    if tool[0] == "mypy" and sys.version_info < (3, 11):
        pytest.skip("types are checked against the packages locked for Python 3.11 and newer")
    done = subprocess.run(
        [sys.executable, "-m", *tool], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        pytest.fail(f"{' '.join(tool)}\n{done.stdout}{done.stderr}", pytrace=False)
