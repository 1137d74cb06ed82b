"""Columns that Spark computes of the rows that a query puts out, on their way to the sink."""

from __future__ import annotations

import polars as pl
import pyarrow as pa
from pyspark.sql import SparkSession

from penstock.errors import PenstockBug
from penstock.kernel.expressions.compiler import compile_columns, compile_expression
from penstock.kernel.types import arrow_type, polars_type
from penstock.model.schema import Column, Schema
from penstock.model.spark_sql import quoted
from penstock.plan.on_results import OnResults
from penstock.spark.failures import translated
from penstock.spark.sources.computed_columns import with_columns
from penstock.spark.sources.sources import in_ticks
from penstock.spark.types import ddl


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
    with translated():
        frame = spark.createDataFrame(_as_spark_reads(rows, schema), _ddl(schema))
        ticks = [in_ticks(Column(each.name, each.type)) for each in after.computed]
        found = pl.from_arrow(with_columns(frame, after.computed).select(*ticks).toArrow())
    if not isinstance(found, pl.DataFrame) or found.height != rows.height:
        raise PenstockBug("Spark has not computed a value for each result row")
    return found.cast({each.name: polars_type(each.type) for each in after.computed})


def _as_spark_reads(rows: pl.DataFrame, schema: Schema) -> pa.Table:
    """Rows with points in time that say so, also within arrays, maps and structs."""
    ticks = rows.select(schema.names).to_arrow(compat_level=pl.CompatLevel.oldest())
    columns = [
        column.combine_chunks().cast(arrow_type(of.type))
        for of, column in zip(schema, ticks.columns, strict=True)
    ]
    return pa.Table.from_arrays(columns, names=list(schema.names))


def _ddl(schema: Schema) -> str:
    return ", ".join(f"{quoted(column.name)} {ddl(column.type)}" for column in schema)
