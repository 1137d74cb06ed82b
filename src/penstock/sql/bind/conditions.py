"""Join conditions, taken apart.

A condition is a conjunction. Of its parts a window join wants to know: which bound the distance in
time of the two sides, so that state can be forgotten (`model/distances.py`); which say that two
columns are equal, so that partners can be found by hash; what is left is tested pair by pair.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.model.expressions import Expression, Literal
from penstock.model.expressions import conjuncts as parts_of


def conjuncts(condition: Expression) -> Iterator[Expression]:
    """The parts of a conjunction, but for what is always true."""
    for part in parts_of(condition):
        if not (isinstance(part, Literal) and part.value is True):
            yield part
