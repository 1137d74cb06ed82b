"""`penstock experiment`: published results repeated, as tables, as a file and as plots."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.checkout import checkout
from penstock.cli.scripts import show, start_over_with

if TYPE_CHECKING:
    from rich.console import Console

    from penstock.experimenting import Outcome
    from penstock.scripts import Script


def experiment(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME...", help="What to repeat; without it, list all."),
    ] = None,
    json_path: Annotated[
        Path | None,
        typer.Option("--json", metavar="PATH", dir_okay=False, help="Write the result there."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", file_okay=False, help="Draw plots there, as PNG."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Less data, for a first look.")] = False,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--from", metavar="DIR", exists=True, file_okay=False, help="Take them from here."
        ),
    ] = None,
) -> None:
    """Repeat published experiments and say whether their results come out."""
    from penstock.scripts import scripts

    known = scripts(folder or checkout() / "experiments")
    if not names:
        if json_path or out or quick:
            raise typer.BadParameter("say which experiment to run", param_hint="NAME")
        show(known, "experiments")
        return
    chosen = choose(names, known)
    start_over_with(environment(chosen))
    for place in (json_path.parent if json_path else None, out):
        if place:
            place.mkdir(parents=True, exist_ok=True)
    outcomes = {script.name: run(script, quick, out) for script in chosen}
    if json_path:
        write(json_path, chosen, outcomes, quick)
    if not all(outcome.reproduced for outcome in outcomes.values()):
        raise typer.Exit(1)


def choose(names: Sequence[str], known: Mapping[str, Script]) -> list[Script]:
    """The experiments meant, each once; `T1` is `t1`."""
    wanted = list(dict.fromkeys(name.lower() for name in names))
    for name in wanted:
        if name not in known:
            there = ", ".join(known) or "none yet"
            raise typer.BadParameter(
                f"no experiment `{name}`; there are: {there}", param_hint="NAME"
            )
    return [known[name] for name in wanted]


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


def run(script: Script, quick: bool, out: Path | None) -> Outcome:
    """Run one and print what it came to at once: others may take long."""
    from rich.console import Console

    errors = Console(stderr=True, markup=False, highlight=False)
    with errors.status(f"{script.name}: {script.summary}"):
        repeat: Callable[[bool], Outcome] = script.function("run", "experiment")
        outcome = repeat(quick)
    # In a file or a pipe there is no edge to wrap at.
    width = None if sys.stdout.isatty() else 200
    report(script, outcome, Console(markup=False, highlight=False, width=width))
    if out:
        from penstock.experimenting.draw import draw, file_name

        for plot in outcome.plots:
            path = out / file_name(script.name, plot)
            draw(plot, path)
            print(f"plot: {path}")
    return outcome


def report(script: Script, outcome: Outcome, console: Console) -> None:
    """Tables, then each claim with what was measured."""
    from rich.table import Table

    console.print(f"{script.name.upper()}: {script.summary}")
    for table in outcome.tables:
        shown = Table(*table.columns)
        for column in shown.columns[1:]:
            column.justify = "right"
        for row in table.rows:
            shown.add_row(*map(cell, row))
        console.print(table.title)  # as a table's own title it would wrap to its width
        console.print(shown)
    for check in outcome.checks:
        mark = "holds" if check.holds else "FAILS"
        console.print(f"{mark}: {check.claim} ({check.measured})")
    said = "reproduced" if outcome.reproduced else "NOT reproduced"
    console.print(f"{script.name.upper()}: the shape of the published result is {said}\n")


def cell(value: object) -> str:
    """A value as people read it.

    >>> cell(0.000123456), cell(1234.5678), cell(3), cell(None)
    ('0.0001235', '1235', '3', '')
    """
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def write(
    path: Path, chosen: Sequence[Script], outcomes: Mapping[str, Outcome], quick: bool
) -> None:
    from penstock.benchmarking.machine import machine, versions

    content = {
        "machine": machine(),
        "versions": versions(),
        "environment": environment(chosen),
        "quick": quick,
        "experiments": [
            {"name": s.name, "summary": s.summary, **outcomes[s.name].as_json()} for s in chosen
        ],
    }
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
