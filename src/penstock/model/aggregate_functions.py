"""Aggregate functions: which there are, what they take and give, and how they can be computed.

One descriptor a function, read by all who need to know: the binder (spellings, DISTINCT, types),
the optimiser (`holistic`, `invertible_of`), the documentation, whose table is made of them. The
kernel has one implementation for each, under its name (`kernel/aggregates`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from penstock.errors import TypeMismatch
from penstock.model.decimals import avg_type, sum_type
from penstock.model.types import DecimalType, Type


class Takes(Enum):
    """What a function is of."""

    ANY = "anything"
    NUMBER = "a number"
    CONDITION = "a condition"
    ORDERED = "anything that has an order"
    EQUAL = "anything but maps"
    PRINTABLE = "anything but BINARY and what has parts"

    def check(self, function: str, argument: object, given: Type) -> None:
        """Refuse an argument that is none of these."""
        if given is Type.NULL:
            return
        if self is Takes.NUMBER and not given.is_numeric:
            raise TypeMismatch(
                f"{function} needs a number, and `{argument}` is {given}",
                hint=f"write {function}(CAST({argument} AS DOUBLE)) if it holds numbers",
            )
        if self is Takes.CONDITION and given is not Type.BOOLEAN:
            raise TypeMismatch(
                f"{function} needs a condition, and `{argument}` is {given}",
                hint=f"write a comparison: {function}({argument} = …)",
            )
        if given.is_nested and self in (Takes.ORDERED, Takes.PRINTABLE):
            raise TypeMismatch(
                f"{function} needs values that have an order, and `{argument}` is {given}",
                hint=f"take a part of it: {function}({argument}.name) or {function}({argument}[0])",
            )
        if self is Takes.EQUAL and given.has_map:
            raise TypeMismatch(
                f"{function} compares values, and maps are not compared: `{argument}` is {given}",
                hint=f"compare what is in them: {function}({argument}['key'])",
            )
        if self is Takes.PRINTABLE and given is Type.BINARY:
            raise TypeMismatch(
                f"{function} cannot write `{argument}`, which is {given}, as text",
                hint=f"write {function}(CAST({argument} AS STRING)) if it holds text",
            )


class Gives(Enum):
    """The type of a result."""

    COUNT = "BIGINT"
    DOUBLE = "DOUBLE"
    SUM = "BIGINT of integers, DECIMAL of decimals, else DOUBLE"
    AVERAGE = "DECIMAL of decimals, else DOUBLE"
    SAME = "the type of x"
    TEXT = "STRING"  # columns have no list type: several values are JSON text

    def of(self, given: Type) -> Type:
        """The type of a result over values of a type.

        >>> Gives.SUM.of(Type.INT), Gives.SAME.of(Type.DATE)
        (<Type.BIGINT: 'BIGINT'>, <Type.DATE: 'DATE'>)
        """
        if self is Gives.SAME:
            return given
        if isinstance(given, DecimalType) and self in (Gives.SUM, Gives.AVERAGE):
            return sum_type(given) if self is Gives.SUM else avg_type(given)
        if self is Gives.AVERAGE:
            return Type.DOUBLE
        if self is Gives.SUM:
            return Type.BIGINT if given.is_integer else Type.DOUBLE
        return Type[self.value]


class Second(Enum):
    """What stands behind the first argument."""

    NOTHING = "nothing"
    COLUMN = "the column to order by"
    SHARE = "a fraction between 0 and 1"
    COUNT = "how many"


@dataclass(frozen=True)
class Spelling:
    """A name under which a function is called; `example` is one of its second argument.

    `parameters` are those that the name itself stands for: the median is a percentile of 0.5.
    """

    name: str
    second: Second = Second.NOTHING
    example: str = ""
    parameters: tuple[float, ...] = ()

    def call(self, argument: str = "x") -> str:
        """How it is written."""
        return f"{self.name}({argument}{f', {self.example}' if self.example else ''})"


@dataclass(frozen=True)
class AggregateFunction:
    """A function under the name by which it is computed.

    `distinct` is the function that DISTINCT makes of it; None: DISTINCT is refused. `ordered` ones
    go by the rows' event time unless a column is named. What is kept of a group grows with its
    rows if `holistic`, with its different values only if a `set`, and is a table from the first row
    on if a `sketch`. Over the types of `invertible_of`, rows can be taken away again, exactly.
    """

    name: str
    description: str
    takes: Takes
    gives: Gives
    spellings: tuple[Spelling, ...] = ()  # none: only DISTINCT leads to it
    distinct: str | None = None
    ordered: bool = False
    holistic: bool = False
    set: bool = False
    sketch: bool = False
    invertible_of: frozenset[Type] = frozenset()


#: Name, what it takes and gives, how it is computed, what it is. A line that is indented goes on.
_TABLE = """
count                  ANY -> COUNT       -                  the number of rows (`count(*)`), or of
                                                             rows where x is not NULL
