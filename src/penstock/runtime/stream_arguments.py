"""What a program says of a stream that it declares itself: its columns, how late rows may come."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, TypeAlias

from penstock.errors import CannotWindow, MalformedRow
from penstock.io.iterables import as_frame, is_table
from penstock.io.static_tables import columns_of
from penstock.model.schema import Column
from penstock.model.streams import Timing
from penstock.sql.parse.parser import parse
from penstock.sql.parse.statements import CreateStream
from penstock.sql.parse.units import length_of

#: How late rows may come: a duration, ticks, or words; None: no bound at all.
Slack: TypeAlias = timedelta | int | str | None


def columns_for(name: str, columns: str | None, rows: Any) -> tuple[Column, ...]:
    """The columns of a stream: those that are declared, else those of the table that `rows` is."""
    if columns is None and is_table(rows):
        return tuple(columns_of(name, as_frame(rows)))
    return columns_in(name, columns)


def columns_in(name: str, columns: str | None) -> tuple[Column, ...]:
    """The columns of a stream: "k BIGINT, ts TIMESTAMP"."""
    if columns is None:
        raise MalformedRow(
            name,
            f"the columns of stream `{name}` are not known",
            hint='declare them: columns="k BIGINT, ts TIMESTAMP"; a table (Polars, pandas, Arrow) '
            "brings its own",
        )
    [statement] = parse(f"CREATE STREAM s ({columns})")
    assert isinstance(statement, CreateStream)
    return statement.stream.columns


def slack_in(name: str, slack: Slack) -> tuple[int | None, Timing]:
    """How late rows of a stream may come, and what else that says.

    A timedelta, a number of ticks, or words as in SQL: "5 seconds", "20 rows".
    """
    if isinstance(slack, str) and not slack.strip().isdecimal():
        length, unit = length_of(slack)
        return (None, Timing(rows_late=length)) if unit == "rows" else (length, Timing())
    if isinstance(slack, timedelta):
        return slack // timedelta(microseconds=1), Timing()
    if slack is None or (isinstance(slack, (str, int)) and not isinstance(slack, bool)):
        return None if slack is None else int(slack), Timing()
    raise CannotWindow(
        f"stream `{name}`: slack {slack!r} is not a duration",
        hint='write slack="5 seconds", timedelta(seconds=5), or None for no bound',
    )
