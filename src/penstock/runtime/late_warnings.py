"""Warnings about late rows while queries run: when a stream's first row is late, and when many are.

Rejected rows are in no result, so whoever declared too little SLACK should know before the run is
over. Each stream is warned of twice at most: with its first late rows, and when more than one row
in a hundred was late.
"""

from __future__ import annotations

import logging

from penstock.model.slack import late_rows_in_words
from penstock.model.streams import Stream
from penstock.runtime.counts import Tally

#: The share of late rows, and the rows it must be seen of, for the second warning.
MANY, LEAST = 0.01, 1000

LATE_ROWS_LOG = logging.getLogger("penstock.late_rows")
_NO_WARNING, _FIRST, _SECOND = range(3)


class LateWarnings:
    """Looks at what was counted, and warns when there is something new to say."""

    def __init__(self) -> None:
        self._warned: dict[str, int] = {}

    def look(self, stream: Stream, tally: Tally) -> None:
        if not tally.late:
            return
        rows = tally.read - tally.malformed
        are_many = rows >= LEAST and tally.late > MANY * rows
        reached = _SECOND if are_many else _FIRST
        if reached > self._warned.get(stream.name, _NO_WARNING):
            self._warned[stream.name] = reached
            words = late_rows_in_words(stream, rows, tally.late, tally.late_by_slack)
            LATE_ROWS_LOG.warning("%s", words)

    def forget(self, stream: str) -> None:
        """Begin again: a stream of this name is dropped."""
        self._warned.pop(stream, None)
