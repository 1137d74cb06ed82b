"""Why rows of a stream may be rejected; only the kernel keeps those to be seen.

Text and what comes from Python is converted value by value, and a value may not conform to its
column. Of other formats only Spark knows the types, so that is known once the stream is opened.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pyspark.sql import DataFrame

from penstock.catalog.catalog import StreamEntry
from penstock.io.iterables import FORMAT as ITERABLE
from penstock.io.sources.redis_entries import FORMAT as REDIS
from penstock.io.unreadable import skips_unreadable
from penstock.model.streams import Stream
from penstock.spark.sources.conforming import MALFORMED_COLUMN
from penstock.spark.sources.direct_files import is_direct
from penstock.spark.sources.kafka_source import for_connector
from penstock.spark.sources.text_files import TEXT_FORMATS, lowered, sets_rows_aside
from penstock.spark.sources.text_lines import LINES

_MAY_NOT_CONFORM = "rows of `{name}` need per-row error handling, which Spark SQL lacks"
_UNREADABLE = "files of `{name}` that cannot be read are skipped, which only the kernel does"
_LATE_INTO = "`{name}` is declared LATE INTO, which only the kernel writes"


def rejecting(
    streams: Iterable[StreamEntry], frames: Mapping[str, DataFrame] | None = None
) -> dict[str, str]:
    """Streams whose rows may be rejected, and why; `frames`: those that are opened, by name."""
    found = {}
    for entry in streams:
        opened = (frames or {}).get(entry.name)
        if entry.late is not None:
            found[entry.name] = _LATE_INTO.format(name=entry.name)
        elif is_direct(entry.stream) and skips_unreadable(entry.stream):
            found[entry.name] = _UNREADABLE.format(name=entry.name)
        elif _may_not_conform(entry.stream, opened):
            found[entry.name] = _MAY_NOT_CONFORM.format(name=entry.name)
    return found


def _may_not_conform(stream: Stream, opened: DataFrame | None) -> bool:
    origin = stream.origin
    if origin.format in TEXT_FORMATS:
        return sets_rows_aside(stream)
    if opened is not None:
        return MALFORMED_COLUMN in opened.columns
    return origin.format in (ITERABLE, REDIS) or LINES in lowered(for_connector(stream))
