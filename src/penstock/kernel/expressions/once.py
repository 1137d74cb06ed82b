"""Every argument is computed once, however often the form of a function mentions it.

A Polars expression is a tree: an argument mentioned three times is computed three times, and nine
times if the same happens one level further in. So where a form mentions a computed argument more
than once, the arguments become columns first and the form runs on those.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import polars as pl


def apply(
    form: Callable[..., pl.Expr], args: Sequence[Any], computed: Sequence[bool], dtype: pl.DataType
) -> pl.Expr:
    """`form(*args)`; `computed` tells for each argument whether it is more than a plain column."""
    if not any(computed):
        return form(*args)
    names = {n: str(n) for n, arg in enumerate(args) if _varies(arg)}
    placed = form(*(pl.col(names[n]) if n in names else arg for n, arg in enumerate(args)))
    mentions = Counter(placed.meta.root_names())
    if not any(computed[n] and mentions[name] > 1 for n, name in names.items()):
        return form(*args)

    def over(columns: Sequence[pl.Series]) -> pl.Series:
        named = zip(names.values(), columns, strict=True)
        rows = pl.DataFrame([column.alias(name) for name, column in named])
        return rows.select(placed.alias("result")).to_series()

    return pl.map_batches([args[n] for n in names], over, return_dtype=dtype)


def _varies(arg: Any) -> bool:
    """Whether it depends on the row: constants stay where they are."""
    return isinstance(arg, pl.Expr) and bool(arg.meta.root_names())
