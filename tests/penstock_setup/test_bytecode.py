"""What set-up compiles is found by Pythons that may write no byte code themselves."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from penstock_setup.bytecode import compile_all
from penstock_setup.places import Places
from penstock_setup.progress import Progress


def test_packages_and_our_own_sources_are_compiled_whatever_the_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    places = Places(root=tmp_path / "root", home=tmp_path / "home")
    packages = places.env / "lib" / "python3.x" / "site-packages"
    files = {
        packages / "some" / "module.py": "value = 1",
        packages / "some" / "tests" / "long.py": "value = 2",
        packages / "some" / "other_python.py": "match = = 3",
        places.root / "src" / "ours" / "module.py": "value = 4",
    }
    for file, text in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    places.env_python.parent.mkdir(parents=True)
    places.env_python.symlink_to(sys.executable)
    compile_all(places, Progress(io.StringIO()))
    compiled = {file.parent.parent.name for file in tmp_path.rglob("*.pyc")}
    assert compiled == {"some", "ours"}
    said = subprocess.run(
        [sys.executable, "-v", "-c", "import ours.module"],
        env={**os.environ, "PYTHONPATH": str(places.root / "src")},
        capture_output=True,
        text=True,
    ).stderr
    assert "module.cpython" in said and "matches" in said
