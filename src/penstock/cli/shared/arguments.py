"""Arguments that several commands take, and what they stand for."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from penstock.errors import HostError
from penstock.home import home

ScriptFile: TypeAlias = Annotated[
    Path, typer.Argument(metavar="FILE.sql", exists=True, dir_okay=False, help="Statements.")
]


def read_script(file: Path) -> str:
    """The text of a file of SQL."""
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError as cause:
        raise HostError(
            f"`{file}` is not UTF-8: byte {cause.start} cannot be read",
            hint=f"save it as UTF-8: iconv -f LATIN1 -t UTF-8 {file.name}",
        ) from cause


#: Where the source tree is, if this package is part of one.
ROOT = Path(__file__).resolve().parents[4]


def is_checkout() -> bool:
    """Whether this package is part of a source tree, with tests and benchmarks beside it."""
    return (ROOT / "pyproject.toml").is_file() and (ROOT / "src" / "penstock").is_dir()


def archive_classes_in_background() -> None:
    """Have Spark start sooner the next time: for the end of a command that has run on Spark."""
    if is_checkout() and (java_home := os.environ.get("JAVA_HOME")):
        from penstock_setup import java_classes
        from penstock_setup.places import Places

        java_classes.begin(Places(ROOT, home(os.environ, Path(sys.prefix))), java_home)


def checkout() -> Path:
    """The root of the source tree around this package; an error if Penstock came without it."""
    root = ROOT
    if not is_checkout():
        raise HostError(
            f"there are no tests and benchmarks here: {root} is not a source tree of Penstock",
            hint="call ./penstock in a clone of the repository",
        )
    return root
