"""`penstock bench`: ours against a rival, answers compared, as a table and as a file."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.shared.scripts import (
    Folder,
    JsonPath,
    Quick,
    choose,
    console,
    start_over_with,
    write_json,
)

if TYPE_CHECKING:
    from rich.table import Table

    from penstock.lab.benchmarking.case import Case
    from penstock.lab.benchmarking.measure import Result
    from penstock.lab.scripts import Script


#: What a benchmark may take.
MINUTES = 10.0


def bench(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="The benchmark to run; without it, all are listed."),
    ] = None,
    json_path: JsonPath = None,
    chart: Annotated[
        Path | None,
        typer.Option(
            "--chart",
            metavar="PATH",
            dir_okay=False,
            help="Draw the ratios to this file (.png, .svg); by default beside that of --json.",
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--case", metavar="CASE", help="Only this case; may be given several times."),
    ] = None,
    quick: Quick = False,
    minutes: Annotated[
        float,
        typer.Option(
            "--minutes", help="Begin no case that is not likely to end within so many minutes."
        ),
    ] = MINUTES,
    folder: Folder = None,
) -> None:
    """Measure against a rival, on the same data, with answers compared."""
    options = (json_path, chart, only, quick, minutes != MINUTES)
    for benchmark in choose("benchmark", [name] if name else [], folder, options):
        start_over_with(benchmark.environment)
        chart_path = chart or (json_path.with_suffix(".png") if json_path else None)
        for path in filter(None, (json_path, chart_path)):
            path.parent.mkdir(parents=True, exist_ok=True)
        results, left_out = run(benchmark, quick, only or (), minutes)
        report(benchmark, quick, results, json_path, chart_path, left_out)


def run(
    benchmark: Script, quick: bool, only: Sequence[str] = (), minutes: float = MINUTES
) -> tuple[list[Result], list[str]]:
    """Every case in turn, or only those named, telling on stderr how far it is.

    Gives the results, and the cases that were left out: what is left of the time must be enough for
    one that takes as long as the longest so far.
    """
    from penstock.lab.benchmarking.measure import measure

    errors = console(stderr=True)
    results, left_out = list["Result"](), list[str]()
    begun, longest = time.monotonic(), 0.0
    with errors.status(f"{benchmark.name}: preparing") as status:

        def progress(case: Case, pair: int, of: int) -> None:
            text = f"{benchmark.name}: {case.name}, run {pair} of {of}"
            # Where a line cannot be rewritten, one per case is enough.
            if errors.is_terminal:
                status.update(text)
            elif pair == 1:
                errors.print(text)

        cases: Callable[[bool], Iterable[Case]] = benchmark.function("cases", "benchmark")
        for case in cases(quick):
            if only and case.name not in only:
                continue
            before = time.monotonic()
            left = begun + 60 * minutes - before
            if results and longest > left:
                left_out.append(case.name)
                errors.print(f"{benchmark.name}: {case.name}: left out, there is no time for it")
                continue
            result = measure(case, partial(progress, case), left)
            longest = max(longest, time.monotonic() - before)
            results.append(result)
            # Whoever stops a long one keeps what is there.
            errors.print(f"{benchmark.name}: {case.name}: ratio {result.ratio:.2f}")
    known = {*left_out, *(result.case for result in results)}
    missing = [name for name in only if name not in known]
    if missing:
        raise typer.BadParameter(f"no such case: {', '.join(missing)}", param_hint="--case")
    return results, left_out


def report(
    benchmark: Script,
    quick: bool,
    results: Sequence[Result],
    json_path: Path | None,
    chart_path: Path | None,
    left_out: Sequence[str] = (),
) -> None:
    """Print the table, write the files, and fail if answers differed."""
    output = console()
    output.print(table_of(benchmark.name, results))
    for line in read_and_written(results):
        output.print(line)
    if left_out:
        output.print(f"left out, because there was no time: {', '.join(left_out)} (--minutes)")
    if json_path:
        found = [result.as_json() for result in results]
        facts = {"results": found, "left_out": list(left_out)}
        write_json(json_path, [benchmark], name=benchmark.name, quick=quick, **facts)
    if chart_path:
        from penstock.lab.benchmarking.chart import draw_chart

        draw_chart(benchmark.name, results, chart_path)
    different = [result for result in results if result.difference is not None]
    for result in different:
        print(f"case {result.case}: answers differ: ours {result.difference}", file=sys.stderr)
    if different:
        raise typer.Exit(1)


def table_of(name: str, results: Sequence[Result]) -> Table:
    """One line per case, and a column for everything that a case adds of its own.

    What is more than a value is for the file of --json.
    """
    from rich.table import Table

    added = ((key, value) for result in results for key, value in result.extra.items())
    extras = list(dict.fromkeys(k for k, value in added if not isinstance(value, list | dict)))
    table = Table("case", "ours", "rival", "", "ratio", "equal", "runs", *extras, title=name)
    for result in results:
        table.add_row(
            result.case,
            seconds(result.ours_s),
            seconds(result.rival_s),
            result.rival,
            f"{result.ratio:.2f}",
            "yes" if result.difference is None else "NO",
            runs(result),
            *(str(result.extra.get(key, "")) for key in extras),
        )
    return table


def runs(result: Result) -> str:
    """How many runs the medians are of."""
    ours, rival = len(result.ours_runs), len(result.rival_runs)
    return str(ours) if ours == rival else f"{ours}, rival {rival}"


def read_and_written(results: Sequence[Result]) -> list[str]:
    """How each side reads and writes, once for all cases that do it alike."""
    alike: dict[tuple[str, str], list[str]] = {}
    for result in results:
        if result.ours_io or result.rival_io:
            alike.setdefault((result.ours_io, result.rival_io), []).append(result.case)
    lines = []
    for (ours, rival), cases in alike.items():
        lines.append("all cases" if len(cases) == len(results) else ", ".join(cases))
        lines += [f"  ours:  {ours or 'not said'}", f"  rival: {rival or 'not said'}"]
    return lines


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
