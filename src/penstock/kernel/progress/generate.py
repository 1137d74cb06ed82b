"""How a stream's promises are made, from its declaration.

    declaration       after some rows with newest timestamp t     from outside
    ordered           t                                           may raise it
    slack d           t - d                                       may raise it
    no promise        -                                           the only way
    internal          the time they were stamped with             may raise it
    latent            -                                           there is nothing to promise

A promise only rises; one that says nothing new is not made. Every stream also numbers its rows from
1 in the order of arrival, and promises after each block that the numbers so far are over. When a
stream ends, both promises become END.  Spec: timestamps 2, 3; window-queries 1.2.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from penstock.errors import BadPunctuation
from penstock.kernel.state import State
from penstock.kernel.types import polars_type
from penstock.model.punctuation import Punctuation
from penstock.model.schema import ROW_NUM
from penstock.model.streams import Stream, TimestampKind
from penstock.model.timestamps import BEGINNING, END, format_ticks
from penstock.model.types import Type


@dataclass
class GeneratorState(State):
    """What the stream has promised, and how many rows it has numbered."""

    bound: int = BEGINNING
    numbered: int = 0
    ended: bool = False


class Generator:
    """Stamps and numbers a stream's rows, and says after them what they promise."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.state = GeneratorState()
        self._on = None if stream.kind is TimestampKind.LATENT else stream.timestamp
        self.slack = 0 if stream.kind is TimestampKind.INTERNAL else stream.slack

    def stamp(self, rows: pl.DataFrame, now: int) -> pl.DataFrame:
        """Rows with the time of their arrival, where the stream declares that."""
        if self.stream.kind is not TimestampKind.INTERNAL or self._on is None:
            return rows
        # A bound given from outside may be ahead of the clock; the promise counts.
        time = max(now, self.state.bound)
        stamp = pl.lit(time, polars_type(self.stream.schema[self._on].type))
        return rows.with_columns(stamp.alias(self._on))

    def number(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows in the stream's schema, numbered on from the last one."""
        first = self.state.numbered + 1
        self.state.numbered += rows.height
        numbers = pl.int_range(first, first + rows.height, dtype=pl.Int64, eager=True)
        columns = [rows.get_column(column.name) for column in self.stream.columns]
        return pl.DataFrame([*columns, numbers.alias(ROW_NUM)])

    def after(self, rows: pl.DataFrame) -> list[Punctuation]:
        """What is promised once these rows have come."""
        if not rows.height:
            return []
        numbers = Punctuation(ROW_NUM, self.state.numbered + 1)
        if self._on is None or self.slack is None:
            return [numbers]
        newest = rows.get_column(self._on).max()
        assert isinstance(newest, int)
        return [*self._raise(newest - self.slack), numbers]

    def punctuate(self, bound: int) -> list[Punctuation]:
        """A promise from outside."""
        name = self.stream.name
        if self._on is None:
            raise BadPunctuation(
                name,
                f"stream `{name}` has no timestamp to make a promise about",
                hint="declare it with TIMESTAMP BY",
            )
        if bound < self.state.bound:
            raise BadPunctuation(
                name,
                f"stream `{name}` has promised {self._show(self.state.bound)} already, "
                f"and cannot go back to {self._show(bound)}",
                hint="a bound may only rise",
            )
        return self.end() if bound >= END else self._raise(bound)

    def end(self) -> list[Punctuation]:
        """The promise that nothing comes any more."""
        if self.state.ended:
            return []
        self.state.ended = True
        return [*self._raise(END), Punctuation(ROW_NUM, END)]

    def standing(self) -> list[Punctuation]:
        """Every promise that holds now, for a reader who has heard none of them."""
        state = self.state
        promises = []
        if self._on is not None and state.bound > BEGINNING:
            promises.append(Punctuation(self._on, state.bound))
        if state.ended or state.numbered:
            promises.append(Punctuation(ROW_NUM, END if state.ended else state.numbered + 1))
        return promises

    def _raise(self, bound: int) -> list[Punctuation]:
        if self._on is None or bound <= self.state.bound:
            return []
        self.state.bound = bound
        return [Punctuation(self._on, bound)]

    def _show(self, bound: int) -> str:
        is_time = self.stream.schema[str(self._on)].type is Type.TIMESTAMP
        return format_ticks(bound) if is_time or not BEGINNING < bound < END else str(bound)
