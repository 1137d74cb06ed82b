"""`penstock experiment`: published results repeated, as tables, as a file and as plots."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.shared.scripts import (
    Folder,
    JsonPath,
    Quick,
    choose,
    console,
    environment,
    start_over_with,
    write_json,
)

if TYPE_CHECKING:
    from rich.console import Console

    from penstock.lab.experimenting import Outcome
    from penstock.lab.scripts import Script


#: As in Spark's workers. What is measured is processor time, and threads of Polars that wait for
#: work take some, too, most where blocks are small.
ONE_THREAD = {"POLARS_MAX_THREADS": "1"}
#: The command's exit code if nothing fails but what is known to; 2 is that of wrong arguments.
ONLY_KNOWN_FAILURES = 3


def experiment(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME...", help="The experiments to run; without any, all are listed."
        ),
    ] = None,
    json_path: JsonPath = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            file_okay=False,
            help="Write plots as PNG files to this directory.",
        ),
    ] = None,
    quick: Quick = False,
    seed: Annotated[int, typer.Option("--seed", min=0, help="The seed of random data.")] = 1,
    folder: Folder = None,
) -> None:
    """Repeat published experiments and say whether their results come out.

    Exits with 0 if every published claim holds, with 3 if all that fail are known to, and with 1 if
    one fails for no known reason, or one that is known to fail holds.
    """
    chosen = choose("experiment", names or [], folder, (json_path, out, quick))
    if not chosen:
        return
    start_over_with({**ONE_THREAD, **environment(chosen)})
    for place in (json_path.parent if json_path else None, out):
        if place:
            place.mkdir(parents=True, exist_ok=True)
    outcomes = {script.name: run(script, quick, seed, out) for script in chosen}
    if json_path:
        found = [
            {"name": s.name, "alias": s.alias, "summary": s.summary, **outcomes[s.name].as_json()}
            for s in chosen
        ]
        write_json(json_path, chosen, quick=quick, seed=seed, experiments=found)
    raise typer.Exit(exit_code(outcomes.values()))


def exit_code(outcomes: Iterable[Outcome]) -> int:
    """What a shell is told: a known failure is no success, but no news either."""
    found = list(outcomes)
    if any(outcome.surprises for outcome in found):
        return 1
    return 0 if all(outcome.reproduced for outcome in found) else ONLY_KNOWN_FAILURES


def run(script: Script, quick: bool, seed: int, out: Path | None) -> Outcome:
    """Run one and print what it came to at once: others may take long."""
    with console(stderr=True).status(f"{script.name}: {script.summary}"):
        repeat: Callable[[bool, int], Outcome] = script.function("run", "experiment")
        outcome = repeat(quick, seed)
    report(script, outcome, console())
    if out:
        from penstock.lab.experimenting.draw import draw, file_name

        for plot in outcome.plots:
            path = out / file_name(script.name, plot)
            draw(plot, path)
            print(f"plot: {path}")
    return outcome


def report(script: Script, outcome: Outcome, out: Console) -> None:
    """Tables, then each claim with what was measured."""
    from rich.table import Table

    title = script.alias or script.name.upper()
    out.print(f"{title}: {script.summary}")
    for table in outcome.tables:
        shown = Table(*table.columns)
        for column in shown.columns[1:]:
            column.justify = "right"
        for row in table.rows:
            shown.add_row(*map(cell, row))
        out.print(table.title)  # as a table's own title it would wrap to its width
        out.print(shown)
    for check in outcome.checks:
        out.print(f"{check.verdict.value}: {check.claim} ({check.measured})")
        if check.known is not None and check.holds:
            out.print(
                "    if it holds on every run, remove the reason why it was known to fail: "
                f"{check.known}"
            )
        elif check.known is not None:
            out.print(f"    because {check.known}")
    out.print(f"{title}: {conclusion(outcome)}\n")


def conclusion(outcome: Outcome) -> str:
    """One sentence about all checks.

    >>> from penstock.lab.experimenting import Check, Outcome
    >>> rises = Check("it rises", True, "2")
    >>> conclusion(Outcome((), (), (rises,)))
    'the published result is reproduced (claims that hold: 1)'
    >>> known = Check("by half", False, "2 times", known="we have no hash table")
    >>> conclusion(Outcome((), (), (rises, known)))
    'the published result is NOT reproduced (claims that hold: 1, known failures: 1)'
    """
    from penstock.lab.experimenting import Verdict

    names = {
        Verdict.HOLDS: "claims that hold",
        Verdict.KNOWN_FAILURE: "known failures",
        Verdict.FAILS: "FAILURES",
        Verdict.HOLDS_AFTER_ALL: "known failures that HOLD",
    }
    found = [check.verdict for check in outcome.checks]
    counts = {name: found.count(verdict) for verdict, name in names.items()}
    said = ", ".join(f"{name}: {count}" for name, count in counts.items() if count)
    return f"the published result is {'' if outcome.reproduced else 'NOT '}reproduced ({said})"


def cell(value: object) -> str:
    """A value as people read it.

    >>> cell(0.000123456), cell(1234.5678), cell(3), cell(None)
    ('0.0001235', '1235', '3', '')
    """
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
