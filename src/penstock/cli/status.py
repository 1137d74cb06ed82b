"""`penstock status DIR`: what checkpoints say of their pipelines, also while these run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from penstock.printable import printable


def status(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR",
            file_okay=False,
            help="A checkpoint, the directory of --checkpoint, or a directory of results.",
        ),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Show the queries and streams of a checkpoint, how many rows they had, and whether it runs."""
    from penstock.spark.state.checkpoint_status import checkpoint_status, checkpoints_in

    found = [checkpoint_status(each) for each in checkpoints_in(folder)]
    if as_json:
        print(json.dumps([each.as_json() for each in found], indent=2))
    else:
        print("\n\n".join(printable(str(each)) for each in found))
