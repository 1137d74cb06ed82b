"""Arguments that several commands take, and what they stand for."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from penstock.errors import HostError

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


def checkout() -> Path:
    """The root of the source tree around this package; an error if Penstock came without it."""
    root = ROOT
    if not is_checkout():
        raise HostError(
            f"there are no tests and benchmarks here: {root} is not a source tree of Penstock",
            hint="call ./penstock in a clone of the repository",
        )
    return root
