"""Rows with times as ticks, as the oracle has them, pushed as points in time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from penstock.kernel.types import shown_type
from penstock.local.engine import LocalEngine
from penstock.model.schema import Column
from penstock.model.streams import Stream
from penstock.runtime.graph_host import GraphHost

Rows = pl.DataFrame | Sequence[Mapping[str, Any]]


def push_ticks(to: LocalEngine | GraphHost, stream: str, rows: Rows) -> None:
    """Push rows whose times are ticks."""
    declared = to.inputs[stream].stream if isinstance(to, GraphHost) else _declared(to, stream)
    to.push(stream, with_times(declared, rows))


def with_times(stream: Stream, rows: Rows) -> Rows:
    """The rows with points in time where ticks stand for them."""
    times = [column for column in stream.arriving if column.type.is_time]
    if isinstance(rows, pl.DataFrame):
        ticks = [each.name for each in times if rows.schema.get(each.name) == pl.Int64()]
        return rows.with_columns(pl.col(ticks).cast(pl.Datetime("us")))
    return [{**row, **{each.name: _time(each, row) for each in times}} for row in rows]


def _time(column: Column, row: Mapping[str, Any]) -> Any:
    value = row[column.name]
    if not isinstance(value, int):
        return value
    # A datetime of Python's ends with the year 9999.
    return pl.Series([value], dtype=pl.Int64).cast(shown_type(column.type)).item()


def _declared(engine: LocalEngine, stream: str) -> Stream:
    return engine.declared_stream(stream).stream
