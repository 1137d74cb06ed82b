"""Expressions of the model, compiled once into Polars expressions that run over whole blocks.

One file per family of functions, each with its *forms*: a form takes compiled arguments, already
brought to the types the function's signature asks for, and gives the compiled result.

    FORMS      form(*arguments)
    BY_TYPE    form(types, *arguments), where the computation depends on the arguments' types

An argument that must be a constant arrives as a Python value, never None. Columns look as
`kernel/types` says: TIMESTAMP and INTERVAL are ticks. Floats compare as in Spark: NaN equals NaN
and is greater than every other number.
"""

from penstock.kernel.expressions.compiler import compile_columns, compile_expression, project

__all__ = ["compile_columns", "compile_expression", "project"]
