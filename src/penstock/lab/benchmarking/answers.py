"""Whether two answers are equal, and if not, where they differ.

Answers are tables (Polars or Arrow) or plain values. Tables are sets of rows: the order of rows
and columns does not count. Floats may differ in the last digits, because sums depend on the order
of adding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

TOLERANCE = 1e-9  # relative


def difference(ours: Any, rival: Any) -> str | None:
    """The first difference between two answers, in a few words; None if they are equal.

    >>> difference({"rows": 3}, {"rows": 3})
    >>> difference(3, 4)
    "3, the rival's 4"
    """
    our_table, rival_table = as_table(ours), as_table(rival)
    if our_table is not None and rival_table is not None:
        return difference_of_tables(our_table, rival_table)
    if our_table is not None or rival_table is not None:
        return f"a {type(ours).__name__}, the rival's a {type(rival).__name__}"
    return None if ours == rival else f"{ours!r}, the rival's {rival!r}"


def as_table(answer: Any) -> pl.DataFrame | None:
    """The answer as a Polars table, if it is a table at all."""
    import polars as pl
    import pyarrow as pa

    return pl.DataFrame(answer) if isinstance(answer, pl.DataFrame | pa.Table) else None


def difference_of_tables(ours: pl.DataFrame, rival: pl.DataFrame) -> str | None:
    if set(ours.columns) != set(rival.columns):
        return f"columns {', '.join(ours.columns)}; the rival's {', '.join(rival.columns)}"
    if ours.height != rival.height:
        return f"{ours.height} rows, the rival's {rival.height}"
    order = sort_order(ours)
    ours, rival = ours.sort(order), rival.sort(order)
    for name in ours.columns:
        place = first_difference(ours[name], rival[name])
        if place is not None:
            return f"row {ours.row(place, named=True)}, the rival's {rival.row(place, named=True)}"
    return None


def sort_order(table: pl.DataFrame) -> list[str]:
    """Columns that put equal tables into the same order.

    Floats come last: two that differ in the last digit would sort their rows differently.
    """
    flat = [name for name, type_ in table.schema.items() if not type_.is_nested()]
    return sorted(flat, key=lambda name: (table.schema[name].is_float(), name))


def first_difference(ours: pl.Series, rival: pl.Series) -> int | None:
    """Index of the first row whose values differ."""
    import polars as pl

    if ours.dtype.is_numeric() != rival.dtype.is_numeric():
        return 0 if len(ours) else None
    equal = ours.eq_missing(rival)
    if ours.dtype.is_float() or rival.dtype.is_float():
        a, b = ours.cast(pl.Float64), rival.cast(pl.Float64)
        near = (a - b).abs() <= TOLERANCE * a.abs().clip(lower_bound=b.abs())
        equal = equal | (near & a.is_finite() & b.is_finite()).fill_null(False)
    place = equal.not_().arg_max()
    return None if place is None or equal[place] else place
