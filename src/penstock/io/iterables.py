"""Python iterables as streams: whatever holds or makes rows, in the shape that `conform` takes.

An item is a row (a dict, or a tuple in the order of the columns) or a table of rows (Polars,
pandas, Arrow). What rows come from decides what happens when they are read again, after the
first `skip` of them:

    a table, a list, a tuple    begins anew, so the first `skip` rows are passed over
    a function                  is called with `skip`, and gives the rows behind them
    any other iterable          goes on by itself: it must continue behind them
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import polars as pl

from penstock.errors import HostError, MalformedRow, PenstockError
from penstock.kernel.conform import Rows
from penstock.model.streams import Stream

#: Where the rows of a stream come from.
Supply: TypeAlias = Iterable[Any] | Callable[[int], Iterable[Any]]

FORMAT = "iterable"


def rows_of(stream: Stream, supply: Any, skip: int) -> Iterator[Rows]:
    """The rows behind the first `skip`, as they come: tables, or lists of one row."""
    try:
        for item in _items(supply, skip):
            yield rows_in(stream, item)
    except PenstockError:
        raise
    except Exception as cause:  # the program's own code may raise anything
        raise HostError(
            f"reading the rows of stream `{stream.name}` failed: {type(cause).__name__}: {cause}",
            hint="earlier rows are processed; with a checkpoint, a restart continues after them",
        ) from cause


def _items(supply: Any, skip: int) -> Iterator[Any]:
    if is_table(supply):
        return _behind([supply], skip)
    if isinstance(supply, list | tuple):
        return _behind(supply, skip)
    return iter(supply if isinstance(supply, Iterable) else supply(skip))


def is_table(item: Any) -> bool:
    """Whether it is a table by what all of them can do."""
    return any(hasattr(item, way) for way in ("__arrow_c_stream__", "__arrow_c_array__"))


def rows_in(stream: Stream, item: Any) -> Rows:
    """An item as a table, or as a list of one row."""
    if isinstance(item, Mapping):
        return [item]
    if is_table(item):
        return as_frame(item)
    names = [column.name for column in stream.arriving]
    if isinstance(item, tuple | list):
        if len(item) == len(names):
            return [dict(zip(names, item, strict=True))]
        what = f"a row of {len(item)} values for the columns {', '.join(names)}"
    else:
        what = f"`{item!r}`, which is not a row"
    raise MalformedRow(
        stream.name,
        f"`{stream.name}` was given {what}",
        hint="rows are dicts, tuples in the order of the columns, or tables",
    )


def as_frame(table: Any) -> pl.DataFrame:
    """A table of whatever library, without pandas' index."""
    if hasattr(table, "to_dict") and hasattr(table, "iloc"):
        return pl.from_pandas(table)
    return table if isinstance(table, pl.DataFrame) else pl.DataFrame(table)


def blocks_of(stream: Stream, supply: Any, rows_per_block: int) -> Iterator[Rows]:
    """All rows, those that come one by one put together."""
    single: list[Mapping[str, Any]] = []
    for rows in rows_of(stream, supply, 0):
        if not isinstance(rows, pl.DataFrame):
            single.extend(rows)
            if len(single) < rows_per_block:
                continue
        if single:
            yield single
            single = []
        if isinstance(rows, pl.DataFrame):
            yield from rows.iter_slices(rows_per_block)
    if single:
        yield single


def _behind(items: Iterable[Any], skip: int) -> Iterator[Any]:
    for item in items:
        if not skip:
            yield item
        elif is_table(item):
            frame = as_frame(item)
            if frame.height > skip:
                yield frame.slice(skip)
            skip = max(0, skip - frame.height)
        else:
            skip -= 1
