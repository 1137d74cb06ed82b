"""Aggregate functions: which there are, what they take and give, and how they can be computed.

One descriptor a function, read by all who need to know: the binder (spellings, DISTINCT, types),
the optimiser (`holistic`, `invertible_of`), the native lowering (`native`), the documentation,
whose table is made of them. The kernel has one implementation for each, under its name
(`kernel/aggregates`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from penstock.errors import TypeMismatch
from penstock.model.types import Type


class Takes(Enum):
    """What a function is of."""

    ANY = "anything"
    NUMBER = "a number"
    CONDITION = "a condition"
    PRINTABLE = "anything but BINARY"

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
        if self is Takes.PRINTABLE and given is Type.BINARY:
            raise TypeMismatch(
                f"{function} cannot write `{argument}`, which is {given}, as text",
                hint=f"write {function}(CAST({argument} AS STRING)) if it holds text",
            )


class Gives(Enum):
    """The type of a result."""

    COUNT = "BIGINT"
    DOUBLE = "DOUBLE"
    SUM = "BIGINT of integers, else DOUBLE"
    SAME = "the type of x"
    TEXT = "STRING"  # columns have no list type: several values are JSON text

    def of(self, given: Type) -> Type:
        """The type of a result over values of a type.

        >>> Gives.SUM.of(Type.INT), Gives.SAME.of(Type.DATE)
        (<Type.BIGINT: 'BIGINT'>, <Type.DATE: 'DATE'>)
        """
        if self is Gives.SAME:
            return given
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
class SparkForm:
    """A function as Spark SQL computes it.

    `in_parts`: also of parts of the rows, and so in sliding windows. `folded`: whoever reads the
    rows can make these parts, too. `of`: of which types.
    """

    in_parts: bool = True
    folded: bool = True
    of: frozenset[Type] = frozenset(Type)


@dataclass(frozen=True)
class AggregateFunction:
    """A function under the name by which it is computed.

    `distinct` is the function that DISTINCT makes of it; None: DISTINCT is refused. `ordered` ones
    go by the window's attribute unless a column is named. What is kept of a group grows with its
    rows if `holistic`. Over the types of `invertible_of`, rows can be taken away again, exactly.
    """

    name: str
    description: str
    takes: Takes
    gives: Gives
    spellings: tuple[Spelling, ...] = ()  # none: only DISTINCT leads to it
    distinct: str | None = None
    ordered: bool = False
    holistic: bool = False
    invertible_of: frozenset[Type] = frozenset()
    native: SparkForm | None = None


def _called(*names: str) -> tuple[Spelling, ...]:
    return tuple(map(Spelling, names))


_ANY, _NUMBER, _CONDITION, _PRINTABLE = Takes
_COUNT, _DOUBLE, _SUM, _SAME, _TEXT = Gives
_function = AggregateFunction

_BELOW_BIGINT = frozenset({Type.TINYINT, Type.SMALLINT, Type.INT})
_OF_TUMBLING = SparkForm(in_parts=False, folded=False)
#: Spark has sketches of these.
_SKETCH = SparkForm(folded=False, of=_BELOW_BIGINT | {Type.BOOLEAN, Type.BIGINT, Type.STRING})

_FUNCTIONS = (
    _function(
        *("count", "the number of rows (`count(*)`), or of rows where x is not NULL", _ANY, _COUNT),
        _called("count"),
        distinct="count_distinct",
        invertible_of=frozenset(Type),
        native=SparkForm(),
    ),
    _function("count_distinct", "the number of different values", _ANY, _COUNT, holistic=True),
    _function(
        "approx_count_distinct",
        "the same within some 2 %, from a sketch (natively from Spark's own)",
        *(_ANY, _COUNT, _called("approx_count_distinct")),
        distinct="approx_count_distinct",
        native=_SKETCH,
    ),
    _function(
        *("sum", "the sum", _NUMBER, _SUM, _called("sum")),
        distinct="sum_distinct",
        invertible_of=_BELOW_BIGINT | {Type.BIGINT},
        native=SparkForm(),
    ),
    _function("sum_distinct", "the sum of the different values", _NUMBER, _SUM, holistic=True),
    _function(
        *("avg", "the average", _NUMBER, _DOUBLE, _called("avg", "mean")),
        distinct="avg_distinct",
        # A BIGINT sum can leave 64 bits where the average does not: it is added up as DOUBLE.
        invertible_of=_BELOW_BIGINT,
        native=SparkForm(),
    ),
    _function(
        *("avg_distinct", "the average of the different values", _NUMBER, _DOUBLE), holistic=True
    ),
    _function(
        *("var_samp", "the variance, as an estimate from a sample", _NUMBER, _DOUBLE),
        _called("variance", "var_samp"),
        native=_OF_TUMBLING,
    ),
    _function(
        *("var_pop", "the variance", _NUMBER, _DOUBLE, _called("var_pop")), native=_OF_TUMBLING
    ),
    _function(
        "stddev_samp",
        "the standard deviation, as an estimate from a sample",
        *(_NUMBER, _DOUBLE, _called("stddev", "stddev_samp", "std")),
        native=_OF_TUMBLING,
    ),
    _function(
        *("stddev_pop", "the standard deviation", _NUMBER, _DOUBLE, _called("stddev_pop")),
        native=_OF_TUMBLING,
    ),
    _function(
        *("min", "the least", _ANY, _SAME, _called("min")), distinct="min", native=SparkForm()
    ),
    _function(
        *("max", "the greatest", _ANY, _SAME, _called("max")), distinct="max", native=SparkForm()
    ),
    _function(
        "percentile",
        "the value below which that fraction of the values lies (median: 0.5), interpolated",
        *(_NUMBER, _DOUBLE),
        (Spelling("median", parameters=(0.5,)), Spelling("percentile", Second.SHARE, "0.9")),
        holistic=True,
    ),
    _function(
        *("approx_percentile", "the same within 1 % of the value", _NUMBER, _DOUBLE),
        (
            Spelling("approx_percentile", Second.SHARE, "0.9"),
            Spelling("percentile_approx", Second.SHARE, "0.9"),
        ),
    ),
    _function(
        *("min_by", "x where y, or the window's attribute, is least", _ANY, _SAME),
        (*_called("first", "first_value"), Spelling("min_by", Second.COLUMN, "y")),
        ordered=True,
    ),
    _function(
        *("max_by", "x where y, or the window's attribute, is greatest", _ANY, _SAME),
        (*_called("last", "last_value"), Spelling("max_by", Second.COLUMN, "y")),
        ordered=True,
    ),
    _function(
        *("mode", "the most frequent value; among equals, the least", _ANY, _SAME, _called("mode")),
        holistic=True,
    ),
    _function(
        *(
            "bool_and",
            "whether x is true in all rows",
            _CONDITION,
            _SAME,
            _called("bool_and", "every"),
        ),
        distinct="bool_and",
    ),
    _function(
        *(
            "bool_or",
            "whether x is true in some row",
            _CONDITION,
            _SAME,
            _called("bool_or", "some"),
        ),
        distinct="bool_or",
    ),
    _function(
        *("collect_list", "all values, in the order of the window's attribute", _PRINTABLE, _TEXT),
        _called("collect_list", "array_agg"),
        distinct="collect_set",
        ordered=True,
        holistic=True,
    ),
    _function(
        *("collect_set", "the different values, sorted", _PRINTABLE, _TEXT),
        _called("collect_set"),
        distinct="collect_set",
        holistic=True,
    ),
    _function(
        *("top_k", "the k greatest values, greatest first", _PRINTABLE, _TEXT),
        (Spelling("top_k", Second.COUNT, "10"),),
    ),
    _function(
        "heavy_hitters",
        "the values that make up at least that fraction of the rows, most frequent first",
        *(_PRINTABLE, _TEXT),
        (Spelling("heavy_hitters", Second.SHARE, "0.05"),),
        holistic=True,
    ),
)

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