count_distinct         EQUAL -> COUNT     holistic, set      the number of different values
approx_count_distinct  EQUAL -> COUNT     sketch             the same within some 2 %, from a sketch
sum                    NUMBER -> SUM      -                  the sum
sum_distinct           NUMBER -> SUM      holistic, set      the sum of the different values
avg                    NUMBER -> AVERAGE  -                  the average
avg_distinct           NUMBER -> AVERAGE  holistic, set      the average of the different values
var_samp               NUMBER -> DOUBLE   -                  the variance, as an estimate from a
                                                             sample
var_pop                NUMBER -> DOUBLE   -                  the variance
stddev_samp            NUMBER -> DOUBLE   -                  the standard deviation, as an estimate
                                                             from a sample
stddev_pop             NUMBER -> DOUBLE   -                  the standard deviation
min                    ORDERED -> SAME    -                  the least
max                    ORDERED -> SAME    -                  the greatest
percentile             NUMBER -> DOUBLE   holistic           the value below which that fraction of
                                                             the values lies (median: 0.5),
                                                             interpolated
approx_percentile      NUMBER -> DOUBLE   sketch             the same within 1 % of the value
min_by                 ORDERED -> SAME    ordered            x where y, or the row's event time,
                                                             is least
max_by                 ORDERED -> SAME    ordered            x where y, or the row's event time,
                                                             is greatest
mode                   ORDERED -> SAME    holistic, set      the most frequent value; among equals,
                                                             the least
bool_and               CONDITION -> SAME  -                  whether x is true in all rows
bool_or                CONDITION -> SAME  -                  whether x is true in some row
collect_list           PRINTABLE -> TEXT  ordered, holistic  all values, in the order of the rows'
                                                             event time
collect_set            PRINTABLE -> TEXT  holistic, set      the different values, sorted
top_k                  PRINTABLE -> TEXT  sketch             the k greatest values, greatest first
heavy_hitters          PRINTABLE -> TEXT  holistic, set      the values that make up at least that
                                                             fraction of the rows, most frequent
                                                             first
"""

#: Where a function is not called by its own name alone; none: only DISTINCT leads to it.
_SPELLINGS = {
    **dict.fromkeys(("count_distinct", "sum_distinct", "avg_distinct"), ()),
    "avg": (Spelling("avg"), Spelling("mean")),
    "var_samp": (Spelling("variance"), Spelling("var_samp")),
    "stddev_samp": (Spelling("stddev"), Spelling("stddev_samp"), Spelling("std")),
    "percentile": (
        Spelling("median", parameters=(0.5,)),
        Spelling("percentile", Second.SHARE, "0.9"),
    ),
    "approx_percentile": (
        Spelling("approx_percentile", Second.SHARE, "0.9"),
        Spelling("percentile_approx", Second.SHARE, "0.9"),
    ),
    "min_by": (
        Spelling("first"),
        Spelling("first_value"),
        Spelling("min_by", Second.COLUMN, "y"),
    ),
    "max_by": (Spelling("last"), Spelling("last_value"), Spelling("max_by", Second.COLUMN, "y")),
    "bool_and": (Spelling("bool_and"), Spelling("every")),
    "bool_or": (Spelling("bool_or"), Spelling("some")),
    "collect_list": (Spelling("collect_list"), Spelling("array_agg")),
    "top_k": (Spelling("top_k", Second.COUNT, "10"),),
    "heavy_hitters": (Spelling("heavy_hitters", Second.SHARE, "0.05"),),
}

_DISTINCT = {
    **{name: f"{name}_distinct" for name in ("count", "sum", "avg")},
    **{name: name for name in ("approx_count_distinct", "min", "max", "bool_and", "bool_or")},
    **dict.fromkeys(("collect_list", "collect_set"), "collect_set"),
}

_BELOW_BIGINT = frozenset({Type.TINYINT, Type.SMALLINT, Type.INT})
_INVERTIBLE_OF = {
    "count": frozenset(Type),
    "sum": _BELOW_BIGINT | {Type.BIGINT},
    # A BIGINT sum can leave 64 bits where the average does not: it is added up as DOUBLE.
    "avg": _BELOW_BIGINT,
}


def _function(row: str) -> AggregateFunction:
    """A row of the table, whose cells are at least two blanks apart."""
    name, types, how, *description = re.split(r"\s{2,}", row)
    takes, gives = types.split(" -> ")
    return AggregateFunction(
        name,
        " ".join(description),
        Takes[takes],
        Gives[gives],
        _SPELLINGS.get(name, (Spelling(name),)),
        _DISTINCT.get(name),
        "ordered" in how,
        "holistic" in how,
        "set" in how,
        "sketch" in how,
        _INVERTIBLE_OF.get(name, frozenset()),
    )


_FUNCTIONS = tuple(map(_function, re.split(r"\n(?=\S)", _TABLE.strip())))

#: Name as computed -> the function.
AGGREGATES = {function.name: function for function in _FUNCTIONS}

#: Name as written -> the function, and how it is called under that name.
SPELLINGS = {
    spelling.name: (function, spelling)
    for function in _FUNCTIONS
    for spelling in function.spellings
}

#: Functions that only DISTINCT leads to -> the one it is written with.
DISTINCT_OF = {
    function.distinct: function.name
    for function in _FUNCTIONS
    if function.distinct is not None and not AGGREGATES[function.distinct].spellings
}
