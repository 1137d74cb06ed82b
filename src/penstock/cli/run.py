"""`penstock run FILE.sql`: declare what the file says, run it, show the results."""

from __future__ import annotations

import json
import re
import sys
import time
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.counts import (
    counted,
    passed_over_note,
    show_stream,
    since_the_beginning,
    stream_summary,
)
from penstock.cli.script_file import read_script

if TYPE_CHECKING:
    import polars as pl

    from penstock.local.engine import LocalEngine
    from penstock.runtime.query import Query
    from penstock.spark.engine import Engine

#: Rows of a result that are shown; all of them are in a sink or in --json.
SHOWN = 20
#: Seconds after which work that goes on says so.
PATIENCE = 2.0


def run(
    file: Annotated[
        Path, typer.Argument(metavar="FILE.sql", exists=True, dir_okay=False, help="Statements.")
    ],
    local: Annotated[
        bool, typer.Option("--local", help="Run in this process instead of on Spark.")
    ] = False,
    master: Annotated[
        str | None, typer.Option("--master", metavar="URL", help="The Spark master to run on.")
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            "--checkpoint", metavar="DIR", help="The checkpoint to keep, and to continue from."
        ),
    ] = None,
    seconds: Annotated[
        str | None, typer.Option("--for", metavar="TIME", help="Stop after this time, such as 30s.")
    ] = None,
    keep_open: Annotated[
        bool,
        typer.Option(
            "--keep-open",
            help="Leave the last windows open for rows of the next run, instead of closing them "
            "at the end.",
        ),
    ] = False,
    follow: Annotated[
        bool, typer.Option("--follow", help="Keep reading new files until Ctrl-C.")
    ] = False,
    packages: Annotated[
        str | None,
        typer.Option(
            "--packages", metavar="G:N:V,…", help="Packages that Spark fetches at the start."
        ),
    ] = None,
    conf: Annotated[
        list[str] | None,
        typer.Option("--conf", metavar="KEY=VALUE", help="A setting of Spark; may be repeated."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Run the queries of a file: finite inputs to their end, endless ones until stopped.

    At the end of finite inputs all windows that have rows are closed. The same command, called
    again, reads the files that were added since: closed windows stay closed, and rows for them are
    late. --keep-open leaves the last windows open for the next run.
    """
    engine: LocalEngine | Engine
    text = read_script(file)  # once: it may be edited while the queries run
    # What goes INTO console meanwhile must not stand among the JSON.
    with redirect_stdout(sys.stderr if as_json else sys.stdout):
        if local:
            given = master or checkpoint or seconds or keep_open or follow or packages or conf
            if given:
                raise typer.BadParameter(
                    "--local reads files to their end and takes no other options"
                )
            engine, explained = run_here(text)
        else:
            limit = None if seconds is None else seconds_in(seconds)
            settings = spark_settings(conf or [], packages)
            engine, explained = run_on_spark(
                text, master, checkpoint, limit, keep_open, settings, follow
            )
    told = told_about(text, engine, explained)
    for notice in told:
        print(f"note: {notice}", file=sys.stderr)
    if as_json:
        print(json.dumps({**summary(engine), "notices": told}, indent=2, default=str))
        return
    if isinstance(explained, str):
        print(explained)
    show(engine)


def told_about(text: str, engine: LocalEngine | Engine, explained: Any) -> list[str]:
    """Notices for the author of the file."""
    from penstock.plan.notices import notices
    from penstock.sql.parse.parser import parse

    declared = {entry.name: entry.plan for entry in engine.catalog.queries}
    return notices(len(parse(text)), declared, shown=isinstance(explained, str))


def run_here(text: str) -> tuple[LocalEngine, Any]:
    from penstock.local.engine import LocalEngine

    engine = LocalEngine()
    explained = engine.sql(text)
    read_everything(engine)
    return engine, explained


def run_on_spark(
    text: str,
    master: str | None,
    checkpoint: Path | None,
    seconds: float | None,
    keep_open: bool = False,
    conf: dict[str, str] | None = None,
    follow: bool = False,
) -> tuple[Engine, Any]:
    from penstock.cli.watch import watch
    from penstock.spark.engine import Engine

    engine = Engine(master=master, checkpoint=checkpoint, conf=conf)
    explained = engine.sql(text)
    if not engine.queries:
        return engine, explained
    print("starting Spark …", file=sys.stderr, flush=True)
    engine.start()
    kept: list[Path] = []
    try:
        # Asked once: between two looks a trigger may be at work again, finding nothing.
        if watch(engine, seconds, follow=follow):
            if keep_open:
                engine.process_available()
            else:
                kept = engine.finish()
    except KeyboardInterrupt:
        print("stopping after the batch that is running …", file=sys.stderr)
    finally:
        kept += engine.stop()
    for place in kept:
        print(f"the same command continues from {place}", file=sys.stderr)
    return engine, explained


def spark_settings(given: list[str], packages: str | None) -> dict[str, str]:
    """What --conf and --packages say, as Spark's settings.

    >>> spark_settings(["spark.ui.enabled=true"], "org:name:1")
    {'spark.ui.enabled': 'true', 'spark.jars.packages': 'org:name:1'}
    """
    settings = {}
    for text in given:
        key, sign, value = text.partition("=")
        if not sign or not key.strip():
            raise typer.BadParameter(f"`{text}` is not KEY=VALUE", param_hint="--conf")
        settings[key.strip()] = value.strip()
    if packages is not None:
        already = settings.get("spark.jars.packages")
        settings["spark.jars.packages"] = f"{already},{packages}" if already else packages
    return settings


def seconds_in(text: str) -> float:
    """A duration such as 30s, 2min or 1.5 hours, in seconds.

    >>> seconds_in("90s"), seconds_in("1.5 min")
    (90.0, 90.0)
    """
    from penstock.model.timestamps import SECOND, UNITS

    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]+)\s*", text)
    if found is None or found[2].lower() not in UNITS:
        raise typer.BadParameter(
            f"`{text}` is not a duration such as 30s or 2min", param_hint="--for"
        )
    return float(found[1]) * UNITS[found[2].lower()] / SECOND


def read_everything(engine: LocalEngine) -> None:
    """Read all files; say how far it is while that takes long."""
    begun = said = time.monotonic()
    rows = 0
    for _, count in engine.read_files():
        rows += count
        now = time.monotonic()
        if now - said > PATIENCE:
            print(f"{rows:,} rows, {rows / (now - begun):,.0f} a second", file=sys.stderr)
            said = now
    engine.finish()


def show(engine: LocalEngine | Engine) -> None:
    """The results as tables, and which rows were rejected."""
    for query in engine.queries:
        show_query(query)
    streams = engine.status().streams
    for entry in engine.catalog.streams:
        show_stream(entry.stream, streams[entry.name].counts)
        if hidden := engine.passed_over(entry.name):
            print(passed_over_note(hidden))


def show_query(query: Query) -> None:
    """A query's results, or where they are."""
    earlier = since_the_beginning(query.rows, query.total_rows)
    print(f"{query.name}: {counted(query.rows, 'row')}{earlier}")
    if query.sink is not None:
        print(f"  in {query.sink}")
    else:
        results = in_order(query.results())
        print(table(results.head(SHOWN)))
        if dropped := query.status.dropped:
            print(f"  {counted(dropped, 'older row')} dropped: INTO a file keeps all")
        if results.height > SHOWN:
            print(f"  … {counted(results.height - SHOWN, 'more row')}: INTO a file, or --json")
    print()


def in_order(results: pl.DataFrame) -> pl.DataFrame:
    """Results by the end of their window; those without one as they came."""
    if "window_end" not in results.columns:
        return results
    return results.sort("window_end", *(c for c in results.columns if c != "window_end"))


def table(rows: pl.DataFrame) -> str:
    """Rows in aligned columns; numbers to the right.

    >>> import polars as pl
    >>> print(table(pl.DataFrame({"item": ["lamp", None], "best": [42, 7]})))
      item   best
      lamp     42
      NULL      7
    """
    from penstock.io.results import readable

    texts = [[_text(value) for value in row] for row in readable(rows).rows()]
    widths = [max(map(len, column)) for column in zip(rows.columns, *texts, strict=True)]
    right = [dtype.is_numeric() for dtype in rows.dtypes]
    lines = []
    for row in (rows.columns, *texts):
        cells = (
            text.rjust(width) if is_number else text.ljust(width)
            for text, width, is_number in zip(row, widths, right, strict=True)
        )
        lines.append(f"  {'   '.join(cells)}".rstrip())
    return "\n".join(lines)


def _text(value: Any) -> str:
    if value is None:
        return "NULL"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def summary(engine: LocalEngine | Engine) -> dict[str, Any]:
    """What `--json` prints: the status, with the results that are in no sink."""
    from penstock.io.results import as_dicts

    status = engine.status()
    found = status.as_json()
    for query in engine.queries:
        results = None if query.sink else as_dicts(query.results())
        found["queries"][query.name]["results"] = results
    for entry in engine.catalog.streams:
        summed = stream_summary(entry.stream, status.streams[entry.name])
        found["streams"][entry.name] = summed
    return found
