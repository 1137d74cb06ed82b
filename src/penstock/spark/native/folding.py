"""Rows folded as they are read: one line for each group and pane of a block.

A file that we read ourselves (`direct_files`) need not cross to Spark row by row. What is below the
aggregate is computed by the kernel's expressions on whole columns, and of each group and pane one
line goes on, with the parts of its functions and its newest time; Spark makes panes and windows of
those as it would of rows. Which window a line belongs to, and whether that is closed already, does
not change: all rows of a line have the same answer to both.

Which rows go in at all is judged here as well, as in the kernel: late ones, malformed
ones and those without a time go into `books`, to be counted and looked at.

Punctuation from outside comes through here too, because it raises the bound of later batches. And
every block sends a line like it, with its newest time, however few rows a selection leaves.

    column                 a folded line        punctuation, blocks
    penstock_time          newest in it         theirs
    groups, parts          theirs               NULL
    penstock_punctuation   false                true
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from penstock.kernel.conform import Conformed, timeless_as_text
from penstock.kernel.expressions import compile_columns, compile_expression
from penstock.kernel.progress.late import split
from penstock.kernel.rejected import Reason
from penstock.kernel.types import polars_type
from penstock.model.aggregates import Aggregate
from penstock.model.streams import Stream
from penstock.model.types import Type
from penstock.plan import nodes
from penstock.spark.faults import reach
from penstock.spark.native.books import Books, Note
from penstock.spark.native.parts import names, steps_of
from penstock.spark.native.sliding import PANE, pane_length
from penstock.spark.native.times import FIRST, SHIFT, TIME, spoken
from penstock.spark.native.watermark import PUNCTUATION, watermarked
from penstock.spark.sources.direct_files import PATH, is_direct, new_files, read_file
from penstock.spark.worker import leave_out_modules
from penstock.windows import Sliding

#: A bound from outside, where a file has its path.
BOUND = "penstock_bound"

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
    if any(aggregate.user is not None for aggregate in aggregates):
        return None
    forms = [aggregate.definition.native for aggregate in aggregates]
    can = all(form is not None and form.folded for form in forms)
    return below.stream if can and all(type_ in _ARROW_TYPES for type_ in types) else None


def folded(
    spark: SparkSession,
    node: nodes.WindowAggregate,
    stream: Stream,
    bounds: DataFrame,
    books: Books,
) -> DataFrame:
    """The stream in lines, with Spark's watermark; `bounds` has one column, `bound`."""
    columns = (
        (TIME, Type.TIMESTAMP),
        *((name, node.input.schema[name].type) for name in node.groups),
        *((part.name, part.type) for each in steps_of(node) for part in each.parts),
        (PUNCTUATION, Type.BOOLEAN),
    )
    ddl = ", ".join(f"`{name}` {type_}" for name, type_ in columns)
    # Punctuation comes first: Spark looks for it before it looks for new files.
    both = bounds.withColumnRenamed("bound", BOUND).unionByName(
        new_files(spark, stream), allowMissingColumns=True
    )
    assert stream.slack is not None
    return watermarked(both.mapInArrow(Folder(node, stream, columns, books), ddl), stream.slack)


@dataclass(frozen=True)
class Folder:
    """The function that `mapInArrow` runs over the files of a task; lines have `columns`."""

    node: nodes.WindowAggregate
    stream: Stream
    columns: Sequence[tuple[str, Type]]
    books: Books

    def __call__(self, batches: Batches) -> Batches:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        leave_out_modules()
        number = int(str(context.getLocalProperty("streaming.sql.batchId")))
        yield from self.run(batches, number, context.partitionId())

    def run(self, batches: Batches, number: int, task: int) -> Batches:
        """The lines of one task of a micro-batch; what else there is to say goes into the books."""
        schema = pa.schema([(name, _ARROW_TYPES[type_]) for name, type_ in self.columns])
        reach("fold.begin")
        bound, note = self.books.before(number).bound, Note()
        for batch in batches:
            for given in batch.to_pylist():
                for lines in self._lines(given[PATH], given[BOUND], bound, note):
                    table = lines.to_arrow(compat_level=pl.CompatLevel.oldest())
                    yield from table.cast(schema).to_batches()
        if note != Note():
            self.books.write(number, task, note)
        reach("fold.over")

    def _lines(
        self, path: str | None, given: int | None, bound: int, note: Note
    ) -> Iterator[pl.DataFrame]:
        """The line of a bound given from outside, or those of a file, block by block."""
        if given is not None:
            note.bound = max(note.bound, given)
            assert self.stream.slack is not None
            yield self._punctuation(spoken(given, self.stream.slack))
        elif path is not None:
            for block in read_file(path, self.stream):
                yield self.fold(block, bound, note)

    def fold(self, block: Conformed, bound: int, note: Note) -> pl.DataFrame:
        """The lines of a block; rows below `bound` are late."""
        on = str(self.stream.timestamp)
        note.rows += block.rows.height
        if block.rejected is not None:
            note.rows += block.rejected.height
            note.reject(Reason.MALFORMED, block.rejected)
        parts = split(block.rows, on, bound, None)
        note.reject(Reason.MALFORMED, timeless_as_text(self.stream, parts.timeless))
        note.reject(Reason.LATE, parts.late)
        rows = parts.on_time
        too_early = rows.get_column(on) < FIRST
        if too_early.any():
            note.reject(Reason.MALFORMED, timeless_as_text(self.stream, rows.filter(too_early)))
            rows = rows.filter(~too_early)
        newest = rows.get_column(on).max()
        if not isinstance(newest, int):
            return self._punctuation(None).clear()
        note.newest = max(note.newest, newest)
        line = self._punctuation(newest + SHIFT)
        return pl.concat([line, self._folded(rows)], how="diagonal").select(line.columns)

    def _punctuation(self, time: int | None) -> pl.DataFrame:
        """A line that tells Spark how far the stream has come."""
        types = {name: polars_type(type_) for name, type_ in self.columns}
        told = {**dict.fromkeys(types), TIME: time, PUNCTUATION: True}
        return pl.DataFrame({name: [value] for name, value in told.items()}, schema=types)

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
            (pl.col(window.on).max() + SHIFT).alias(TIME),
            *(
                column
                for number, aggregate in enumerate(aggregates)
                for column in _of_rows(number, aggregate)
            ),
        )
        return lines.drop(PANE).with_columns(pl.lit(False).alias(PUNCTUATION))


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
