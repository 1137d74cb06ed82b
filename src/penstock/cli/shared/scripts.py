"""What the commands that run scripts by name (`bench`, `experiment`) have in common."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from penstock.cli.shared.arguments import checkout

if TYPE_CHECKING:
    from rich.console import Console

    from penstock.lab.scripts import Script

JsonPath: TypeAlias = Annotated[
    Path | None,
    typer.Option("--json", metavar="PATH", dir_okay=False, help="Write the result to this file."),
]
Quick: TypeAlias = Annotated[bool, typer.Option("--quick", help="Less data, for a first look.")]
Folder: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--from",
        metavar="DIR",
        exists=True,
        file_okay=False,
        help="The directory they are in.",
    ),
]


def choose(
    what: str, names: Sequence[str], folder: Path | None, options: Sequence[object]
) -> list[Script]:
    """The scripts meant, each once, by name or alias, in any case and with `_` for `-`.

    Without names all are listed, and `options` that a run would need are refused.
    """
    from penstock.lab.scripts import scripts

    known = scripts(folder or checkout() / f"{what}s")
    if not names:
        if any(options):
            raise typer.BadParameter(f"name the {what} to run", param_hint="NAME")
        show(known, f"{what}s")
        return []
    by_alias = {script.alias.lower(): name for name, script in known.items() if script.alias}
    plain = (name.lower().replace("_", "-") for name in names)
    wanted = list(dict.fromkeys(by_alias.get(name, name) for name in plain))
    for name in wanted:
        if name not in known:
            there = ", ".join(known) or "none yet"
            raise typer.BadParameter(f"no {what} `{name}`; there are: {there}", param_hint="NAME")
    return [known[name] for name in wanted]


def show(known: Mapping[str, Script], what: str) -> None:
    """List them, each with its alias and the first line of its docstring."""
    width = max(map(len, known), default=0)
    for name, script in known.items():
        also = f"{script.alias}  " if script.alias else ""
        print(f"{name:<{width}}   {also}{script.summary}")
    if not known:
        print(f"no {what} yet")


def environment(chosen: Sequence[Script]) -> dict[str, str]:
    """What all of them want; two that want different things cannot run in one process."""
    wanted: dict[str, str] = {}
    for script in chosen:
        for name, value in script.environment.items():
            if wanted.setdefault(name, value) != value:
                raise typer.BadParameter(
                    f"`{script.name}` needs {name}={value}, another one {wanted[name]}: "
                    "run them one by one",
                    param_hint="NAME",
                )
    return wanted


def start_over_with(environment: Mapping[str, str]) -> None:
    """Start over with this environment, unless we are in it: libraries read it when imported.

    What the script then puts into the temporary directory is removed at its end.
    """
    from penstock.io.storage.scratch import use_for_all_temporary_files

    if any(os.environ.get(name) != value for name, value in environment.items()):
        again = [sys.executable, "-m", "penstock", *sys.argv[1:]]
        os.execve(sys.executable, again, {**os.environ, **environment})
    use_for_all_temporary_files()


def console(*, stderr: bool = False) -> Console:
    """A console that prints what it is given as it stands."""
    from rich.console import Console

    # In a file or a pipe there is no edge to wrap at.
    width = None if stderr or sys.stdout.isatty() else 200
    return Console(stderr=stderr, markup=False, highlight=False, width=width)


def write_json(path: Path, chosen: Sequence[Script], **measured: Any) -> None:
    """Write what was measured, with what it ran on."""
    from penstock.lab.benchmarking.machine import machine, versions

    ran_on = {"machine": machine(), "versions": versions(), "environment": environment(chosen)}
    path.write_text(json.dumps({**ran_on, **measured}, indent=2) + "\n", encoding="utf-8")
