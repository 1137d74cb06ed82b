"""What a run says while it goes on: warnings, and how far it is, as lines of text or of JSON.

On a terminal a table that is redrawn shows how far a run on Spark is. Elsewhere there is a line
every few seconds, for a file or a service that collects logs.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Mapping
from datetime import datetime, timezone
from enum import Enum
from typing import TYPE_CHECKING, Any

from penstock.model.counted import counted
from penstock.model.timestamps import END, format_ticks
from penstock.printable import PrintableMessages

if TYPE_CHECKING:
    from penstock.local.engine import LocalEngine
    from penstock.spark.engine import Engine

#: Seconds between two lines.
EVERY = 5.0

_LOG = logging.getLogger("penstock.progress")


class LogFormat(str, Enum):
    """How lines are written."""

    TEXT = "text"
    JSON = "json"


class _ToStderr(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        print(self.format(record), file=sys.stderr, flush=True)


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, timezone.utc).isoformat(timespec="milliseconds")
        facts: Mapping[str, Any] = getattr(record, "facts", {})
        level, message = record.levelname.lower(), record.getMessage()
        if record.exc_info:
            message = f"{message}\n{self.formatException(record.exc_info)}"
        return json.dumps({"time": at, "level": level, "message": message, **facts})


def write_logs(log_format: LogFormat, *, verbose: bool = False) -> None:
    """Write what the package logs to stderr; `verbose`: also what is no warning."""
    handler = _ToStderr()
    handler.addFilter(PrintableMessages())
    if log_format is LogFormat.JSON:
        handler.setFormatter(_JsonLines())
    logger = logging.getLogger("penstock")
    logger.handlers = [handler]
    logger.setLevel(logging.INFO if verbose else logging.WARNING)
    _LOG.setLevel(logging.INFO)


class ProgressLines:
    """A line every few seconds that says how far an engine is."""

    def __init__(self, engine: LocalEngine | Engine) -> None:
        self._engine = engine
        self._rows, self._at = 0, time.monotonic()

    def look(self) -> None:
        """Write the next line, if it is time."""
        now = time.monotonic()
        if now - self._at < EVERY:
            return
        facts = progress(self._engine)
        speed = (facts["rows"] - self._rows) / (now - self._at)
        self._rows, self._at = facts["rows"], now
        facts["rows_per_second"] = round(speed)
        _LOG.info("%s", in_words(facts), extra={"facts": facts})


def progress(engine: LocalEngine | Engine) -> dict[str, Any]:
    """How far an engine is: rows by what became of them, the watermark, the last micro-batch."""
    status = engine.status()
    counts = [stream.counts for stream in status.streams.values()]
    bounds = [bound for query in status.queries.values() for bound in query.bounds.values()]
    low = min(bounds, default=END)
    shown = None if not 0 < low < END else low
    batches = [query.batch for query in status.queries.values() if query.batch is not None]
    last = max(batches, key=lambda batch: batch.number, default=None)
    return {
        "rows": sum(each.rows for each in counts),
        "late": sum(each.late for each in counts),
        "malformed": sum(each.malformed for each in counts),
        "results": sum(query.rows for query in status.queries.values()),
        "watermark": None if shown is None else format_ticks(shown),
        "lag_seconds": None if shown is None else round((engine.now() - shown) / 1e6, 3),
        "batch": None if last is None else last.number,
        "batch_seconds": None if last is None else last.seconds,
    }


def in_words(facts: Mapping[str, Any]) -> str:
    """How far an engine is, as a line.

    >>> facts = {"rows": 12000, "rows_per_second": 400, "late": 2, "malformed": 0, "results": 7}
    >>> in_words({**facts, "watermark": None, "batch": 3, "batch_seconds": 0.25})
    '12,000 rows, 400 a second, 2 late, 0 malformed, 7 results, micro-batch 3 took 0.25 s'
    >>> in_words({**facts, "watermark": "2026-01-01", "lag_seconds": 1.5, "batch": None})[48:]
    '7 results, watermark 2026-01-01, lag 1.5 s'
    """
    parts = [
        counted(facts["rows"], "row"),
        f"{facts['rows_per_second']:,} a second",
        f"{facts['late']:,} late",
        f"{facts['malformed']:,} malformed",
        counted(facts["results"], "result"),
    ]
    if facts["watermark"] is not None:
        parts.append(f"watermark {facts['watermark']}")
        parts.append(f"lag {facts['lag_seconds']:,.1f} s")
    if facts["batch"] is not None and facts["batch_seconds"] is not None:
        parts.append(f"micro-batch {facts['batch']} took {facts['batch_seconds']:.2f} s")
    return ", ".join(parts)
