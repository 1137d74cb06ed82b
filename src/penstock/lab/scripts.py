"""Scripts: files of a folder that are run by their name, read without running them.

Benchmarks and experiments are such files. What a file says about itself, its docstring, its ALIAS
and its ENVIRONMENT, is taken from its syntax: importing it would import Polars, which reads its
number of threads only then. A file whose name begins with `_` is shared code; scripts can import it
by name. Where the name of a file has `_`, that of the script has `-`.
"""

from __future__ import annotations

import ast
import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.errors import HostError


@dataclass(frozen=True)
class Script:
    """A file, not yet imported."""

    name: str
    path: Path
    summary: str  # the first line of its docstring
    environment: dict[str, str]
    alias: str = ""  # what the literature calls it, such as `T1`

    def function(self, name: str, what: str) -> Any:
        """Import the file and give the function that makes it a `what`."""
        folder = str(self.path.parent)
        if folder not in sys.path:
            sys.path.append(folder)  # behind everything, so that no script hides a package
        module_name = f"{self.path.parent.name}.{self.name}"
        spec = importlib.util.spec_from_file_location(module_name, self.path)
        assert spec is not None and spec.loader is not None  # it is a .py file
        module = importlib.util.module_from_spec(spec)
        sys.modules[module_name] = module
        spec.loader.exec_module(module)
        if not hasattr(module, name):
            raise HostError(
                f"{self.path} is not a {what}: it has no function `{name}`",
                hint="a file of shared code in this folder needs a name that begins with `_`",
            )
        return getattr(module, name)


def scripts(folder: Path) -> dict[str, Script]:
    """Every script of the folder, by name."""
    files = sorted(folder.glob("[!_]*.py"))
    return {script.name: script for script in map(read, files)}


def read(file: Path) -> Script:
    try:
        tree = ast.parse(file.read_text(encoding="utf-8"))
    except SyntaxError as error:
        raise HostError(f"{file}, line {error.lineno}: {error.msg}") from error
    summary = (ast.get_docstring(tree) or "").partition("\n")[0]
    name = file.stem.replace("_", "-")
    return Script(name, file, summary, environment(tree, file), alias(tree))


def environment(tree: ast.Module, file: Path) -> dict[str, str]:
    """The literal that the file assigns to ENVIRONMENT.

    >>> environment(ast.parse('ENVIRONMENT = {"POLARS_MAX_THREADS": "1"}'), Path("sum.py"))
    {'POLARS_MAX_THREADS': '1'}
    """
    value = assigned(tree, "ENVIRONMENT")
    if value is None:
        return {}
    try:
        found = ast.literal_eval(value)
    except ValueError:
        found = None
    if not isinstance(found, dict) or not all(
        isinstance(text, str) for text in (*found.keys(), *found.values())
    ):
        raise HostError(
            f"{file}, line {value.lineno}: ENVIRONMENT is not a dict of literal strings",
            hint='it is read without running the file; write {"NAME": "value"}',
        )
    return found


def alias(tree: ast.Module) -> str:
    """The text that the file assigns to ALIAS.

    >>> alias(ast.parse('ALIAS = "T1"'))
    'T1'
    """
    value = assigned(tree, "ALIAS")
    return str(value.value) if isinstance(value, ast.Constant) else ""


def assigned(tree: ast.Module, wanted: str) -> ast.expr | None:
    """What the file assigns to a name."""
    for statement in tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                if name == wanted:
                    return statement.value
    return None
