"""Numbers for people: a few digits that count, and never `2e+03`.

>>> [number_text(value) for value in (0, 1234567.0, 2000.0, 6.544, 0.01234, 8.08e-05, 3e-09)]
['0', '1,230,000', '2,000', '6.54', '0.0123', '0.0000808', 'below 0.000001']
"""

from __future__ import annotations

from decimal import Decimal

#: What is less is told as that.
_LEAST = Decimal("0.000001")


def number_text(value: float, digits: int = 3) -> str:
    """A number, 0 or more, with so many digits that count."""
    rounded = Decimal(f"{value:.{digits}g}")
    if 0 < rounded < _LEAST:
        return f"below {_LEAST:f}"
    return f"{rounded:,f}"


def share_text(share: float, digits: int = 3) -> str:
    """A share of something.

    >>> share_text(0.25), share_text(1.3333), share_text(8.08e-07, 2)
    ('25 %', '133 %', '0.000081 %')
    """
    return f"{number_text(100 * share, digits)} %"
