"""`penstock bench`: ours against a rival, answers compared, as a table and as a file."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.checkout import checkout
from penstock.cli.scripts import show, start_over_with

if TYPE_CHECKING:
    from rich.table import Table

    from penstock.lab.benchmarking.case import Case
    from penstock.lab.benchmarking.measure import Result
    from penstock.lab.scripts import Script


def bench(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="The benchmark to run; without it, all are listed."),
    ] = None,
    json_path: Annotated[
        Path | None,
        typer.Option(
            "--json", metavar="PATH", dir_okay=False, help="Write the result to this file."
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Less data, for a first look.")] = False,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="DIR",
            exists=True,
            file_okay=False,
            help="The directory of benchmarks.",
        ),
    ] = None,
) -> None:
    """Measure against a rival, on the same data, with answers compared."""
    from penstock.lab.scripts import scripts

    known = scripts(folder or checkout() / "benchmarks")
    if name is None:
        if json_path or quick:
            raise typer.BadParameter("name the benchmark to run", param_hint="NAME")
        show(known, "benchmarks")
        return
    if name not in known:
        there = ", ".join(known) or "none yet"
        raise typer.BadParameter(f"no benchmark `{name}`; there are: {there}", param_hint="NAME")
    start_over_with(known[name].environment)
    if json_path:
        json_path.parent.mkdir(parents=True, exist_ok=True)
    results = run(known[name], quick)
    report(known[name], quick, results, json_path)


def run(benchmark: Script, quick: bool) -> list[Result]:
    """Every case in turn, telling on stderr how far it is."""
    from rich.console import Console

    from penstock.lab.benchmarking.measure import measure

    console = Console(stderr=True, markup=False, highlight=False)
    results = []
    with console.status(f"{benchmark.name}: preparing") as status:

        def progress(case: Case, pair: int, of: int) -> None:
            text = f"{benchmark.name}: {case.name}, run {pair} of {of}"
            # Where a line cannot be rewritten, one per case is enough.
            if console.is_terminal:
                status.update(text)
            elif pair == 1:
                console.print(text)

        cases: Callable[[bool], Iterable[Case]] = benchmark.function("cases", "benchmark")
        for case in cases(quick):
            result = measure(case, partial(progress, case))
            results.append(result)
            # Whoever stops a long one keeps what is there.
            console.print(f"{benchmark.name}: {case.name}: ratio {result.ratio:.2f}")
    return results


def report(
    benchmark: Script, quick: bool, results: Sequence[Result], json_path: Path | None
) -> None:
    """Print the table, write the file, and fail if answers differed."""
    from rich.console import Console

    from penstock.lab.benchmarking.machine import machine, versions

    # In a file or a pipe there is no edge to wrap at.
    width = None if sys.stdout.isatty() else 200
    Console(markup=False, highlight=False, width=width).print(table_of(benchmark.name, results))
    if json_path:
        content = {
            "name": benchmark.name,
            "machine": machine(),
            "versions": versions(),
            "environment": benchmark.environment,
            "quick": quick,
            "results": [result.as_json() for result in results],
        }
        json_path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    different = [result for result in results if result.difference is not None]
    for result in different:
        print(f"case {result.case}: answers differ: ours {result.difference}", file=sys.stderr)
    if different:
        raise typer.Exit(1)


def table_of(name: str, results: Sequence[Result]) -> Table:
    """One line per case, and a column for everything that a case adds of its own."""
    from rich.table import Table

    extras = list(dict.fromkeys(key for result in results for key in result.extra))
    table = Table("case", "ours", "rival", "", "ratio", "equal", *extras, title=name)
    for result in results:
        table.add_row(
            result.case,
            seconds(result.ours_s),
            seconds(result.rival_s),
            result.rival,
            f"{result.ratio:.2f}",
            "yes" if result.difference is None else "NO",
            *(str(result.extra.get(key, "")) for key in extras),
        )
    return table


def seconds(value: float) -> str:
    """Three digits, in a unit that fits.

    >>> seconds(1234.5), seconds(12.345), seconds(0.012345), seconds(0.000012)
    ('1234 s', '12.3 s', '12.3 ms', '12 µs')
    """
    for factor, unit in ((1, "s"), (1e3, "ms"), (1e6, "µs")):
        scaled = value * factor
        if scaled >= 1 or unit == "µs":
            break
    return f"{scaled:.0f} {unit}" if scaled >= 100 else f"{scaled:.3g} {unit}"
