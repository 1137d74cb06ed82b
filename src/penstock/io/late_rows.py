"""Rejected rows, as the sink of LATE INTO gets them.

    the stream's columns    as the row had them; NULL in a malformed row
    why                     late, ahead, malformed
    reason                  what is wrong with a malformed row; of a late one, if a run has ended
                            before it came that has closed its windows
    row_text                the text of a malformed row: its values as a JSON object, or the line
    set_aside_at            when

All kinds have these columns, so that they can lie in one directory. Where the stream has a column
of such a name itself, ours gets a number: `why_2`.
"""

from __future__ import annotations

from itertools import chain, count
from typing import Any

import polars as pl

from penstock.io.results import presented
from penstock.kernel.rejected import Reason, row_text
from penstock.kernel.types import polars_type
from penstock.model.schema import Column, Schema
from penstock.model.streams import Stream
from penstock.model.types import Type

WHY_CLOSED = "an earlier run closed its windows when it ended"

_OURS = (
    ("why", Type.STRING),
    ("reason", Type.STRING),
    ("row_text", Type.STRING),
    ("set_aside_at", Type.TIMESTAMP),
)


def late_schema(stream: Stream) -> Schema:
    """The columns of what `as_late_rows` gives."""
    columns = list(stream.columns)
    for name, of in _OURS:
        columns.append(Column(_free(name, {c.name.lower() for c in columns}), of))
    return Schema.of(tuple(columns), frozenset())


def as_late_rows(stream: Stream, why: Reason, rows: pl.DataFrame, now: int) -> pl.DataFrame:
    """Rows of a stream that were rejected for one reason; malformed ones are given as text."""
    schema = late_schema(stream)
    values: dict[str, Any]
    ours: list[Any]
    if why is Reason.MALFORMED:
        reasons = rows.get_column("reason").to_list()
        texts = map(row_text, rows.drop("reason").to_dicts(), reasons)
        values = {c.name: [None] * rows.height for c in stream.columns}
        ours = [reasons, list(texts)]
    else:
        values = {c.name: rows.get_column(c.name) for c in stream.columns}
        reason = WHY_CLOSED if why is Reason.CLOSED else None
        ours = [[reason] * rows.height, [None] * rows.height]
        why = Reason.LATE if why is Reason.CLOSED else why
    ours = [[why.value] * rows.height, *ours, [now] * rows.height]
    names = schema.names[len(stream.columns) :]
    types = {c.name: polars_type(c.type) for c in schema}
    frame = pl.DataFrame({**values, **dict(zip(names, ours, strict=True))}, schema=types)
    return presented(frame, schema)


def _free(name: str, taken: set[str]) -> str:
    names = chain([name], (f"{name}_{number}" for number in count(2)))
    return next(each for each in names if each not in taken)
