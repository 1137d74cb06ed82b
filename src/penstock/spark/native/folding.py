"""Rows folded as they are read: one line for each group and pane of a block.

A file that we read ourselves (`direct_files`) need not cross to Spark row by row. What is below the
aggregate is computed by the kernel's expressions on whole columns, and of each group and pane one
line goes on, with the parts of its functions and its newest time; Spark makes panes and windows of
those as it would of rows. Which window a line belongs to, and whether that is closed already, does
not change: all rows of a line have the same answer to both.

Beside them every block sends a line like a promise, with the newest time of all its rows, however
few a selection leaves over; and with the counts of what was read.

    column             a folded line        the line of a block
    penstock_time      newest in it         newest of the block
    groups, parts      theirs               NULL
    penstock_promise   false                true
    penstock_rows …    NULL                 rows read, rows without a place in time, newest in ticks
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from penstock.kernel.expressions import compile_columns, compile_expression
from penstock.kernel.fit import Fitted
from penstock.kernel.progress.late import split
from penstock.kernel.types import polars_type
from penstock.model.aggregates import Aggregate
from penstock.model.streams import Stream
from penstock.model.timestamps import BEGINNING
from penstock.model.types import Type
from penstock.plan import nodes
from penstock.spark.direct_files import PATH, is_direct, new_files, read_file
from penstock.spark.faults import reach
from penstock.spark.native.parts import FUNCTIONS, SKETCH, names, parts_of
from penstock.spark.native.promises import PROMISE
from penstock.spark.native.sliding import PANE, TIME, pane_length
from penstock.windows import Sliding

ROWS, TIMELESS, NEWEST = "penstock_rows", "penstock_timeless", "penstock_newest"

#: Functions whose parts we can make as well as Spark.
_FOLDED = FUNCTIONS - {SKETCH}

_ARROW_TYPES = {
    Type.BOOLEAN: pa.bool_(),
    Type.TINYINT: pa.int8(),
    Type.SMALLINT: pa.int16(),
    Type.INT: pa.int32(),
    Type.BIGINT: pa.int64(),
    Type.FLOAT: pa.float32(),
    Type.DOUBLE: pa.float64(),
    Type.STRING: pa.string(),
    Type.TIMESTAMP: pa.timestamp("us", "UTC"),
}

Batches = Iterator[pa.RecordBatch]


def source_of(node: nodes.WindowAggregate) -> Stream | None:
    """The stream whose rows can be folded for an aggregate; None: they cannot."""
    below = node.input
    while isinstance(below, nodes.Select | nodes.Project):
        below = below.input
    if not isinstance(below, nodes.Source) or not is_direct(below.stream):
        return None
    aggregates = [result.aggregate for result in node.results]
    types = [node.input.schema[name].type for name in node.groups]
    types += [aggregate.type for aggregate in aggregates]
    can = all(aggregate.function in _FOLDED for aggregate in aggregates)
    return below.stream if can and all(type_ in _ARROW_TYPES for type_ in types) else None


def folded(spark: SparkSession, node: nodes.WindowAggregate, stream: Stream) -> DataFrame:
    """The stream in lines, counted on their way."""
    columns = (
        (TIME, Type.TIMESTAMP),
        *((name, node.input.schema[name].type) for name in node.groups),
        *(column for part in parts_of(node) for column in part.columns),
        (PROMISE, Type.BOOLEAN),
        *((name, Type.BIGINT) for name in (ROWS, TIMELESS, NEWEST)),
    )
    ddl = ", ".join(f"`{name}` {type_}" for name, type_ in columns)
    lines = new_files(spark, stream).mapInArrow(Folder(node, stream, columns), ddl)
    return lines.observe(
        stream.name,
        F.coalesce(F.sum(ROWS), F.lit(0)).alias("rows"),
        F.coalesce(F.sum(TIMELESS), F.lit(0)).alias("timeless"),
        F.max(NEWEST).alias("newest"),
    )


@dataclass(frozen=True)
class Folder:
    """The function that `mapInArrow` runs over the files of a task; lines have `columns`."""

    node: nodes.WindowAggregate
    stream: Stream
    columns: Sequence[tuple[str, Type]]

    def __call__(self, batches: Batches) -> Batches:
        schema = pa.schema([(name, _ARROW_TYPES[type_]) for name, type_ in self.columns])
        reach("fold.begin")
        for batch in batches:
            for path in batch.column(PATH).to_pylist():
                for block in read_file(path, self.stream):
                    lines = self.fold(block).to_arrow(compat_level=pl.CompatLevel.oldest())
                    yield from lines.cast(schema).to_batches()
        reach("fold.over")

    def fold(self, block: Fitted) -> pl.DataFrame:
        """The lines of a block; times are ticks."""
        on = str(self.stream.timestamp)
        read = block.rows.height + (block.misfits.height if block.misfits is not None else 0)
        rows = split(block.rows, on, BEGINNING, None).on_time  # Spark judges lateness by windows
        newest = rows.get_column(on).max()
        told = {TIME: newest, PROMISE: True, ROWS: read, TIMELESS: read - rows.height}
        types = {name: polars_type(type_) for name, type_ in self.columns}
        line = pl.DataFrame({**told, NEWEST: newest}).cast({n: types[n] for n in (*told, NEWEST)})
        return pl.concat([line, self._folded(rows)], how="diagonal").select(list(types))

    def _folded(self, rows: pl.DataFrame) -> pl.DataFrame:
        node, window = self.node, self.node.window
        assert isinstance(window, Sliding)
        for step in _steps(node.input):
            if isinstance(step, nodes.Select):
                rows = rows.filter(compile_expression(step.predicate))
            else:
                rows = compile_columns(step.columns)(rows)
        aggregates = [result.aggregate for result in node.results]
        pane = (pl.col(window.on) - window.origin) // pane_length(window)
        # Arguments become columns first: a constant is one value for each row, not for each group.
        rows = rows.with_columns(
            pane.alias(PANE),
            *(
                compile_expression(aggregate.argument).alias(_argument(number))
                for number, aggregate in enumerate(aggregates)
                if aggregate.argument is not None
            ),
        )
        lines = rows.group_by(*node.groups, PANE).agg(
            pl.col(window.on).max().alias(TIME),
            *(
                column
                for number, aggregate in enumerate(aggregates)
                for column in _of_rows(number, aggregate)
            ),
        )
        return lines.drop(PANE).with_columns(pl.lit(False).alias(PROMISE))


def _steps(node: nodes.Node) -> list[nodes.Select | nodes.Project]:
    """What lies between the stream and the aggregate, in the order of execution."""
    return [*_steps(node.input), node] if isinstance(node, nodes.Select | nodes.Project) else []


def _argument(number: int) -> str:
    return f"penstock_{number}_of"


def _of_rows(number: int, aggregate: Aggregate) -> list[pl.Expr]:
    """What `parts` makes of rows, as Polars expressions: of no value there is no sum."""
    name, rest = names(number)
    if aggregate.argument is None:
        return [pl.len().cast(pl.Int64).alias(rest)]
    value = pl.col(_argument(number))
    count = value.count().cast(pl.Int64).alias(rest)
    match aggregate.function:
        case "count":
            return [count]
        case "sum" | "avg":
            wide = value.cast(polars_type(aggregate.type))
            total = pl.when(value.count() > 0).then(wide.sum()).alias(name)
            return [total, count] if aggregate.function == "avg" else [total]
        case "min":
            return [value.min().alias(name)]
    # As Spark has it, NaN is above all numbers.
    is_float = aggregate.type in (Type.FLOAT, Type.DOUBLE)
    return [(value.nan_max() if is_float else value.max()).alias(name)]
