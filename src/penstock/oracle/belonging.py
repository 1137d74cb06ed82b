"""Whether rows belong together, one pair at a time."""

from __future__ import annotations

from typing import Any

from penstock.model.expressions import Call, Expression, Literal
from penstock.model.joins import qualified
from penstock.model.types import Type
from penstock.oracle.expressions import value_of
from penstock.windows import Row


def holds(predicate: Expression | None, row: Row) -> bool:
    """Whether a condition is true: not false, not NULL."""
    return predicate is None or value_of(predicate, row) is True


def equal(mine: Any, my_type: Type, theirs: Any, their_type: Type) -> bool:
    return value_of(Call("=", (Literal(mine, my_type), Literal(theirs, their_type))), {}) is True


def prefixed(name: str, row: Row) -> dict[str, Any]:
    return {qualified(name, column): value for column, value in row.items()}
