"""How late rows were, and the SLACK that would have accepted them.

A row is as late as it lies behind the newest of those before it. A slack of as much as the latest
one accepts all of them; it is rounded up to a length that people write.
"""

from __future__ import annotations

from penstock.model.streams import Stream, TimestampKind
from penstock.model.timestamps import MILLISECOND, SECOND, format_duration


def suggested_slack(stream: Stream, lateness: int) -> str | None:
    """What to write behind SLACK; None: no slack would have helped, or none is missing.

    >>> from penstock.model.schema import Column
    >>> from penstock.model.types import Type
    >>> columns = (Column("ts", Type.TIMESTAMP),)
    >>> suggested_slack(Stream("s", columns, TimestampKind.EXTERNAL, "ts"), 4_200_000)
    '5 SECONDS'
    """
    if stream.kind is not TimestampKind.EXTERNAL or stream.timestamp is None:
        return None
    if stream.slack is None or lateness <= stream.slack:
        return None  # punctuation from outside, or for some rows only, was broken
    if not _is_time(stream):
        return str(lateness)
    step = SECOND if lateness >= SECOND else MILLISECOND if lateness >= MILLISECOND else 1
    return format_duration(-(-lateness // step) * step).upper()


def lateness_in_words(stream: Stream, lateness: int) -> str:
    """How late the latest row was, and the SLACK that would have accepted all; empty: none was.

    >>> from penstock.model.schema import Column
    >>> from penstock.model.types import Type
    >>> columns = (Column("seq", Type.BIGINT),)
    >>> print(lateness_in_words(Stream("s", columns, TimestampKind.EXTERNAL, "seq"), 7))
    up to 7 behind the newest before them: SLACK 7 would have accepted all of them
    """
    if not lateness:
        return ""
    shown = format_duration(lateness) if _is_time(stream) else str(lateness)
    slack = suggested_slack(stream, lateness)
    way_out = "" if slack is None else f": SLACK {slack} would have accepted all of them"
    return f"up to {shown} behind the newest before them{way_out}"


def _is_time(stream: Stream) -> bool:
    return stream.schema[str(stream.timestamp)].type.is_time
