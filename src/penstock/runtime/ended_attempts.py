"""A warning, once for each query, that a limit on rows has ended an attempt at a match."""

from __future__ import annotations

import logging
from collections.abc import Iterable

_LOG = logging.getLogger("penstock")


class EndedAttempts:
    """Looks at how many there are, and remembers of which queries it has told."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def look(self, counts: Iterable[tuple[Iterable[str], int]]) -> None:
        """Take the queries of operators, and how many attempts each of these has ended."""
        for queries, count in counts:
            for query in {*queries} - self._told if count else ():
                self._told.add(query)
                _LOG.warning(
                    "%s: an attempt at a match had as many rows as match_rows allows, and could "
                    "have gone on. It was ended: a longer match is not found. The status counts "
                    "such attempts (ended_attempts). Let WITHIN or DEFINE end them sooner, or SET "
                    "match_rows higher before the query is declared.",
                    query,
                )
