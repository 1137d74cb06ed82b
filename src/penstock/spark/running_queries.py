"""The queries of Spark's that this driver runs, by their ids, for workers that know others."""

from __future__ import annotations

_RUNNING: dict[str, None] = {}


def begins(query: str | None) -> list[str]:
    """A batch of a query begins; gives all queries that run."""
    if query:
        _RUNNING[query] = None
    return list(_RUNNING)


def ends(query: str) -> None:
    """A query runs no more."""
    _RUNNING.pop(query, None)
