"""INTO console: the rows of each batch as a table on the standard output, to be looked at.

    ratings, batch 3: 25 rows
    item   best
    lamp     42
    …
    5 more rows

A batch is a micro-batch on Spark, and what came out at once in this process. Nothing is kept: a
batch that Spark repeats after a crash is shown again.
"""

from __future__ import annotations

from typing import Any

import polars as pl
from rich.console import Console
from rich.table import Table
from rich.text import Text

from penstock.errors import NotExecutable
from penstock.io.results import readable
from penstock.model.counted import counted
from penstock.model.streams import Sink
from penstock.printable import printable_cell
from penstock.redaction import redacted_options

CONSOLE = "console"

#: Rows of a batch that are shown, unless the option `rows` says how many.
SHOWN = 20


def check_console(sink: Sink) -> None:
    """Refuse what the console cannot do."""
    given = sink.lowercase_options
    if sink.path is not None or given.keys() - {"rows"} or not given.get("rows", "1").isdecimal():
        what = (
            f"a place, '{sink.path}'" if sink.path is not None else redacted_options(sink.options)
        )
        raise NotExecutable(
            f"INTO console cannot be given {what}",
            hint=f"its only option is how many rows are shown: OPTIONS (rows '{SHOWN}')",
        )


class ConsoleSink:
    """Shows the batches of one query, or of one stream's late rows."""

    def __init__(self, name: str, sink: Sink) -> None:
        self._name = name
        self._shown = int(sink.lowercase_options.get("rows", SHOWN))
        self._batch = 0

    def write(self, rows: pl.DataFrame, batch: int | None = None) -> None:
        """Show a batch under its number, or under the next one; one without rows is not shown."""
        number = self._batch if batch is None else batch
        if not rows.height:
            return
        self._batch = number + 1
        # Made here: whoever redirects the standard output means this as well.
        console = Console(highlight=False)
        name, count = printable_cell(self._name), counted(rows.height, "row")
        console.print(Text(f"{name}, batch {number}: {count}"))
        if self._shown:
            console.print(_table(rows.head(self._shown)))
        if rows.height > self._shown:
            console.print(Text(counted(rows.height - self._shown, "more row")))

    def close(self) -> None:
        """Nothing to do."""


def _table(rows: pl.DataFrame) -> Table:
    table = Table(box=None, pad_edge=False)
    for name, dtype in rows.schema.items():
        justify: Any = "right" if dtype.is_numeric() else "left"
        table.add_column(Text(printable_cell(name)), justify=justify, overflow="fold")
    for row in readable(rows).iter_rows():
        table.add_row(*(Text(_shown(value)) for value in row))
    return table


def _shown(value: Any) -> str:
    return "NULL" if value is None else printable_cell(str(value))
