"""Aggregate calls: which there are, what they take, what they give.

`count(*)` has no argument. All others skip NULLs and give NULL where nothing is left, except
counts, which give 0, and lists, which are empty. How they are computed stands in
`kernel/aggregates`.

Columns have no list type: functions that give several values give them as JSON text.
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
    "bool_and": "bool_and",
    "every": "bool_and",
    "bool_or": "bool_or",
    "some": "bool_or",
    "approx_count_distinct": "approx_count_distinct",
    "median": "percentile",
    "percentile": "percentile",
    "approx_percentile": "approx_percentile",
    "percentile_approx": "approx_percentile",
    "first": "min_by",
    "first_value": "min_by",
    "last": "max_by",
    "last_value": "max_by",
    "min_by": "min_by",
    "max_by": "max_by",
    "collect_list": "collect_list",
    "array_agg": "collect_list",
    "collect_set": "collect_set",
    "top_k": "top_k",
    "mode": "mode",
    "heavy_hitters": "heavy_hitters",
}

#: Written with DISTINCT -> name as computed. For the others DISTINCT changes nothing.
DISTINCT = {
    "count": "count_distinct",
    "sum": "sum_distinct",
    "avg": "avg_distinct",
    "collect_list": "collect_set",
    "min": "min",
    "max": "max",
    "collect_set": "collect_set",
    "approx_count_distinct": "approx_count_distinct",
    "bool_and": "bool_and",
    "bool_or": "bool_or",
}

#: Functions that come in the order of the window's attribute where they are not told another.
PLACED = frozenset({"min_by", "max_by", "collect_list"})

_COMPUTED = frozenset({*AGGREGATES.values(), *DISTINCT.values()})
_NUMBERS = frozenset(
    {"sum", "avg", "var_samp", "var_pop", "stddev_samp", "stddev_pop", "percentile"}
    | {"approx_percentile", "sum_distinct", "avg_distinct"}
)
_COUNTS = frozenset({"count", "count_distinct", "approx_count_distinct"})
_TEXTS = frozenset({"collect_list", "collect_set", "top_k", "heavy_hitters"})
_SAME = frozenset({"min", "max", "min_by", "max_by", "mode", "bool_and", "bool_or"})


@dataclass(frozen=True)
class Aggregate:
    """One aggregate function over one expression (None: over rows, as in `count(*)`).

    `by` is what a function that looks at the order of rows orders them by.
    """

    function: str
    argument: Expression | None = None
    by: Expression | None = None
    parameters: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if self.function not in _COMPUTED:
            raise UnknownName(
                f"no aggregate `{self.function}`", hint=suggest(self.function, AGGREGATES)
            )
        if self.argument is None:
            if self.function != "count":
                raise TypeMismatch(f"{self.function}(*) means nothing", hint="name a column")
            return
        given = self.argument.type
        if self.function in _NUMBERS and not (given.is_numeric or given is Type.NULL):
            raise TypeMismatch(
                f"{self.function} needs a number, and `{self.argument}` is {given}",
                hint=f"write {self.function}(CAST({self.argument} AS DOUBLE)) if it holds numbers",
            )
        if self.function in ("bool_and", "bool_or") and given not in (Type.BOOLEAN, Type.NULL):
            raise TypeMismatch(
                f"{self.function} needs a condition, and `{self.argument}` is {given}",
                hint=f"write a comparison: {self.function}({self.argument} = …)",
            )
        if self.function in _TEXTS and given is Type.BINARY:
            raise TypeMismatch(
                f"{self.function} cannot write `{self.argument}`, which is {given}, as text",
                hint=f"write {self.function}(CAST({self.argument} AS STRING)) if it holds text",
            )

    @property
    def type(self) -> Type:
        if self.function in _COUNTS:
            return Type.BIGINT
        assert self.argument is not None
        given = self.argument.type
        if self.function in _SAME:
            return given
        if self.function in _TEXTS:
            return Type.STRING
        if self.function in ("sum", "sum_distinct"):
            return Type.BIGINT if given.is_integer else Type.DOUBLE
        return Type.DOUBLE

    @property
    def is_holistic(self) -> bool:
        """Whether what has to be kept of a group grows with its rows."""
        return self.function in (
            *("count_distinct", "sum_distinct", "avg_distinct", "percentile"),
            *("collect_list", "collect_set", "mode", "heavy_hitters"),
        )

    @property
    def refs(self) -> frozenset[str]:
        """The columns that are read."""
        read = (expression for expression in (self.argument, self.by) if expression is not None)
        return frozenset(name for expression in read for name in expression.refs)

    def __str__(self) -> str:
        if self.argument is None:
            return f"{self.function}(*)"
        function, distinct, end = self.function.partition("_distinct")
        if (
            distinct
            and not end
            and self.function in DISTINCT.values()
            and function != "approx_count"
        ):
            return f"{function}(DISTINCT {self.argument})"
        others = ([] if self.by is None else [str(self.by)]) + [f"{p:g}" for p in self.parameters]
        return f"{self.function}({', '.join([str(self.argument), *others])})"
