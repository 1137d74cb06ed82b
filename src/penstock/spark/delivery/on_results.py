"""Columns that Spark computes of the rows that a query puts out, on their way to the sink."""

from __future__ import annotations

import polars as pl
from pyspark.sql import Column as SparkColumn
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from penstock.errors import PenstockBug
from penstock.kernel.expressions.compiler import compile_columns, compile_expression
from penstock.kernel.types import polars_type
from penstock.model.schema import Column, Schema
from penstock.model.types import Type
from penstock.plan.on_results import OnResults
from penstock.spark.failures import translated
from penstock.spark.sources.sources import in_ticks


def finished(
    spark: SparkSession, rows: pl.DataFrame, schema: Schema, after: OnResults
) -> pl.DataFrame:
    """Result rows of a batch, with what is left to do on them done."""
    if rows.height:
        computed = computed_on(spark, rows, schema, after)
        rows = rows.hstack(computed.select(each.name for each in after.computed))
    else:
        none = (pl.Series(c.name, [], dtype=polars_type(c.type)) for c in after.computed)
        rows = rows.with_columns(none)
    if after.condition is not None and rows.height:
        rows = rows.filter(compile_expression(after.condition))
    return compile_columns(after.columns)(rows)


def computed_on(
    spark: SparkSession, rows: pl.DataFrame, schema: Schema, after: OnResults
) -> pl.DataFrame:
    """The columns that Spark computes, row by row in the same order."""
    given = [_as_spark_reads(column).alias(column.name) for column in schema]
    with translated():
        frame = spark.createDataFrame(rows.select(schema.names).to_arrow()).select(*given)
        values = (F.expr(e.sql).cast(str(e.type)).alias(e.name) for e in after.computed)
        ticks = [in_ticks(Column(each.name, each.type)) for each in after.computed]
        found = pl.from_arrow(frame.select(*values).select(*ticks).toArrow())
    if not isinstance(found, pl.DataFrame) or found.height != rows.height:
        raise PenstockBug("Spark has not computed a value for each result row")
    return found


def _as_spark_reads(column: Column) -> SparkColumn:
    value = F.col(f"`{column.name}`")
    return F.timestamp_micros(value) if column.type is Type.TIMESTAMP else value
