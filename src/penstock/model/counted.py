"""`counted`: a number of things, as all that prints for people writes it."""

from __future__ import annotations


def counted(n: int, what: str) -> str:
    """A number of things.

    >>> counted(1, "row"), counted(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{n:,} {what}{'' if n == 1 else 's'}"
