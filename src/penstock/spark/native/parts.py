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

from collections.abc import Sequence
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
class Parts:
    """One function in steps, as Spark columns; `columns` are the names and types of a part.

    Without `of_parts` it needs all rows of a window at once, which only a tumbling window has.
    """

    columns: Sequence[tuple[str, Type]]
    of_rows: Sequence[Column]
    of_parts: Sequence[Column]
    final: Column


def parts_of(node: WindowAggregate) -> list[Parts]:
    """The functions of an aggregate, in their order."""
    return [parts(number, result.aggregate) for number, result in enumerate(node.results)]


def parts(number: int, aggregate: Aggregate) -> Parts:
    name, rest = names(number)
    value = F.lit(1) if aggregate.argument is None else expressions.column(aggregate.argument)
    counted = (F.count(value).alias(rest), F.sum(rest).alias(rest))
    match aggregate.function:
        case "count":
            return Parts([(rest, Type.BIGINT)], [counted[0]], [counted[1]], F.col(rest))
        case "avg":
            total = F.sum(value.cast("double")).alias(name)
            return Parts(
                [(name, Type.DOUBLE), (rest, Type.BIGINT)],
                [total, counted[0]],
                [F.sum(name).alias(name), counted[1]],
                F.when(F.col(rest) > 0, F.col(name) / F.col(rest)),
            )
        case "approx_count_distinct":
            return Parts(
                [(name, Type.BINARY)],
                [sketch(aggregate).alias(name)],
                [F.hll_union_agg(name).alias(name)],
                F.hll_sketch_estimate(name),
            )
    function, form = getattr(F, aggregate.function), aggregate.definition.native
    return Parts(
        [(name, aggregate.type)],
        [function(value).alias(name)],
        [function(name).alias(name)] if form is not None and form.in_parts else [],
        F.col(name).cast(str(aggregate.type)),
    )


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
