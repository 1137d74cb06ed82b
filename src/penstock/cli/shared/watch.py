"""How far a running engine is: a table on the terminal, elsewhere lines."""

from __future__ import annotations

import time
from contextlib import nullcontext
from typing import TYPE_CHECKING

from penstock.cli.shared.logs import ProgressLines
from penstock.printable import printable_cell

if TYPE_CHECKING:
    from rich.table import Table

    from penstock.runtime.status import QueryStatus
    from penstock.spark.engine import Engine

#: Seconds between two looks, and between two tables.
PAUSE, SHOWN = 0.05, 0.5


def watch(engine: Engine, seconds: float | None = None, *, follow: bool = False) -> bool:
    """Show progress until finite inputs are processed (True) or the time is over (False).

    On a terminal that is a table, elsewhere a line every few seconds.

    With `follow` no input counts as finite: more may come.
    """
    from rich.console import Console
    from rich.live import Live

    console, lines = Console(stderr=True), ProgressLines(engine)
    begun = shown = time.monotonic()
    live = Live(console=console, refresh_per_second=4) if console.is_terminal else None
    with live or nullcontext():
        while seconds is None or time.monotonic() - begun < seconds:
            if not follow and engine.is_finite() and engine.is_idle():
                return True
            time.sleep(PAUSE)
            engine.check()
            if live is None:
                lines.look()
            elif time.monotonic() - shown > SHOWN:
                shown = time.monotonic()
                live.update(progress_table(engine, shown - begun))
    return False


def progress_table(engine: Engine, elapsed: float) -> Table:
    """One line per query: rows, speed, how far time has come, what is kept."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title=f"{elapsed:,.0f} s", title_justify="left", box=None, pad_edge=False)
    table.add_column("query")
    for column in ("batch", "rows in/s", "batch s", "bound", "state rows", "state", "results"):
        table.add_column(column, justify="right")
    for query in engine.status().queries.values():
        table.add_row(Text(printable_cell(query.name)), *_cells(query), f"{query.rows:,}")
    return table


def _cells(query: QueryStatus) -> list[str]:
    from penstock.model.timestamps import format_ticks

    batch = query.batch
    if batch is None:
        return ["starting", "", "", "", "", ""]
    low = min(query.bounds.values(), default=None)
    rows = sum(batch.rows.values())
    return [
        str(batch.number),
        "0" if batch.seconds is None else f"{rows / max(batch.seconds, 0.001):,.0f}",
        "" if batch.seconds is None else f"{batch.seconds:.2f}",
        "" if low is None else format_ticks(low)[:19],
        f"{query.state_rows:,}",
        f"{query.state_bytes / 1e6:.1f} MB",
    ]
