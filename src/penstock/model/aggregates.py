"""Aggregate calls: which there are, what they take, what they give.

`count(*)` has no argument. All others skip NULLs and give NULL where nothing is left, except
`count`, which gives 0. How they are computed stands in `kernel/aggregates`.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.errors import TypeMismatch, UnknownName
from penstock.model.expressions import Expression
from penstock.model.schema import suggest
from penstock.model.types import Type

#: Name as written -> name as computed.
AGGREGATES = {
    "count": "count",
    "sum": "sum",
    "min": "min",
    "max": "max",
    "avg": "avg",
    "mean": "avg",
    "variance": "var_samp",
    "var_samp": "var_samp",
    "var_pop": "var_pop",
    "stddev": "stddev_samp",
    "stddev_samp": "stddev_samp",
    "stddev_pop": "stddev_pop",
    "std": "stddev_samp",
}

_NUMERIC_ONLY = {"sum", "avg", "var_samp", "var_pop", "stddev_samp", "stddev_pop"}


@dataclass(frozen=True)
class Aggregate:
    """One aggregate function over one expression (None: over rows, as in `count(*)`)."""

    function: str
    argument: Expression | None = None

    def __post_init__(self) -> None:
        if self.function not in set(AGGREGATES.values()):
            raise UnknownName(
                f"no aggregate `{self.function}`", hint=suggest(self.function, AGGREGATES)
            )
        if self.argument is None:
            if self.function != "count":
                raise TypeMismatch(f"{self.function}(*) means nothing", hint="name a column")
            return
        given = self.argument.type
        if self.function in _NUMERIC_ONLY and not (given.is_numeric or given is Type.NULL):
            raise TypeMismatch(
                f"{self.function} needs a number, and `{self.argument}` is {given}",
                hint=f"write {self.function}(CAST({self.argument} AS DOUBLE)) if it holds numbers",
            )

    @property
    def type(self) -> Type:
        if self.function == "count":
            return Type.BIGINT
        assert self.argument is not None
        given = self.argument.type
        if self.function in ("min", "max"):
            return given
        if self.function == "sum":
            return Type.BIGINT if given.is_integer else Type.DOUBLE
        return Type.DOUBLE

    def __str__(self) -> str:
        return f"{self.function}({'*' if self.argument is None else self.argument})"
