"""What becomes of files that cannot be read: OPTIONS (unreadable 'skip').

A damaged file ends the queries that read it, unless the stream is declared to skip such files. Then
a file is tried as a whole before any of its rows go in: either all of them do, or the file is
counted and listed with the reason. So it is read twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from penstock.errors import NotExecutable, PenstockError
from penstock.model.streams import Stream

#: The option, and its values; without it a file that cannot be read is an error.
UNREADABLE, SKIP, STOP = "unreadable", "skip", "stop"

#: What can be done about a file that ends a query on Spark.
WAY_OUT = (
    "fix or remove the file, and start again: none of its rows were counted; or declare the stream "
    f"with OPTIONS ({UNREADABLE} '{SKIP}')"
)


def skips_unreadable(stream: Stream) -> bool:
    """Whether files of the stream that cannot be read are skipped."""
    given = stream.origin.lowercase_options
    chosen = given.get(UNREADABLE, STOP).lower()
    if chosen not in (SKIP, STOP):
        raise NotExecutable(
            f"stream `{stream.name}`: the option `{UNREADABLE}` cannot be '{given[UNREADABLE]}'",
            hint=f"give '{SKIP}' to skip files that cannot be read, or '{STOP}'",
        )
    return chosen == SKIP


def why_unreadable(read: Callable[[], Iterable[object]]) -> str:
    """Why a file cannot be read, whose blocks this gives; empty: it can."""
    try:
        for _ in read():
            pass
    except PenstockError as error:
        return error.message
    return ""
