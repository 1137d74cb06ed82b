"""`penstock run FILE.sql`: declare what the file says, run it, show the results."""

from __future__ import annotations

import json
import re
import sys
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.shared.arguments import (
    ScriptFile,
    archive_classes_in_background,
    read_script,
)
from penstock.cli.shared.display import (
    passed_over_note,
    show_query,
    show_stream,
    stream_summary,
    unreadable_note,
)
from penstock.cli.shared.logs import LogFormat, ProgressLines, write_logs
from penstock.printable import printable

if TYPE_CHECKING:
    from penstock.io.storage.storage_path import StoragePath
    from penstock.local.engine import LocalEngine
    from penstock.model.streams import Stream
    from penstock.spark.engine import Engine


def run(
    file: ScriptFile,
    local: Annotated[
        bool, typer.Option("--local", help="Run in this process instead of on Spark.")
    ] = False,
    master: Annotated[
        str | None, typer.Option("--master", metavar="URL", help="The Spark master to run on.")
    ] = None,
    checkpoint: Annotated[
        str | None,
        typer.Option(
            "--checkpoint",
            metavar="DIR",
            help="The checkpoint to keep, and to continue from: a directory, or a URI.",
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
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Only say which queries go on, come, change and go, and run nothing."
        ),
    ] = False,
    yes: Annotated[
        bool,
        typer.Option("--yes", help="Forget what queries have kept that changed or are gone."),
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
    strict: Annotated[
        bool, typer.Option("--strict", help="Fail (exit code 1) if rows were late and rejected.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Also log what is no warning.")
    ] = False,
    log_format: Annotated[
        LogFormat,
        typer.Option("--log-format", help="How warnings and progress are written to stderr."),
    ] = LogFormat.TEXT,
) -> None:
    """Run the queries of a file: finite inputs to their end, endless ones until stopped.

    At the end of finite inputs all windows that have rows are closed. The same command, called
    again, reads the files that were added since: closed windows stay closed, and rows for them are
    late. --keep-open leaves the last windows open for the next run.

    The file may have been edited in between: queries that are the same go on, new ones begin, and
    for those that changed or are gone --yes is needed, because what they kept is forgotten.
    """
    from penstock.plan.notices import notices
    from penstock.sql.parse.parser import parse

    write_logs(log_format, verbose=verbose)
    engine: LocalEngine | Engine
    text = read_script(file)  # once: it may be edited while the queries run
    # What goes INTO console meanwhile must not stand among the JSON.
    with redirect_stdout(sys.stderr if as_json else sys.stdout):
        if local:
            given = master or checkpoint or seconds or keep_open or follow or packages or conf
            if given or dry_run or yes:
                raise typer.BadParameter(
                    "--local reads files to their end and takes no other options"
                )
            engine, shown = run_here(text)
        else:
            limit = None if seconds is None else seconds_in(seconds)
            settings = spark_settings(conf or [], packages)
            engine, shown = run_on_spark(
                text,
                master,
                checkpoint,
                limit,
                keep_open,
                settings,
                follow,
                dry_run=dry_run,
                yes=yes,
            )
            if dry_run:
                return
    declared = {entry.name: entry.plan for entry in engine.catalog.queries}
    told = notices(len(parse(text)), declared, shown=bool(shown))
    for notice in told:
        print(f"note: {printable(notice)}", file=sys.stderr)
    if as_json:
        found = {**summary(engine), "shown": shown, "notices": told}
        print(json.dumps(found, indent=2, default=str))
    else:
        show(engine)
    if not local and master is None:
        archive_classes_in_background()
    if strict:
        check_no_late_rows(engine)


def check_no_late_rows(engine: LocalEngine | Engine) -> None:
    """Raise if rows were late in this run, and so are in no result."""
    from penstock.errors import LateRow
    from penstock.model.slack import late_rows_in_words

    streams = engine.status().streams
    for entry in engine.catalog.streams:
        counts = streams[entry.name].counts
        if late := counts.late - counts.passed:
            rows, by_slack = counts.rows + late, counts.late_by_slack
            raise LateRow(
                entry.name,
                late_rows_in_words(entry.stream, rows, late, by_slack),
                hint="the results are there, without these rows; leave out --strict to accept that",
            )


def carry_out(engine: LocalEngine | Engine, text: str) -> list[str]:
    """Carry out the statements of a file; what EXPLAIN, SHOW and DESCRIBE show is printed."""
    from penstock.sql.parse.parser import parse

    shown = []
    for statement in parse(text):
        outcome = engine.execute(statement)
        if isinstance(outcome, str):
            print(f"{printable(outcome)}\n")  # at once: queries may run for long
            shown.append(outcome)
    return shown


def run_here(text: str) -> tuple[LocalEngine, list[str]]:
    """Read all files; say how far it is while that takes long."""
    from penstock.local.engine import LocalEngine

    engine = LocalEngine()
    shown = carry_out(engine, text)
    lines = ProgressLines(engine)
    for _ in engine.read_files():
        lines.look()
    engine.finish()
    return engine, shown


def run_on_spark(
    text: str,
    master: str | None,
    checkpoint: str | None,
    seconds: float | None,
    keep_open: bool = False,
    conf: dict[str, str] | None = None,
    follow: bool = False,
    *,
    dry_run: bool = False,
    yes: bool = False,
) -> tuple[Engine, list[str]]:
    from penstock.spark import session
    from penstock.spark.sources.file_sizes import are_small

    to_end = not follow and not keep_open and seconds is None
    streams = streams_to_run(text)
    if streams is not None and not dry_run:
        if to_end and are_small(streams):
            conf = session.for_short_run(conf or {})
        session.begin_session(master=master, conf=conf)  # while everything else is imported
    from penstock.cli.shared.watch import watch
    from penstock.spark.engine import Engine

    engine = Engine(master=master, checkpoint=checkpoint, conf=conf)
    shown = carry_out(engine, text)
    if not engine.queries:
        return engine, shown
    check_changes(engine, dry_run=dry_run, yes=yes)
    if dry_run:
        return engine, shown
    print("starting Spark …", file=sys.stderr, flush=True)
    engine.start(to_end=to_end, accept_changes=True)
    kept: list[StoragePath] = []
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
    return engine, shown


def check_changes(engine: Engine, *, dry_run: bool, yes: bool) -> None:
    """Say how the queries differ from those of their checkpoints; refuse what is not confirmed."""
    from penstock.errors import HostError

    found = engine.changes()
    for place, changes in found.items():
        if dry_run or changes.differences or changes.added:
            print(f"{place}:\n{printable(changes.as_text())}", file=sys.stderr)
        if changes.refused:
            continue  # which is said when it is started, with the way out
        if changes.lose_state and not yes and not dry_run:
            names = ", ".join(changes.lose_state)
            raise HostError(
                f"resuming from checkpoint `{place}` would discard the saved state of {names}",
                hint="these queries were changed or dropped since the last run: add --yes to "
                "discard their state, restore their old definitions, or add the new versions "
                "under other names",
            )
    if found and (new := engine.new_pipelines()):
        print(f"without a checkpoint:\n  added  {', '.join(new)}", file=sys.stderr)
    if dry_run and not found:
        print("no checkpoint found: all queries start from scratch", file=sys.stderr)


def streams_to_run(text: str) -> list[Stream] | None:
    """The streams that a file declares, if it has queries to run; what is wrong is said later."""
    from penstock.errors import PenstockError
    from penstock.sql.parse.parser import parse
    from penstock.sql.parse.statements import BareSelect, CreateQuery, CreateStream

    try:
        found = parse(text)
    except PenstockError:
        return None
    has_queries = any(isinstance(each, CreateQuery | BareSelect) for each in found)
    streams = [each.stream for each in found if isinstance(each, CreateStream)]
    return streams if has_queries else None


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


def show(engine: LocalEngine | Engine) -> None:
    """The results as tables, and which rows were rejected."""
    for query in engine.queries:
        show_query(query)
    streams = engine.status().streams
    for entry in engine.catalog.streams:
        show_stream(entry.stream, streams[entry.name].counts)
        if unreadable := streams[entry.name].unreadable:
            print(unreadable_note(unreadable))
        if hidden := engine.passed_over(entry.name):
            print(passed_over_note(hidden))


def summary(engine: LocalEngine | Engine) -> dict[str, Any]:
    """What `--json` prints: the status, with the results that are in no sink."""
    from penstock.io.results import as_dicts

    status = engine.status()
    found = status.as_json()
    for query in engine.queries:
        results = None if query.sink else as_dicts(query.results(partial=True))
        found["queries"][query.name]["results"] = results
    for entry in engine.catalog.streams:
        found["streams"][entry.name] = stream_summary(entry.stream, status.streams[entry.name])
    return found
