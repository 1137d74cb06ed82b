"""Comparison and logic with three values.

AND and OR are Kleene's: FALSE AND NULL is FALSE, TRUE OR NULL is TRUE. A condition that is NULL
does not hold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import and_, eq, ge, gt, invert, le, lt, ne, or_

import polars as pl

from penstock.model.types import Type

Form = Callable[..., pl.Expr]

_FLOATS = (Type.FLOAT, Type.DOUBLE)


def comparison(compare: Form, mirrored: Form) -> Form:
    def form(left: pl.Expr, right: pl.Expr) -> pl.Expr:
        # Polars 2.1 loses all rows but one where a constant on the left meets a column of which it
        # knows that all its values are alike, such as a CASE that took one branch throughout.
        if not left.meta.root_names():
            return mirrored(right, left)
        return compare(left, right)

    return form


equal = comparison(eq, eq)
equal_or_both_null = comparison(pl.Expr.eq_missing, pl.Expr.eq_missing)


def is_in(value: pl.Expr, *candidates: pl.Expr) -> pl.Expr:
    """TRUE where one is equal, else NULL where it could be, else FALSE."""
    return pl.any_horizontal([equal(value, candidate) for candidate in candidates])


def is_in_constants(value: pl.Expr, candidates: pl.Series) -> pl.Expr:
    """The same for candidates that are neither columns nor NULL nor floats, by looking them up."""
    return value.is_in(candidates.implode())


def if_(condition: pl.Expr, yes: pl.Expr, no: pl.Expr) -> pl.Expr:
    return pl.when(condition).then(yes).otherwise(no)


def nullif(value: pl.Expr, other: pl.Expr) -> pl.Expr:
    return pl.when(equal(value, other)).then(None).otherwise(value)


def greatest(types: Sequence[Type], *values: pl.Expr) -> pl.Expr:
    most = pl.max_horizontal(*values)
    if types[0] not in _FLOATS:
        return most
    # Polars passes over NaN, which is the greatest number here.
    any_nan = pl.any_horizontal([value.is_nan().fill_null(False) for value in values])
    return pl.when(any_nan).then(float("nan")).otherwise(most)


FORMS: dict[str, Form] = {
    "=": equal,
    "<>": comparison(ne, ne),
    "<": comparison(lt, gt),
    "<=": comparison(le, ge),
    ">": comparison(gt, lt),
    ">=": comparison(ge, le),
    "<=>": equal_or_both_null,
    "in": is_in,
    "and": and_,
    "or": or_,
    "not": invert,
    "is_null": lambda value: value.is_null(),
    "is_not_null": lambda value: value.is_not_null(),
    "coalesce": pl.coalesce,
    "nullif": nullif,
    "if": if_,
    "least": pl.min_horizontal,
}

BY_TYPE: dict[str, Form] = {"greatest": greatest}
