"""`penstock`, the command line.

A command is one file beside this one, with a function of the command's name, and one line at the
end of this one. Commands import what they need inside the function, so that `--help` need not
wait for Polars.
"""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from penstock.cli import (
    bench,
    calibrate,
    demo,
    experiment,
    explain,
    lint,
    run,
    status,
    test,
    verify,
)
from penstock.cli.shared.arguments import is_checkout
from penstock.errors import PenstockError


class Commands(TyperGroup):
    """The border at which our errors become text and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except PenstockError as error:
            if ctx.params["debug"]:
                raise
            print(error, file=sys.stderr)
            raise typer.Exit(1) from error


def show_version(wanted: bool) -> None:
    if wanted:
        from penstock.version import __version__

        print(f"penstock {__version__}")
        raise typer.Exit


def penstock(
    debug: Annotated[
        bool, typer.Option("--debug", help="Show where in the code an error came from.")
    ] = False,
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=show_version, is_eager=True),
    ] = False,
) -> None:
    """Continuous SQL queries over streams."""


app = typer.Typer(
    cls=Commands, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False
)
app.callback()(penstock)
app.command()(demo.demo)
app.command()(run.run)
app.command()(status.status)
app.command()(explain.explain)
app.command()(verify.verify)
app.command()(calibrate.calibrate)
if is_checkout():  # what they run is not part of the installed package
    app.command()(bench.bench)
    app.command()(experiment.experiment)
    app.command()(lint.lint)
    app.command(context_settings=test.PASS_ON_THE_REST)(test.test)


def main() -> None:
    app(prog_name="penstock")
