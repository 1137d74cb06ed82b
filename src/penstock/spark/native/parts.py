"""Functions that can be computed in parts: of some rows each, and then of those parts.

    function   of rows          of parts         in the end
    count      count            sum of counts    as it is
    sum        sum              sum of sums      as it is
    min, max   min, max         min, max         as it is
    avg        sum and count    sums of both     their quotient
    approx_…   a sketch         their union      its estimate (Spark's HyperLogLog)

Parts of parts are parts again, so panes can be made of rows or of what was folded from rows, and
windows of panes.  Spec: window-queries 4.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F

from penstock.model.aggregates import Aggregate
from penstock.model.types import Type
from penstock.plan.nodes import WindowAggregate
from penstock.spark.native import expressions

#: Registers of a sketch, as a power of two: as many as the kernel's have.
_REGISTERS = 12
#: Spark's types that sketches are made of; the others are taken as INT.
_SKETCHED = {Type.BIGINT: "bigint", Type.STRING: "string"}


@dataclass(frozen=True)
class Part:
    """A column that is kept of some rows, or made of the same of other parts by `merge`."""

    name: str
    type: Type
    of: Column
    merge: Callable[[str], Column]

    @property
    def of_rows(self) -> Column:
        return self.of.alias(self.name)

    @property
    def of_parts(self) -> Column:
        return self.merge(self.name).alias(self.name)


@dataclass(frozen=True)
class Steps:
    """A function as its parts, and what is made of them in the end."""

    parts: Sequence[Part]
    final: Column


def steps_of(node: WindowAggregate) -> list[Steps]:
    """The functions of an aggregate, in their order.

    One that is not computed `in_parts` needs all rows of a window at once, which only a tumbling
    window has: its part is never merged.
    """
    return [_steps(number, result.aggregate) for number, result in enumerate(node.results)]


def _steps(number: int, aggregate: Aggregate) -> Steps:
    name, rest = names(number)
    value = F.lit(1) if aggregate.argument is None else expressions.column(aggregate.argument)
    count = Part(rest, Type.BIGINT, F.count(value), F.sum)
    match aggregate.function:
        case "count":
            return Steps([count], F.col(rest))
        case "avg":
            total = Part(name, Type.DOUBLE, F.sum(value.cast("double")), F.sum)
            return Steps([total, count], F.when(F.col(rest) > 0, F.col(name) / F.col(rest)))
        case "approx_count_distinct":
            distinct = Part(name, Type.BINARY, sketch(aggregate), F.hll_union_agg)
            return Steps([distinct], F.hll_sketch_estimate(name))
    function = getattr(F, aggregate.function)
    part = Part(name, aggregate.type, function(value), function)
    return Steps([part], F.col(name).cast(str(aggregate.type)))


def sketch(aggregate: Aggregate) -> Column:
    """Spark's sketch of distinct values."""
    assert aggregate.argument is not None
    given = aggregate.argument.type
    value = expressions.column(aggregate.argument).cast(_SKETCHED.get(given, "int"))
    if given is Type.STRING:
        value = F.concat(F.lit("="), value)  # an empty text would not count
    return F.hll_sketch_agg(value, _REGISTERS)


def names(number: int) -> tuple[str, str]:
    """What the columns of a function's parts are called: its value, and its count."""
    return f"penstock_{number}", f"penstock_{number}_n"
