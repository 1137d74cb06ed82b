"""The archive that executors get: the package as it is here, compiled already."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import zipfile
from pathlib import Path

from penstock.spark.shipping import PACKAGE, byte_code, write_archive
from penstock.version import __version__


def in_python(code: str, archive: Path) -> str:
    """What a Python says that knows nothing but its packages and the archive."""
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(archive), "PATH": ""},
        cwd=archive.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()


def test_the_package_is_imported_from_its_archive(tmp_path: Path) -> None:
    archive = tmp_path / "penstock.zip"
    write_archive(PACKAGE, archive)
    code = "import penstock, penstock.spark.executors as e; print(e.__file__, penstock.__version__)"
    assert in_python(code, archive) == f"{archive}/penstock/spark/executors.pyc {__version__}"
    assert not [name for name in zipfile.ZipFile(archive).namelist() if "__pycache__" in name]


def test_another_python_passes_over_the_byte_code(tmp_path: Path) -> None:
    """Its number stands at the beginning; what does not know it compiles the source."""
    package, archive = tmp_path / "found", tmp_path / "found.zip"
    package.mkdir()
    (package / "__init__.py").write_text("ANSWER = 42\n")
    write_archive(package, archive)
    name = "found/__init__.py"
    with zipfile.ZipFile(archive) as whole, zipfile.ZipFile(tmp_path / "other.zip", "w") as other:
        other.writestr(name, whole.read(name))
        other.writestr(f"{name}c", b"\0\0\0\0" + whole.read(f"{name}c")[4:])
    for file in (archive, tmp_path / "other.zip"):
        assert in_python("import found; print(found.ANSWER)", file) == "42"


def test_byte_code_is_good_for_its_source_alone() -> None:
    one, other = byte_code(b"x = 1", "x.py"), byte_code(b"x = 2", "x.py")
    assert one[:4] == importlib.util.MAGIC_NUMBER
    assert one[8:16] != other[8:16]
