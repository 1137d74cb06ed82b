"""`counted`: a number of things, as all that prints for people writes it."""

from __future__ import annotations


def counted(n: int, what: str, several: str | None = None) -> str:
    """A number of things.

    >>> counted(1, "row"), counted(2000, "row"), counted(2, "query", "queries")
    ('1 row', '2,000 rows', '2 queries')
    """
    return f"{n:,} {what if n == 1 else several or f'{what}s'}"
