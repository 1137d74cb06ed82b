"""The table of docs/architecture.md as a law: which part may import which.

Imports are read from the syntax tree, so those inside functions count as well.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "penstock"

PAGE = (SOURCE.parents[1] / "docs" / "architecture.md").read_text()
OPEN_TO_ALL = {"errors", "home", "printable", "redaction"}


def table() -> dict[str, set[str]]:
    """Part -> what it may import of ours, as the page says."""
    section = PAGE.split("## Who may import whom")[1].split("\n## ")[0]
    rows = (line.split("|")[1:3] for line in section.splitlines() if line.startswith("| `"))
    return {part.strip(" `"): set(re.findall(r"`(\w+)`", imports)) for part, imports in rows}


ALLOWED = table()

#: Third-party packages that belong to some layers only.
ONLY_IN = {
    "sqlglot": {"sql"},
    "polars": {
        "cli",
        "io",
        "kernel",
        "lab",
        "local",
        "oracle",  # to read the rows of static tables
        "runtime",
        "spark",
        "verification",
        "workloads",
    },
    "typer": {"cli", "__main__"},
    "rich": {"cli", "io", "__main__"},
    "pyspark": {"spark"},
    "matplotlib": {"lab"},
    "adbc_driver_postgresql": {"io"},
    "deltalake": {"io"},
    "redis": {"io"},
}


@dataclass(frozen=True)
class Read:
    """What a file imports, and the classes that others may import from it."""

    imports: frozenset[str]
    classes: tuple[str, ...]


@cache
def read(path: Path) -> Read:
    tree = ast.parse(path.read_text())
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            if node.module == "penstock":
                found |= {f"penstock.{alias.name}" for alias in node.names}
    classes = (node.name for node in tree.body if isinstance(node, ast.ClassDef))
    return Read(frozenset(found), tuple(name for name in classes if not name.startswith("_")))


def layer_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


FILES = sorted(SOURCE.rglob("*.py"))


def test_every_part_has_a_row_and_every_row_a_part() -> None:
    assert set(ALLOWED) == {layer_of(path) for path in FILES}


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_a_file_imports_only_the_layers_below_it(path: Path) -> None:
    layer = layer_of(path)
    ours = {name.split(".")[1] for name in read(path).imports if name.startswith("penstock.")}
    assert ours <= ALLOWED[layer] | {layer} | OPEN_TO_ALL


@pytest.mark.parametrize("package", ONLY_IN)
def test_a_library_is_known_to_its_layers_only(package: str) -> None:
    users = {
        layer_of(path)
        for path in FILES
        if any(name.split(".")[0] == package for name in read(path).imports)
    }
    assert users <= ONLY_IN[package]


def test_importing_penstock_needs_no_spark() -> None:
    code = "import sys, penstock; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_name_means_one_thing() -> None:
    """Logical and physical forms of one operation may share a name: `plan.nodes`, `kernel`."""
    found: dict[str, list[str]] = {}
    for path in FILES:
        if layer_of(path) != "lab":  # what reports has names of its own
            for name in read(path).classes:
                found.setdefault(name, []).append(layer_of(path))
    twice = {name: where for name, where in found.items() if len(where) > 1}
    assert {n: w for n, w in twice.items() if sorted(w) != ["kernel", "plan"]} == {}
