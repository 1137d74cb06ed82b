"""Patterns of punctuation: what they may say, which rows they match, and which are late by them.

Bounds on single groups may be many, one per key. Those about constants of the same attributes
are looked up by a join, all at once; ranges are compared one by one.  Spec: window-queries 1.2.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import and_

import polars as pl

from penstock.kernel.conform import conform_values
from penstock.model.punctuation import Pattern, Where
from penstock.model.schema import Schema

_BOUND = "__bound"


def conformed(where: Where, schema: Schema) -> Where:
    """A pattern with values of its columns' types; ValueError if one is none: it matches nothing.

    >>> from penstock.model.schema import Column
    >>> from penstock.model.types import Type
    >>> conformed((("k", ("7",)),), Schema((Column("k", Type.INT),)))
    (('k', (7,)),)
    """
    found = []
    for column, pattern in where:
        of, rows = schema[column].type, f"for rows whose `{column}` is"
        if len(pattern) not in (1, 2):
            raise ValueError(f"{rows} {pattern!r}: these are {len(pattern)} values")
        # Bounds of times are ticks, and so are those in the data.
        is_tick = of.is_time and all(isinstance(each, int | None) for each in pattern)
        values = tuple(pattern if is_tick else conform_values(list(pattern), of).to_list())
        for given, value in zip(pattern, values, strict=True):
            if value is None and (given is not None or len(pattern) == 1):
                raise ValueError(f"{rows} {given!r}: that is not a valid {of}")
        found.append((column, values))
    return tuple(found)


def matching(where: Where) -> pl.Expr:
    """Whether a row is meant; a NULL matches no pattern."""
    return reduce(and_, (_matches(pl.col(name), pattern) for name, pattern in where))


def _matches(column: pl.Expr, pattern: Pattern) -> pl.Expr:
    if len(pattern) == 1:
        equal: pl.Expr = column == pattern[0]
        return equal.fill_null(False)
    low, high = pattern
    above: pl.Expr = column >= low if low is not None else column.is_not_null()
    return (above if high is None else above & (column < high)).fill_null(False)


def below(rows: pl.DataFrame, on: str, patterns: Iterable[tuple[Where, int]]) -> pl.Series:
    """Whether each row lies below the bound of a pattern that it matches."""
    constants: dict[tuple[str, ...], list[tuple[object, ...]]] = {}
    found: pl.Series = pl.Series([False]).new_from_index(0, rows.height)
    for where, bound in patterns:
        if all(len(pattern) == 1 for _, pattern in where):
            key = tuple(name for name, _ in where)
            constants.setdefault(key, []).append((*(p[0] for _, p in where), bound))
        else:
            found = found | rows.select((matching(where) & (pl.col(on) < bound)).alias("x"))["x"]
    for names, keys in constants.items():
        schema = {**{name: rows.schema[name] for name in names}, _BOUND: pl.Int64()}
        bounds = pl.DataFrame(keys, schema=schema, orient="row")
        met = rows.select(*names, on).join(bounds, on=names, how="left", maintain_order="left")
        found = found | (met[on] < met[_BOUND]).fill_null(False)
    return found
