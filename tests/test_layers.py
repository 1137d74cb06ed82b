"""The picture of docs/architecture.md as a law: which package may import which.

Imports are read from the syntax tree, so those inside functions count as well.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "penstock"

#: Package or top-level module -> what it may import of ours. `errors` and `redaction` are open to
#: all.
ALLOWED = {
    "errors": set(),
    "redaction": set(),
    "storage": set(),
    "model": set(),
    "windows": {"model"},
    "plan": {"model", "windows"},
    "oracle": {"model", "windows", "plan"},
    "sql": {"plan", "model", "windows", "catalog", "settings"},
    "settings": {"model"},
    "catalog": {"sql", "plan", "model", "settings"},
    "kernel": {"model", "windows"},
    "lower": {"plan", "kernel", "model", "windows"},
    "local": {"kernel", "model", "results", "storage"},
    "results": {"kernel", "model"},
    "iterables": {"kernel", "model"},
    "console": {"results", "sql"},
    "late_rows": {"kernel", "model", "results"},
    "spark": {
        "declarations",
        "catalog",
        "console",
        "iterables",
        "kernel",
        "late_rows",
        "lower",
        "model",
        "plan",
        "results",
        "settings",
        "sql",
        "storage",
        "windows",
        "workloads",
    },
    "workloads": {"model", "kernel"},
    "static_tables": {"iterables", "kernel", "local", "model", "results"},
    "declarations": {
        "catalog",
        "sql",
        "plan",
        "lower",
        "model",
        "results",
        "static_tables",
        "storage",
    },
    "local_engine": {
        "declarations",
        "catalog",
        "console",
        "iterables",
        "late_rows",
        "lower",
        "local",
        "kernel",
        "model",
        "plan",
        "local_query",
        "results",
        "sql",
    },
    "version": set(),
    "notices": {"plan", "windows"},
    "scripts": set(),
    "benchmarking": {"version"},
    "experimenting": set(),
    "local_query": {"console", "local_engine", "plan", "local", "results", "sql"},
    "definition": {"kernel", "lower", "model", "plan", "windows"},
    "verification": {
        "catalog",
        "declarations",
        "kernel",
        "local",
        "local_engine",
        "model",
        "oracle",
        "plan",
        "results",
        "settings",
        "spark",
        "sql",
        "static_tables",
        "windows",
    },
    "cli": {
        "notices",
        "benchmarking",
        "catalog",
        "definition",
        "experimenting",
        "local_engine",
        "lower",
        "model",
        "plan",
        "local_query",
        "results",
        "scripts",
        "spark",
        "sql",
        "verification",
        "version",
    },
    "__main__": {"cli"},
    "__init__": {"local_engine", "spark", "version"},
}

#: Third-party packages that belong to some layers only.
ONLY_IN = {
    "sqlglot": {"sql"},
    "polars": {
        "benchmarking",
        "cli",
        "console",
        "definition",
        "iterables",
        "kernel",
        "late_rows",
        "local",
        "local_query",
        "oracle",  # to read the rows of static tables
        "results",
        "spark",
        "static_tables",
        "verification",
        "workloads",
    },
    "typer": {"cli", "__main__"},
    "rich": {"cli", "console", "__main__"},
    "pyspark": {"spark"},
    "matplotlib": {"experimenting"},
}


def imports_of(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            if node.module == "penstock":
                found |= {f"penstock.{alias.name}" for alias in node.names}
    return found


def layer_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


FILES = sorted(SOURCE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_a_file_imports_only_the_layers_below_it(path: Path) -> None:
    layer = layer_of(path)
    ours = {name.split(".")[1] for name in imports_of(path) if name.startswith("penstock.")}
    assert ours <= ALLOWED[layer] | {layer, "errors", "redaction"}


@pytest.mark.parametrize("package", ONLY_IN)
def test_a_library_is_known_to_its_layers_only(package: str) -> None:
    users = {
        layer_of(path)
        for path in FILES
        if any(name.split(".")[0] == package for name in imports_of(path))
    }
    assert users <= ONLY_IN[package]


def test_importing_penstock_needs_no_spark() -> None:
    code = "import sys, penstock; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
